"""Traces: finding their files and reading them."""

from tisim._core import Kind
from tisim.traces.check import ActionCount, CheckReport, Finding, check
from tisim.traces.importers.conversion import Conversion, convert
from tisim.traces.inspection import Inspection, inspect
from tisim.traces.packed import pack, unpack
from tisim.traces.trace import Trace

__all__ = [
    "Trace",
    "Kind",
    "pack",
    "unpack",
    "check",
    "CheckReport",
    "Finding",
    "ActionCount",
    "convert",
    "Conversion",
    "inspect",
    "Inspection",
]
