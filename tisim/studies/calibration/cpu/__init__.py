"""The speed of hosts from timed computations.

`timed` reads them, `rates` finds instructions a second, `speeds` writes them into a platform file.
"""

from tisim.studies.calibration.cpu.rates import CpuCalibration, Rate, calibrate_cpu

__all__ = ["CpuCalibration", "Rate", "calibrate_cpu"]
