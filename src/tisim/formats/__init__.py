"""Traces: finding their files and reading them."""

from tisim._core import Kind
from tisim.formats.check import ActionCount, CheckReport, Finding, check
from tisim.formats.importers.conversion import Conversion, convert
from tisim.formats.inspection import Inspection, inspect
from tisim.formats.packed import pack, unpack
from tisim.formats.trace import Trace

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
