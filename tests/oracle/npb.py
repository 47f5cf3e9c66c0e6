"""NAS parallel benchmarks: built by an MPI library or SimGrid's, and their traces in one form.

What SimGrid's tracer loses is left out of both traces: communicators and computations. Counts
become bytes, and the number of a request becomes its key.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

MAKE_DEF = """\
MPIF77 = {fortran}
FLINK = {fortran}
FFLAGS = -O1 -std=legacy -fallow-argument-mismatch
FLINKFLAGS = -O1
MPICC = {c}
CLINK = {c}
CFLAGS = -O1 -w
CLINKFLAGS = -O1
CC = gcc
BINDIR = ../bin
RAND = randi8_safe
"""
#: Bytes of each type, by its number in a trace.
WIDTHS = (
    *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4),
    *(8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4),
    *(8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8),
)
LEFT_OUT = {"compute", "init", "finalize", "location", "comm_size", "comm_split", "comm_dup"}


def sources() -> Path | None:
    """The directory NPB3.3-MPI of the benchmarks, if the user names one."""
    named = os.environ.get("TISIM_NPB")
    return Path(named) if named else None


def build(
    name: str, ranks: int, directory: Path, *, c: str, fortran: str, environment: Mapping[str, str]
) -> Path:
    """Compile class S of a benchmark in a copy of the sources."""
    found = sources()
    assert found is not None
    copy = directory / "npb"
    shutil.copytree(found, copy, ignore=shutil.ignore_patterns("*.o", "bin"))
    (copy / "bin").mkdir(exist_ok=True)
    (copy / "config" / "make.def").write_text(MAKE_DEF.format(c=c, fortran=fortran))
    command = ["make", name, f"NPROCS={ranks}", "CLASS=S"]
    subprocess.run(command, cwd=copy, check=True, capture_output=True, env=environment)
    return copy / "bin" / f"{name}.S.{ranks}"


def _width(words: list[str], place: int) -> int:
    return WIDTHS[int(words[place])] if place < len(words) else 1


def normalised(lines: Iterable[str]) -> list[tuple[str | int, ...]]:
    """The calls of a rank, in a form in which both tracers' agree."""
    calls: list[tuple[str | int, ...]] = []
    keys: dict[str, tuple[str, ...]] = {}
    for line in lines:
        words = line.split("#")[0].split()
        if not words or words[1] in LEFT_OUT:
            continue
        rank, action, *arguments = words
        action = action.lower()
        named: dict[str, str] = {}
        while arguments and "=" in arguments[-1]:
            name, _, value = arguments.pop().partition("=")
            named[name] = value
        calls.append((action, *_arguments(action, rank, arguments, named, keys)))
    return calls


def _arguments(
    action: str,
    rank: str,
    words: list[str],
    named: dict[str, str],
    keys: dict[str, tuple[str, ...]],
) -> tuple[str | int, ...]:
    kind = action.removeprefix("i")
    if kind in ("send", "recv"):
        peer, tag = words[:2]
        if "request" in named:
            keys[named["request"]] = (peer, rank, tag) if kind == "recv" else (rank, peer, tag)
        return peer, tag, int(words[2]) * _width(words, 3)
    if action == "wait":
        return keys[named["request"]] if "request" in named else tuple(words)
    if action == "waitall":
        return (len(named["requests"].split(",")) if "requests" in named else int(words[0]),)
    if kind == "bcast":
        return int(words[0]) * _width(words, 2), words[1]
    if kind == "allreduce":
        return (int(words[0]) * _width(words, 2),)
    if kind == "reduce":
        return int(words[0]) * _width(words, 3), words[2]
    if kind == "alltoall":
        return int(words[0]) * _width(words, 2), int(words[1]) * _width(words, 3)
    if kind == "alltoallv":
        ranks = (len(words) - 2) // 2
        sent, received = words[1 : 1 + ranks], words[2 + ranks : 2 + 2 * ranks]
        return (
            *(int(count) * _width(words, 2 + 2 * ranks) for count in sent),
            *(int(count) * _width(words, 3 + 2 * ranks) for count in received),
        )
    return tuple(words)
