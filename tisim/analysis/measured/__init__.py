"""Measured runs as run files: the calls of real ranks, with messages and wait states."""

from tisim.analysis.measured.calls import MeasuredCalls as MeasuredCalls
from tisim.analysis.measured.calls import read_calls as read_calls
from tisim.analysis.measured.run_file import is_run_file as is_run_file
from tisim.analysis.measured.run_file import write_measured_run as write_measured_run
