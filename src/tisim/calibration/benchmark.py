"""The small MPI program that measures what calibration needs."""

from __future__ import annotations

from importlib.resources import files

from tisim.mpi_compiler import SourceCode

_README = """\
The benchmark of tisim: times of point-to-point messages, for tisim calibrate.

    {compile}
    mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv

A comment at the top of benchmark.c says more.
"""


def benchmark_source() -> str:
    """C source of the benchmark; a comment at its top says how to compile and run it."""
    return files("tisim.calibration").joinpath("benchmark.c").read_text(encoding="utf-8")


def benchmark_code() -> SourceCode:
    """The benchmark's source, and how it is compiled."""
    return SourceCode(
        name="benchmark",
        product="benchmark",
        files={"benchmark.c": benchmark_source()},
        options=("-O2",),
        link_options=("-lm",),
        readme=_README,
    )
