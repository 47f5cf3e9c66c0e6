"""Properties of hosts: their overheads, and the computing rate that their memory allows."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tisim.config.kinds import OVERHEADS
from tisim.config.table import Overheads
from tisim.errors import InputError
from tisim.support.quantities import parse_bandwidth

if TYPE_CHECKING:
    from tisim.platform import Platform

#: Properties of a host: bandwidth of its memory, and memory traffic of a computation in bytes per
#: flop (or per instruction, if that is the unit of the trace).
MEMORY_BANDWIDTH: Final = "tisim/memory-bandwidth"
MEMORY_DEMAND: Final = "tisim/memory-demand"
#: Standard deviation of a host's speed between computations, relative to the speed.
SPEED_DEVIATION: Final = "tisim/speed-deviation"


def overheads_with(overheads: Overheads, properties: Mapping[str, str]) -> Overheads:
    """Return the overheads of a host with these properties.

    Raises an `InputError` if a property ``smpi/os``, ``smpi/ois`` or ``smpi/or`` is not a table.
    """
    changed = {}
    for name, parameter in overheads.parameters():
        if parameter.key in properties:
            try:
                changed[name] = OVERHEADS.read(properties[parameter.key])
            except InputError as error:
                raise InputError(f"property {parameter.key} of a host: {error.message}") from None
    return dataclasses.replace(overheads, **changed)


def overheads_by_host(
    overheads: Overheads, platform: Platform
) -> tuple[list[Overheads], list[int]]:
    """Return the distinct overheads of hosts, and for each host the index of its overheads.

    The first are those of hosts without overhead properties. The second list is empty if all hosts
    have the first.
    """
    keys = {parameter.key for _, parameter in overheads.parameters()}
    kinds = [overheads]
    numbers: list[int] = []
    for first, count, properties in platform.host_properties():
        if properties.keys() & keys:
            own = overheads_with(overheads, properties)
            if own not in kinds:
                kinds.append(own)
            if kinds.index(own) > 0:
                numbers = numbers or [0] * len(platform.hosts)
                numbers[first : first + count] = [kinds.index(own)] * count
    return kinds, numbers


def memory_speeds(platform: Platform) -> array[float]:
    """Return the rate that memory allows all cores of a host, flop/s; empty if no host sets it.

    Raises an `InputError` if a host has only one of the two properties, or an invalid value.
    """
    speeds: array[float] = array("d")
    for first, count, properties in platform.host_properties():
        if properties.keys() & {MEMORY_BANDWIDTH, MEMORY_DEMAND}:
            speeds = speeds or array("d", [math.inf]) * len(platform.hosts)
            speeds[first : first + count] = array("d", [_memory_speed(properties)]) * count
    return speeds


def speed_deviation(platform: Platform) -> float:
    """Return the largest relative standard deviation of a host's speed; 0 if no host sets it.

    Raises an `InputError` if it is not a number from 0 to 1.
    """
    largest = 0.0
    for _, _, properties in platform.host_properties():
        text = properties.get(SPEED_DEVIATION, "0")
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not 0 <= found <= 1:
            raise InputError(
                f"the property {SPEED_DEVIATION} of a host must be a fraction of its speed, such "
                f"as 0.08, not {text!r}"
            )
        largest = max(largest, found)
    return largest


def _memory_speed(properties: Mapping[str, str]) -> float:
    for name, other in ((MEMORY_BANDWIDTH, MEMORY_DEMAND), (MEMORY_DEMAND, MEMORY_BANDWIDTH)):
        if name not in properties:
            raise InputError(f"a host with the property {other} also needs {name}")
    bandwidth = parse_bandwidth(properties[MEMORY_BANDWIDTH], f"property {MEMORY_BANDWIDTH}")
    text = properties[MEMORY_DEMAND]
    try:
        demand = float(text)
    except ValueError:
        demand = math.nan
    if not (bandwidth > 0 and 0 < demand < math.inf):
        raise InputError(
            f"the properties {MEMORY_BANDWIDTH} and {MEMORY_DEMAND} of a host must be above zero, "
            f"such as 12GBps and 1.5 (bytes per flop), not {properties[MEMORY_BANDWIDTH]!r} and "
            f"{text!r}"
        )
    return bandwidth / demand
