"""Measured runs as run files: what real ranks did, with messages and wait states."""

from tisim.analysis.measured.calls import MeasuredCalls, read_calls
from tisim.analysis.measured.run_file import is_run_file, write_measured_run

__all__ = ["MeasuredCalls", "is_run_file", "read_calls", "write_measured_run"]
