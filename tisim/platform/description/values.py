"""Attributes that several elements have in common, read and checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tisim.platform.description.numbers import BURST
from tisim.support.quantities import parse_bandwidth, parse_size, parse_speed

if TYPE_CHECKING:
    from tisim.platform.description.node import Node

# The core counts the cores of a host in 32 bits.
_MOST_CORES: Final = 2**31


def read_number(node: Node, attribute: str) -> float:
    """A plain number."""
    try:
        number = float(node[attribute])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise node.error(f"{attribute} must be a number, not {node[attribute]!r}")
    return number


def read_bandwidth(node: Node, attribute: str, what: str) -> float:
    """A bandwidth that must be above zero, in bytes/s."""
    bandwidth = parse_bandwidth(node[attribute], what, file=node.file, line=node.line)
    if bandwidth <= 0:
        raise node.error(f"{what} must be above zero, not {node[attribute]!r}")
    return bandwidth


def read_speed(node: Node, what: str) -> float:
    """The speed of an element in flop/s: the first of a list, or that of the ``pstate``."""
    texts = node["speed"].split(",")
    speeds = [parse_speed(text, what, file=node.file, line=node.line) for text in texts]
    state = int(read_number(node, "pstate")) if "pstate" in node.attributes else 0
    if not 0 <= state < len(speeds):
        raise node.error(f"pstate {state} is none of the {len(speeds)} speeds of the host")
    scale = read_number(node, "availability") if "availability" in node.attributes else 1.0
    speed = speeds[state] * scale
    if speed <= 0:
        raise node.error(f"{what} must be above zero, not {node['speed']!r}")
    return speed


def read_cores(node: Node) -> int:
    """The number of cores of an element."""
    try:
        cores = int(node["core"])
    except ValueError:
        cores = 0
    if not 1 <= cores < _MOST_CORES:
        raise node.error(f"core must be a whole number above zero, not {node['core']!r}")
    return cores


def read_burst(node: Node) -> float:
    """The burst of the links of an element, in bytes, from its properties; 0 if there is none."""
    text = node.properties().get(BURST)
    return 0.0 if text is None else parse_size(text, BURST, file=node.file, line=node.line)
