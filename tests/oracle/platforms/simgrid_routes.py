"""What SimGrid makes of a platform: its hosts, its links, and routes between hosts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.oracle.s4u import program

SOURCE = Path(__file__).with_name("print_routes.cpp")


@dataclass
class SimgridPlatform:
    """Hosts: name to (speed, cores). Links: name to (bandwidth, latency, fatpipe).

    Routes: pair of names to (names of links, latency), or to the reason why there is none.
    """

    hosts: dict[str, tuple[float, int]] = field(default_factory=dict)
    links: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    routes: dict[tuple[str, str], tuple[list[str], float] | str] = field(default_factory=dict)


def ask_simgrid(
    platform: str | os.PathLike[str], pairs: Iterable[tuple[str, str]]
) -> SimgridPlatform:
    """Load a platform in SimGrid; the routes stop where SimGrid aborts."""
    run = subprocess.run(
        [program(SOURCE), Path(platform).resolve(), "--log=root.thres:critical"],
        input="".join(f"{src}\t{dst}\n" for src, dst in pairs),
        capture_output=True,
        text=True,
        cwd=Path(platform).resolve().parent,
    )
    answer = SimgridPlatform()
    for line in run.stdout.splitlines():
        kind, *words = line.split("\t")
        if kind == "H":
            answer.hosts[words[0]] = (float(words[1]), int(words[2]))
        elif kind == "L":
            answer.links[words[0]] = (float(words[1]), float(words[2]), words[3] == "FATPIPE")
        elif kind == "R":
            answer.routes[words[0], words[1]] = (words[3:], float(words[2]))
        elif kind == "E":
            answer.routes[words[0], words[1]] = words[2]
    if not answer.hosts:
        raise RuntimeError(f"SimGrid does not load {platform}: {run.stderr[-300:]}")
    return answer
