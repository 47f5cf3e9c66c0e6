"""A platform of the testbed, written by `tisim calibrate` from measurements on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.validation.testbed import Layout, Nodes
from tisim.studies.calibration.benchmark_run import BenchmarkSize, benchmark_code
from tisim.studies.calibration.measurements import read_measurements
from tisim.studies.calibration.procedure import calibrate
from tisim.studies.uncertainty.bootstrap import draw_sets
from tisim.support.mpi import compiled, find_library

# Extent of the benchmark, and of a quick one.
_RANKS = 4
_USUAL = BenchmarkSize(largest=1 << 20, sizes=60, repetitions=5, seconds=120)
_QUICK = BenchmarkSize(largest=1 << 19, sizes=45, repetitions=5, seconds=30)
_TIME_LIMIT = 600
# Units of computation per second, in the platform and in the execution of traces.
SPEED = 1e9


def calibrated(bed: Nodes, directory: Path, *, quickly: bool = False) -> Path:
    """Measure between some nodes, and write the resulting platform.

    Raises
    ------
    subprocess.SubprocessError
        If the benchmark fails.
    InputError
        If it cannot be compiled, or its measurements are insufficient.
    """
    benchmark = compiled(benchmark_code(), find_library(bed.compiler, "benchmark"))
    words = (_QUICK if quickly else _USUAL).words()
    # All nodes if they differ.
    ranks = _RANKS if bed.layout == Layout() else bed.nodes
    ran = subprocess.run(
        [*bed.command(ranks, spread=True), str(benchmark), *words],
        stdout=subprocess.PIPE,
        timeout=_TIME_LIMIT,
        start_new_session=True,
        check=True,
    )
    measured = directory / "measured.csv"
    measured.write_bytes(ran.stdout)
    platform = directory / "calibrated.xml"
    found = calibrate(read_measurements([measured]), nodes=bed.nodes, speed=SPEED)
    found.platform.write(platform)
    if not quickly:
        draw_sets(found).write(platform)
    return platform
