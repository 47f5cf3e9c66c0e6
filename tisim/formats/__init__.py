"""Traces: finding their files and reading them."""

from tisim.formats.packed import pack, unpack
from tisim.formats.trace import Trace

__all__ = ["Trace", "pack", "unpack"]
