"""The benchmark: its source, and runs with a real MPI, which calibrate the loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.record.programs import Mpi
from tisim.errors import ExecutionError, InputError
from tisim.studies.calibration import benchmark_source, calibrate, read_measurements
from tisim.studies.calibration.benchmark_run import BenchmarkSize, run_benchmark


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
    nothing = tisim("benchmark", "-o", "measured.csv")
    assert (nothing.status, nothing.out) == (2, "")
    assert nothing.err.endswith("need --run\n")


def test_run(one_mpi: Mpi, tmp_path: Path) -> None:
    seen: list[int] = []
    size = BenchmarkSize(largest=10_000, sizes=5, repetitions=1, seconds=1)
    assert size.time_limit == 62
    output = tmp_path / "measured.csv"
    completed = run_benchmark(
        [one_mpi.run],
        output,
        size,
        compiler=one_mpi.cc,
        progress=lambda _, count: seen.append(count),
    )
    measured = read_measurements([output])
    assert completed.ended
    assert seen[-1] == completed.times == len(output.read_text().splitlines()) - 3
    assert measured.library is not None
    assert measured.has("pingpong") and measured.has("isend")
    assert measured.has("test") and measured.has("iprobe")
    assert measured.has("copy") and measured.has("combine")
    with pytest.raises(ExecutionError, match="ended with status"):
        run_benchmark(["false"], tmp_path / "none.csv", size, compiler=one_mpi.cc)
    assert not (tmp_path / "none.csv").exists()
    with pytest.raises(InputError, match="nothing was measured"):
        run_benchmark(["true"], tmp_path / "none.csv", size, compiler=one_mpi.cc)


@pytest.mark.parametrize(
    ("where", "seconds", "rest", "message", "kept"),
    [
        (
            *("tisim.studies.calibration.benchmark_run.BenchmarkSize.time_limit", 1.0),
            "echo pingpong,9,2e-6\nprintf pingpong,1",
            "2 times measured\nwarning: stopped after 1 s",
            ["pingpong,1,1e-6", "pingpong,9,2e-6"],
        ),
        # Like MPICH's ranks in MPI_Finalize, over UCX and TCP.
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
    one_mpi: Mpi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(where, seconds)
    launcher = tmp_path / "launch"
    launcher.write_text(
        f"#!/bin/sh\necho operation,bytes,seconds\necho pingpong,1,1e-6\n{rest}\nexec sleep 60\n"
    )
    launcher.chmod(0o755)
    output = tmp_path / "m.csv"
    words = ("--mpicc", one_mpi.cc, "-o", str(output), "--", str(launcher))
    outcome = CommandLine(tmp_path, capsys)("benchmark", "--run", *words)
    assert outcome.status == 0, outcome.err
    assert message in outcome.err
    assert output.read_text().splitlines()[1:] == kept


COMPILER, LAUNCHER = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")

needs_open_mpi = pytest.mark.skipif(
    COMPILER is None or LAUNCHER is None,
    reason="Open MPI is not installed (apt-get install openmpi-bin libopenmpi-dev)",
)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark")
    (folder / "benchmark.c").write_text(benchmark_source())
    command = [
        COMPILER,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        "-o",
        "benchmark",
        "benchmark.c",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "benchmark"


def run(program: Path, ranks: int, *arguments: int) -> subprocess.CompletedProcess[str]:
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = [LAUNCHER, *root, "--oversubscribe", "-n", str(ranks), program]
    # Waiting ranks yield: there may be fewer processors than ranks.
    environment = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}
    return subprocess.run(
        [*command, *map(str, arguments)],
        cwd=program.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_open_mpi
def test_a_calibration_from_what_it_prints(benchmark: Path, tmp_path: Path) -> None:
    done = run(benchmark, 2, 1 << 17, 20, 3)
    assert done.returncode == 0, done.stderr
    measured = tmp_path / "measured.csv"
    measured.write_text(done.stdout)
    measurements = read_measurements([measured])
    assert measurements.remarks[0].startswith("both processes were on one host")
    counts = measurements.frame.groupby("operation").size()
    calls = {counts[name] for name in ("pingpong", "send", "late_send", "isend", "recv")}
    # Each of the 20 sizes is measured 3 times, or up to 30 times until its median is known.
    assert len(calls) == 1
    assert 60 <= calls.pop() <= 600
    assert counts["stream"] == 24 * 7
    streams = measurements.frame[measurements.frame["operation"] == "stream"]
    assert (streams["seconds"] > 0).all()
    transfers = measurements.frame[measurements.frame["operation"] == "transfer"]
    assert sorted(transfers["directions"].unique()) == [1, 2]
    calibration = calibrate(measurements, bandwidth=1e10, latency=1e-7)
    assert calibration.overheads.thresholds is not None
    assert calibration.contention is not None
    own = calibration.errors().query("operation == 'pingpong'")
    # The errors depend on the load of this machine; test_calibration_simulation.py tests the
    # accuracy of a fit.
    assert len(own) > 0
    assert own["error"].notna().all()


@needs_open_mpi
def test_concurrent_pairs(benchmark: Path, tmp_path: Path) -> None:
    done = run(benchmark, 4, 4096, 5, 1)
    assert done.returncode == 0, done.stderr
    measured = tmp_path / "measured.csv"
    measured.write_text(done.stdout)
    frame = read_measurements([measured]).frame
    transfers = frame[frame["operation"] == "transfer"]
    by_pattern = transfers.groupby("pattern")["pairs"].unique()
    assert {name: sorted(pairs) for name, pairs in by_pattern.items()} == {
        "fan-out": [3],
        "incast": [3],
        "pairs": [1, 2],
        "shift": [4],
    }


@pytest.mark.parametrize(
    ("ranks", "arguments", "message"),
    [
        (1, (), "start at least two ranks"),
        (2, (0,), "argument 1 must be from 1 to"),
        (2, (64, 20000), "argument 2 must be from 1 to 10000"),
    ],
)
@needs_open_mpi
def test_wrong_use(benchmark: Path, ranks: int, arguments: tuple[int, ...], message: str) -> None:
    done = run(benchmark, ranks, *arguments)
    assert done.returncode != 0
    assert message in done.stderr
