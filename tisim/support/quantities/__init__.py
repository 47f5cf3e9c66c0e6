"""Quantities with units: read from text, and written for people."""

from tisim.support.quantities.formatting import (
    count_of,
    format_bytes,
    format_quantity,
    format_seconds,
    format_time,
    prefix_of,
    unit_of_time,
)
from tisim.support.quantities.parsing import parse_bandwidth, parse_size, parse_speed, parse_time

__all__ = [
    "count_of",
    "format_bytes",
    "format_quantity",
    "format_seconds",
    "format_time",
    "parse_bandwidth",
    "parse_size",
    "parse_speed",
    "parse_time",
    "prefix_of",
    "unit_of_time",
]
