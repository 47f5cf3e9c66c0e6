"""The small MPI program that measures what calibration needs."""

from __future__ import annotations

from importlib.resources import files


def benchmark_source() -> str:
    """C source of the benchmark; a comment at its top says how to compile and run it."""
    return files("tisim.calibration").joinpath("benchmark.c").read_text(encoding="utf-8")
