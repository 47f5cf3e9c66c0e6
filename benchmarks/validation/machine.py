"""A platform of the testbed, as `tisim calibrate` writes it from what was measured there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.validation.testbed import Nodes
from tisim.calibration.benchmark import benchmark_code
from tisim.calibration.measurements import read_measurements
from tisim.calibration.procedure import calibrate
from tisim.mpi_compiler import compiled, find_library

# Of the benchmark: the largest message in bytes, how many sizes, and how often each.
_LARGEST, _SIZES, _REPETITIONS = 1 << 20, 60, 5
_TIME_LIMIT = 600
# Of each of the two links between hosts, in seconds: nominal, the factors correct it.
_LATENCY = 25e-6
# Units of computation a second, in the platform and in what executes traces.
SPEED = 1e9


def calibrated(bed: Nodes, rate: int, directory: Path) -> Path:
    """Measure between two nodes, and write the platform that this gives.

    Raises
    ------
    subprocess.SubprocessError
        When the benchmark does not run.
    InputError
        When it cannot be compiled, or when its measurements do not suffice.
    """
    benchmark = compiled(benchmark_code(), find_library("mpicc.openmpi", "benchmark"))
    words = [str(benchmark), str(_LARGEST), str(_SIZES), str(_REPETITIONS)]
    ran = subprocess.run(
        [*bed.command(2), *words], stdout=subprocess.PIPE, timeout=_TIME_LIMIT, check=True
    )
    measured = directory / "measured.csv"
    measured.write_bytes(ran.stdout)
    nominal = directory / "nominal.xml"
    nominal.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <cluster id="testbed" prefix="node-" suffix="" radical="1-{bed.nodes}" '
        f'speed="{SPEED:g}f" bw="{rate / 8:g}Bps" lat="{_LATENCY:g}s"/>\n'
        "</platform>\n"
    )
    platform = directory / "calibrated.xml"
    calibrate(read_measurements([measured]), platform=nominal).platform.write(platform)
    return platform
