"""Helpers for tests: files of the checkout, small traces and platforms."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tisim

ROOT = Path(__file__).resolve().parents[1]
BACKBONE = ROOT / "platforms" / "backbone.xml"  # 1 Gflop/s, 1 Gb/s
GRAPHENE = ROOT / "platforms" / "graphene.xml"
RING = ROOT / "traces" / "ring.4"
NPB = ROOT / "traces" / "npb.S.tar.xz"
LU = NPB / "lu.S.4"  # 4 ranks


def campaign(here: int, nightly: int) -> int:
    """Return the size of a test: `here`, or `nightly` if TISIM_NIGHTLY is set (`make nightly`)."""
    return nightly if os.environ.get("TISIM_NIGHTLY") else here


#: The actions of one rank: its lines without the rank, or a string separated by ``;``.
Program = str | Iterable[str]


def rank_text(rank: int, program: Program) -> str:
    """Return the lines of a rank."""
    lines = program.split(";") if isinstance(program, str) else program
    return "".join(f"{rank} {line.strip()}\n" for line in lines)


def write_trace(folder: Path, *programs: Program, name: str = "trace.txt") -> Path:
    """Write the programs of all ranks to one file of a folder; return its path."""
    (folder / name).write_text("".join(map(rank_text, range(len(programs)), programs)))
    return folder / name


def write_ranks(folder: Path, *programs: Program) -> Path:
    """Write ``rank-0.txt`` etc. to a folder, which is created if missing; return its path."""
    folder.mkdir(exist_ok=True)
    for rank, program in enumerate(programs):
        (folder / f"rank-{rank}.txt").write_text(rank_text(rank, program))
    return folder


def rank_lines(folder: Path) -> list[list[str]]:
    """Return the lines of each rank in a folder with ``rank-0.txt`` etc."""
    ranks = len([*folder.glob("rank-*.txt")])
    return [(folder / f"rank-{rank}.txt").read_text().splitlines() for rank in range(ranks)]


def rank_calls(folder: Path) -> list[list[str]]:
    """Return the actions of each rank between ``init`` and ``finalize``, without its number."""
    ranks = rank_lines(folder)
    for rank, lines in enumerate(ranks):
        assert (lines[0], lines[-1]) == (f"{rank} init", f"{rank} finalize")
    return [[line.split(" ", 1)[1] for line in lines[1:-1]] for lines in ranks]


def open_trace(folder: Path, *programs: Program) -> tisim.Trace:
    """Write a trace of these programs and open it."""
    return tisim.Trace.open(write_trace(folder, *programs))


def platform_file(folder: Path, elements: str, name: str = "platform.xml") -> Path:
    """Write a platform or deployment of these elements; return its path."""
    (folder / name).write_text(f'<platform version="4.1">{elements}</platform>')
    return folder / name


def load_platform(folder: Path, elements: str) -> tisim.Platform:
    """Write a platform of these elements and load it."""
    return tisim.Platform.load(platform_file(folder, elements))


def tisim_process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process."""
    command = [sys.executable, "-m", "tisim", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)
