"""NAS benchmarks: `tisim record` writes the same as SimGrid's own tracer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import tisim
from tests.support import ROOT
from tests.unit.record.programs import ENVIRONMENT, Mpi, Recorder, Trace, libraries

MAKE_DEF = """\
MPIF77 = {fortran}
MPIFC = {fortran}
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
NAMES = ("lu", "cg", "mg", "ft", "is", "bt", "sp", "ep", "dt")
#: DT's graph, a black hole, needs this number of ranks.
DT_GRAPH = "BH"
DT_RANKS = {"S": 5, "W": 11}
#: Values that SimGrid's tracer writes for MPI_ANY_SOURCE and MPI_PROC_NULL.
NO_RANK = {"-555": "-333", "-666": "-333"}
LOST = {"location", "comm_size", "comm_split", "comm_dup", "comm_free"}
LEFT_OUT = {"compute", "init", "finalize", *LOST}


def sources() -> Path | None:
    """Return the directory NPB3.3-MPI or NPB3.4-MPI of the benchmarks, if the user names one."""
    named = os.environ.get("TISIM_NPB")
    return Path(named) if named else None


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of some class: its build and its start."""

    name: str
    problem: str  # the class: S, W ...

    @property
    def ranks(self) -> int:
        """Return the number of ranks: four, except for DT's graph."""
        return DT_RANKS[self.problem] if self.name == "dt" else 4

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of the program."""
        return (DT_GRAPH,) if self.name == "dt" else ()

    @property
    def status(self) -> int:
        """Return the exit status of success: DT of version 3.3 returns 1."""
        source_tree = sources()
        return (
            1 if self.name == "dt" and source_tree is not None and "3.3" in source_tree.name else 0
        )


def benchmarks() -> list[Benchmark]:
    """Return all benchmarks in the classes that `TISIM_NPB_CLASSES` lists, by default S."""
    problems = os.environ.get("TISIM_NPB_CLASSES", "S").split(",")
    return [Benchmark(name, problem) for problem in problems for name in NAMES]


def build(
    benchmark: Benchmark, directory: Path, *, c: str, fortran: str, environment: Mapping[str, str]
) -> Path:
    """Compile a benchmark in a copy of the sources."""
    source_tree = sources()
    assert source_tree is not None
    copy = directory / "npb"
    shutil.copytree(source_tree, copy, ignore=shutil.ignore_patterns("*.o", "bin"))
    (copy / "bin").mkdir(exist_ok=True)
    (copy / "config" / "make.def").write_text(MAKE_DEF.format(c=c, fortran=fortran))
    command = ["make", benchmark.name, f"NPROCS={benchmark.ranks}", f"CLASS={benchmark.problem}"]
    run = subprocess.run(command, cwd=copy, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    (program,) = (copy / "bin").iterdir()
    return program


def _width(words: list[str], place: int) -> int:
    return WIDTHS[int(words[place])] if place < len(words) else 1


def normalised(lines: Iterable[str]) -> list[tuple[str | int, ...]]:
    """Convert the calls of a rank to a form in which both tracers agree."""
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


def without_communicators(recorded: Iterable[str]) -> list[str]:
    """Return a rank's trace with all calls on the world: creating communicators costs messages."""
    lines = [line for line in recorded if not line.startswith("#") and line.split()[1] not in LOST]
    return [re.sub(r" comm=\d+", "", line) for line in lines]


def with_volumes(simgrid: Iterable[str], recorded: Iterable[str]) -> list[str]:
    """Return a rank's calls as traced by SimGrid, with the recorded computations."""
    before: list[list[str]] = [[]]
    for line in without_communicators(recorded):
        if line.split()[1] == "compute":
            before[-1].append(line)
        else:
            before.append([])
    calls = [line for line in simgrid if line.split()[1] not in {"compute", *LOST}]
    return [line for group, call in zip(before, calls, strict=False) for line in [*group, call]]


