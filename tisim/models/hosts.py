"""The overheads of hosts, whose properties may replace those of the configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tisim.config.kinds import OVERHEADS
from tisim.config.table import Overheads
from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.platform import Platform


def overheads_with(overheads: Overheads, properties: Mapping[str, str]) -> Overheads:
    """The overheads of a host that has these properties.

    Raises an `InputError` if a property ``smpi/os``, ``smpi/ois`` or ``smpi/or`` is no table.
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
    """The overheads that hosts have, and for each host which of them.

    The first are those of hosts without properties of their own. The second list is empty if all
    hosts have the first.
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
