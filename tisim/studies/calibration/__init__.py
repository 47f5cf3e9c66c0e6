"""From measured times to the parameters of a platform.

`calibrate` does all of it; each of its steps can be used alone: `read_measurements` gives a frame,
`Measurements.curve` the median times of an operation, `fit_piecewise` lines between breakpoints,
`fit_overheads` and `fit_transfer` what goes into ``smpi/os`` and its kin and into the factors,
`measure_contention` the limiter, `calibrate_cpu` the speed of hosts. Names are loaded when they
are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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

_HOME_OF = {
    "Calibration": "calibration",
    "Contention": "contention",
    "CpuCalibration": "cpu",
    "Curve": "measurements",
    "Factor": "factors",
    "Line": "line",
    "Measurements": "measurements",
    "Overheads": "overheads",
    "Piecewise": "piecewise",
    "Rate": "cpu",
    "Route": "factors",
    "Segment": "piecewise",
    "Thresholds": "overheads",
    "benchmark_source": "benchmark_run",
    "calibrate": "procedure",
    "calibrate_cpu": "cpu",
    "factors_of": "factors",
    "find_thresholds": "overheads",
    "fit_line": "line",
    "fit_overheads": "overheads",
    "fit_piecewise": "piecewise",
    "fit_transfer": "factors",
    "measure_contention": "contention",
    "read_measurements": "measurements",
    "read_timed": "cpu",
    "route_between": "simulation",
    "simulate": "simulation",
    "simulate_rate": "simulation",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