def _arguments(
    action: str,
    rank: str,
    words: list[str],
    named: dict[str, str],
    keys: dict[str, tuple[str, ...]],
) -> tuple[str | int, ...]:
    kind = action.removeprefix("i")
    if kind in ("send", "recv"):
        peer, tag = NO_RANK.get(words[0], words[0]), words[1]
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


BACKBONE = ROOT / "platforms" / "backbone"
GRAPHENE = ROOT / "platforms" / "graphene"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(sources() is None, reason="TISIM_NPB names no sources"),
    pytest.mark.skipif(not libraries(), reason="no mpicc and mpirun are installed"),
]


def traced_by_simgrid(benchmark: Benchmark, directory: Path) -> list[list[str]]:
    directory.mkdir()
    program = build(benchmark, directory, c="smpicc", fortran="smpiff", environment=os.environ)
    command = [
        *("smpirun", "-np", str(benchmark.ranks), "-platform", f"{BACKBONE}.xml"),
        *("-hostfile", f"{BACKBONE}.hosts", "-trace-ti", "--cfg=tracing/filename:t.trace"),
        *("--cfg=smpi/host-speed:1e9", "--log=root.thres:error"),
        *(str(program), *benchmark.arguments),
    ]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600)
    assert run.returncode == benchmark.status, run.stderr
    texts = [file.read_text() for file in (directory / "t.trace_files").iterdir()]
    ranks = [[line for line in text.splitlines() if line[:1].isdigit()] for text in texts]
    return sorted(ranks, key=lambda lines: int(lines[0].split()[0]))


def recorded_twice(benchmark: Benchmark, directory: Path, mpi: Mpi) -> Trace:
    """Record a benchmark with counted instructions twice: the traces, with volumes, are equal."""
    counting = {
        **os.environ,
        **ENVIRONMENT,
        "TISIM_CC": mpi.cc,
        "TISIM_FC": mpi.compiler(Path("a.f")),
    }
    directory.mkdir()
    tisim = f"{sys.executable} -m tisim"
    program = build(
        benchmark, directory, c=f"{tisim} cc", fortran=f"{tisim} fc", environment=counting
    )
    traces = [
        Recorder(mpi, directory).record(
            *(program, *benchmark.arguments),
            ranks=benchmark.ranks,
            status=benchmark.status,
        )
        for _ in range(2)
    ]
    assert traces[0].lines == traces[1].lines
    return traces[1]


def finish_times(ranks: list[list[str]], directory: Path, platform: Path) -> list[float]:
    """Return the time at which each rank ends in a replay of these lines."""
    directory.mkdir(exist_ok=True)
    for rank, lines in enumerate(ranks):
        (directory / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n")
    return [float(time) for time in tisim.replay(directory, platform=f"{platform}.xml").finish]


@pytest.mark.parametrize("benchmark_", benchmarks(), ids=lambda b: f"{b.name}.{b.problem}")
def test_calls_are_those_of_simgrid(benchmark_: Benchmark, tmp_path: Path) -> None:
    simgrid = traced_by_simgrid(benchmark_, tmp_path / "simgrid")
    for mpi in libraries():
        trace = recorded_twice(benchmark_, tmp_path / mpi.name, mpi)
        calls = [normalised(lines) for lines in trace.lines]
        assert calls == [normalised(lines) for lines in simgrid]
        pairs = list(zip(trace.lines, simgrid, strict=True))
        mine = [without_communicators(recorded) for recorded, _ in pairs]
        theirs = [with_volumes(traced, recorded) for recorded, traced in pairs]
        seconds = []
        for platform in (BACKBONE, GRAPHENE):
            times = finish_times(mine, tmp_path / "mine", platform)
            assert times == finish_times(theirs, tmp_path / "theirs", platform)
            seconds.append(max(times))
        volumes = sum(line.split()[1] == "compute" for lines in trace.lines for line in lines)
        row = [benchmark_.name, benchmark_.problem, mpi.name, benchmark_.ranks]
        row += [sum(map(len, calls)), volumes, trace.file.stat().st_size, *seconds]
        print("|", " | ".join(map(str, row)), "|")
