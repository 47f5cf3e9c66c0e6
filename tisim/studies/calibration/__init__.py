"""Derive the parameters of a platform from measured times.

`calibrate` does all of it; each of its steps can be used alone: `read_measurements` returns a
frame, `Measurements.curve` the median times of an operation, `fit_piecewise` lines between
breakpoints, `fit_overheads` and `fit_transfer` the values of ``smpi/os`` and its kin and the
factors, `measure_contention` the limiter, `calibrate_cpu` the speed of hosts. Names are loaded on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.studies.calibration.benchmark_run import benchmark_source
    from tisim.studies.calibration.calibration import Calibration
    from tisim.studies.calibration.contention import Contention, measure_contention
    from tisim.studies.calibration.cpu import CpuCalibration, Rate, calibrate_cpu, read_timed
    from tisim.studies.calibration.factors import Factor, Route, factors_of, fit_transfer
    from tisim.studies.calibration.line import Line, fit_line
    from tisim.studies.calibration.measurements import Curve, Measurements, read_measurements
    from tisim.studies.calibration.overheads import (
        Overheads,
        Thresholds,
        find_thresholds,
        fit_overheads,
    )
    from tisim.studies.calibration.piecewise import Piecewise, Segment, fit_piecewise
    from tisim.studies.calibration.procedure import calibrate
    from tisim.studies.calibration.simulation import route_between, simulate, simulate_rate

__all__ = [
    "Calibration",
    "Contention",
    "CpuCalibration",
    "Curve",
    "Factor",
    "Line",
    "Measurements",
    "Overheads",
    "Piecewise",
    "Rate",
    "Route",
    "Segment",
    "Thresholds",
    "benchmark_source",
    "calibrate",
    "calibrate_cpu",
    "factors_of",
    "find_thresholds",
    "fit_line",
    "fit_overheads",
    "fit_piecewise",
    "fit_transfer",
    "measure_contention",
    "read_measurements",
    "read_timed",
    "route_between",
    "simulate",
    "simulate_rate",
]


if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".calibration": "Calibration",
            ".contention": "Contention measure_contention",
            ".cpu": "CpuCalibration Rate calibrate_cpu read_timed",
            ".measurements": "Curve Measurements read_measurements",
            ".factors": "Factor Route factors_of fit_transfer",
            ".line": "Line fit_line",
            ".overheads": "Overheads Thresholds find_thresholds fit_overheads",
            ".piecewise": "Piecewise Segment fit_piecewise",
            ".benchmark_run": "benchmark_source",
            ".procedure": "calibrate",
            ".simulation": "route_between simulate simulate_rate",
        },
    )
