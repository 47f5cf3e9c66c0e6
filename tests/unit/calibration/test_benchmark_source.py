"""The benchmark's source can be written, and compiled and run where there is an MPI library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.record.programs import ENVIRONMENT, libraries
from tisim.errors import ExecutionError, InputError
from tisim.studies.calibration.benchmark_run import BenchmarkSize, run_benchmark
from tisim.studies.calibration.measurements import read_measurements


def test_print_and_print_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    printed = tisim("benchmark", "--print")
    assert printed.status == 0
    assert tisim("benchmark", "--print-source", "source").status == 0
    assert (tmp_path / "source" / "benchmark.c").read_text() == printed.out
    assert "mpicc -O2 *.c -o benchmark -lm" in (tmp_path / "source" / "README").read_text()


def test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    mpi = libraries()[0]
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    seen: list[int] = []
    size = BenchmarkSize(largest=10_000, sizes=5, repetitions=1, seconds=1)
    assert size.time_limit == 62
    output = tmp_path / "measured.csv"
    found = run_benchmark(
        [mpi.run], output, size, compiler=mpi.cc, progress=lambda _, count: seen.append(count)
    )
    measured = read_measurements([output])
    assert found.ended
    assert seen[-1] == found.times == len(output.read_text().splitlines()) - 3
    assert measured.library is not None
    assert measured.has("pingpong") and measured.has("isend")
    assert measured.has("test") and measured.has("iprobe")
    with pytest.raises(ExecutionError, match="ended with status"):
        run_benchmark(["false"], tmp_path / "none.csv", size, compiler=mpi.cc)
    assert not (tmp_path / "none.csv").exists()
    with pytest.raises(InputError, match="nothing was measured"):
        run_benchmark(["true"], tmp_path / "none.csv", size, compiler=mpi.cc)


@pytest.mark.parametrize(
    ("where", "seconds", "rest", "message", "kept"),
    [
        (
            *("tisim.studies.calibration.benchmark_run.BenchmarkSize.time_limit", 1.0),
            "echo pingpong,9,2e-6\nprintf pingpong,1",
            "2 times measured\nwarning: stopped after 1 s",
            ["pingpong,1,1e-6", "pingpong,9,2e-6"],
        ),
        # As MPICH's ranks in MPI_Finalize, over UCX and TCP.
        (
            *("tisim.studies.calibration.benchmark_run.SECONDS_TO_FINALIZE", 0.3),
            "echo '# end'",
            "1 times measured\nwarning: the ranks did not end",
            ["pingpong,1,1e-6", "# end"],
        ),
    ],
    ids=["time limit", "no end"],
)
def test_ranks_that_go_on_are_stopped_and_whole_rows_kept(
    where: str,
    seconds: float,
    rest: str,
    message: str,
    kept: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    monkeypatch.setattr(where, seconds)
    launcher = tmp_path / "launch"
    launcher.write_text(
        f"#!/bin/sh\necho operation,bytes,seconds\necho pingpong,1,1e-6\n{rest}\nexec sleep 60\n"
    )
    launcher.chmod(0o755)
    output = tmp_path / "m.csv"
    words = ("--mpicc", libraries()[0].cc, "-o", str(output), "--", str(launcher))
    outcome = CommandLine(tmp_path, capsys)("benchmark", "--run", *words)
    assert outcome.status == 0, outcome.err
    assert message in outcome.err
    assert output.read_text().splitlines()[1:] == kept
