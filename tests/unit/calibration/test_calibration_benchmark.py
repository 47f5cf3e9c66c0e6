"""The benchmark, compiled with a real MPI and run on the loopback, calibrates the loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tisim.studies.calibration import benchmark_source, calibrate, read_measurements

COMPILER, LAUNCHER = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")

pytestmark = pytest.mark.skipif(
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
    # Waiting ranks give way: there may be fewer processors than ranks.
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


def test_a_calibration_from_what_it_prints(benchmark: Path, tmp_path: Path) -> None:
    done = run(benchmark, 2, 1 << 17, 20, 3)
    assert done.returncode == 0, done.stderr
    measured = tmp_path / "measured.csv"
    measured.write_text(done.stdout)
    measurements = read_measurements([measured])
    assert measurements.remarks[0].startswith("both processes were on one host")
    counts = measurements.frame.groupby("operation").size()
    calls = {counts[name] for name in ("pingpong", "send", "late_send", "isend", "recv")}
    # Each of the 20 sizes 3 times, and more often until its median is known, 30 times at most.
    assert len(calls) == 1
    assert 60 <= calls.pop() <= 600
    assert counts["stream"] == 24 * 7
    streams = measurements.frame[measurements.frame["operation"] == "stream"]
    assert (streams["seconds"] > 0).all()
    transfers = measurements.frame[measurements.frame["operation"] == "transfer"]
    assert sorted(transfers["directions"].unique()) == [1, 2]
    found = calibrate(measurements, bandwidth=1e10, latency=1e-7)
    assert found.overheads.thresholds is not None
    assert found.contention is not None
    own = found.errors().query("operation == 'pingpong'")
    # How large the errors are depends on the load of this machine; test_calibration_simulation.py
    # tests the accuracy of a fit.
    assert len(own) > 0
    assert own["error"].notna().all()


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
        (1, (), "start two ranks or more"),
        (2, (0,), "argument 1 must be from 1 to"),
        (2, (64, 20000), "argument 2 must be from 1 to 10000"),
    ],
)
def test_wrong_use(benchmark: Path, ranks: int, arguments: tuple[int, ...], message: str) -> None:
    done = run(benchmark, ranks, *arguments)
    assert done.returncode != 0
    assert message in done.stderr
