"""The bandwidths of a disk from measurements.

`fio` and `ior` read what these programs have measured, `rates` finds the bandwidths.
"""

from tisim.studies.calibration.disk.rates import DiskCalibration, calibrate_disk

__all__ = ["DiskCalibration", "calibrate_disk"]
