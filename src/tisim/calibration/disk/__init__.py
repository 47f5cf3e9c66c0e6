"""The bandwidths of a disk from measurements.

`fio` reads what fio has measured, `rates` finds the bandwidths.
"""

from tisim.calibration.disk.rates import DiskCalibration, calibrate_disk

__all__ = ["DiskCalibration", "calibrate_disk"]
