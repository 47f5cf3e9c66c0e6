"""Traces: finding their files and reading them."""

from tisim.formats.check import ActionCount, CheckReport, Finding, check
from tisim.formats.packed import pack, unpack
from tisim.formats.trace import Trace

__all__ = ["Trace", "pack", "unpack", "check", "CheckReport", "Finding", "ActionCount"]
