"""What SimGrid makes of a platform: its hosts, its links, and routes between hosts."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("print_routes.cpp")
CACHE = Path(__file__).resolve().parents[3] / "build" / "oracle"
HEADER = Path("/usr/include/simgrid/s4u.hpp")


@dataclass
class SimgridPlatform:
    """Hosts: name to (speed, cores). Links: name to (bandwidth, latency, fatpipe).

    Routes: pair of names to (names of links, latency), or to the reason why there is none.
    """

    hosts: dict[str, tuple[float, int]] = field(default_factory=dict)
    links: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    routes: dict[tuple[str, str], tuple[list[str], float] | str] = field(default_factory=dict)


def missing() -> str | None:
    """Why this oracle cannot run here, or None when it can."""
    if shutil.which("g++") is None or not HEADER.exists():
        return "g++ or SimGrid is not installed (Debian: apt-get install g++ libsimgrid-dev)"
    return None


@functools.cache
def program() -> Path:
    """The executable that asks SimGrid, compiled once for each version of its source."""
    key = hashlib.sha256(SOURCE.read_bytes() + HEADER.read_bytes()).hexdigest()[:16]
    path = CACHE / f"print_routes-{key}"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        command = ["g++", "-std=c++17", "-O1", str(SOURCE), "-o", str(fresh), "-lsimgrid"]
        subprocess.run(command, check=True)
        fresh.replace(path)
    return path


def ask_simgrid(
    platform: str | os.PathLike[str], pairs: Iterable[tuple[str, str]]
) -> SimgridPlatform:
    """Load a platform in SimGrid; the routes stop where SimGrid aborts."""
    run = subprocess.run(
        [program(), Path(platform).resolve(), "--log=root.thres:critical"],
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
