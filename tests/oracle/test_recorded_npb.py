"""NAS benchmarks: what `tisim record` writes is what SimGrid's own tracer writes.

`TISIM_NPB=.../NPB3.3-MPI` names the sources of the MPI version 3.3 or 3.4, and
`TISIM_NPB_CLASSES=S,W` the classes. With the option `-rP` of pytest, each benchmark prints a row:
the MPI library, ranks, calls, volumes, bytes of the trace, and simulated times on two platforms.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tisim
from tests.oracle import npb
from tests.support import ROOT
from tests.unit.record.programs import ENVIRONMENT, Mpi, Trace, libraries, record_program

BACKBONE = ROOT / "platforms" / "backbone"
GRAPHENE = ROOT / "platforms" / "graphene"

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(npb.sources() is None, reason="TISIM_NPB names no sources"),
    pytest.mark.skipif(not libraries(), reason="no mpicc and mpirun are installed"),
]


def traced_by_simgrid(benchmark: npb.Benchmark, directory: Path) -> list[list[str]]:
    directory.mkdir()
    program = npb.build(benchmark, directory, c="smpicc", fortran="smpiff", environment=os.environ)
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


def recorded_twice(benchmark: npb.Benchmark, directory: Path, mpi: Mpi) -> Trace:
    """Record a benchmark that counts itself twice: everything is the same, the volumes too."""
    counting = {
        **os.environ,
        **ENVIRONMENT,
        "TISIM_CC": mpi.cc,
        "TISIM_FC": mpi.compiler(Path("a.f")),
    }
    directory.mkdir()
    tisim = f"{sys.executable} -m tisim"
    program = npb.build(
        benchmark, directory, c=f"{tisim} cc", fortran=f"{tisim} fc", environment=counting
    )
    traces = [
        record_program(
            *(program, directory, mpi, *benchmark.arguments),
            ranks=benchmark.ranks,
            status=benchmark.status,
        )
        for _ in range(2)
    ]
    assert traces[0].lines == traces[1].lines
    return traces[1]


def finish_times(ranks: list[list[str]], directory: Path, platform: Path) -> list[float]:
    """When each rank ends in a replay of these lines."""
    directory.mkdir(exist_ok=True)
    for rank, lines in enumerate(ranks):
        (directory / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n")
    return [float(time) for time in tisim.replay(directory, platform=f"{platform}.xml").finish]


@pytest.mark.parametrize("benchmark_", npb.benchmarks(), ids=lambda b: f"{b.name}.{b.problem}")
def test_calls_are_those_of_simgrid(benchmark_: npb.Benchmark, tmp_path: Path) -> None:
    simgrid = traced_by_simgrid(benchmark_, tmp_path / "simgrid")
    for mpi in libraries():
        trace = recorded_twice(benchmark_, tmp_path / mpi.name, mpi)
        calls = [npb.normalised(lines) for lines in trace.lines]
        assert calls == [npb.normalised(lines) for lines in simgrid]
        pairs = list(zip(trace.lines, simgrid, strict=True))
        mine = [npb.without_communicators(recorded) for recorded, _ in pairs]
        theirs = [npb.with_volumes(traced, recorded) for recorded, traced in pairs]
        seconds = []
        for platform in (BACKBONE, GRAPHENE):
            times = finish_times(mine, tmp_path / "mine", platform)
            assert times == finish_times(theirs, tmp_path / "theirs", platform)
            seconds.append(max(times))
        volumes = sum(line.split()[1] == "compute" for lines in trace.lines for line in lines)
        row = [benchmark_.name, benchmark_.problem, mpi.name, benchmark_.ranks]
        row += [sum(map(len, calls)), volumes, trace.file.stat().st_size, *seconds]
        print("|", " | ".join(map(str, row)), "|")
