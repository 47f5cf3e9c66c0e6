"""Dragonflies: balanced sizes, and cables that uniform traffic does not congest.

Messages from a group to group n gather at the blade n of the group's first chassis (see
`tisim.platform.zones.dragonfly`), so the cables to it are bundled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tisim.errors import InputError
from tisim.platform.new.nearest import checked_count, refusal
from tisim.platform.zones.dragonfly import DragonflyShape

# Hosts a blade and chassis a group of the Cray Cascade (Faanes et al., SC 2012), near which sizes
# are chosen, and the most of each.
_HOSTS, _CHASSIS = 4, 6
_MOST_HOSTS, _MOST_CHASSIS = 16, 12


def dragonfly_shape(
    nodes: int,
    groups: int | None = None,
    chassis: int | None = None,
    blades: int | None = None,
    hosts: int | None = None,
    cables: Sequence[int] | None = None,
) -> DragonflyShape:
    """The sizes of a dragonfly.

    Parameters
    ----------
    nodes
        Number of hosts in all.
    groups, chassis, blades, hosts
        Groups, chassis a group, blades a chassis, hosts a blade; those that are None are chosen
        such that there are about as many groups as blades a chassis, 6 chassis and 4 hosts.
    cables
        Cables bundled between two groups, between the same blades of two chassis, and between two
        blades of a chassis. If None, as many as uniform traffic of all hosts fills.

    Raises
    ------
    InputError
        If no such sizes give that many hosts, or there are more groups than blades a chassis.
    """
    checked_count(nodes, "the number of hosts")
    given = (groups, chassis, blades, hosts)
    names = ("groups", "chassis a group", "blades a chassis", "hosts a blade")
    for value, name in zip(given, names, strict=True):
        if value is not None:
            checked_count(value, f"the number of {name}")
    if groups is not None and blades is not None and groups > blades:
        raise InputError(
            f"a dragonfly of {groups} groups needs at least {groups} blades a chassis, not "
            f"{blades}: blade n of a group's first chassis has the cable to group n"
        )
    sizes = _sizes(nodes, given)
    if sizes is None:
        wanted = [f"{v} {n}" for v, n in zip(given, names, strict=True) if v is not None]
        what = f"a dragonfly of {', '.join(wanted)}" if wanted else "a balanced dragonfly"
        raise refusal(nodes, what, lambda n: _sizes(n, given) is not None)
    g, c, b, h = sizes
    if cables is None:
        # Each host sends as much to every group: 1 / groups of what its link carries.
        cables = (_at_least_one(c * b * h / g), _at_least_one(b * h / g), _at_least_one(h / g))
    if len(cables) != len(("blue", "black", "green")):
        raise InputError(
            "cables are three numbers: between groups, chassis and blades, such as 4,2,1"
        )
    blue, black, green = (checked_count(count, "the number of cables") for count in cables)
    return DragonflyShape(g, blue, c, black, b, green, h)


def _at_least_one(count: float) -> int:
    return max(math.ceil(count), 1)


@lru_cache(maxsize=1 << 16)
def _sizes(
    nodes: int, given: tuple[int | None, int | None, int | None, int | None]
) -> tuple[int, int, int, int] | None:
    """Groups, chassis, blades and hosts: the most balanced ones with that product, or None."""
    return min(_candidates(nodes, given), key=_imbalance, default=None)


def _candidates(
    nodes: int, given: tuple[int | None, int | None, int | None, int | None]
) -> Iterator[tuple[int, int, int, int]]:
    groups, chassis, blades, hosts = given
    for h in [hosts] if hosts is not None else range(1, _MOST_HOSTS + 1):
        for c in [chassis] if chassis is not None else range(1, _MOST_CHASSIS + 1):
            if nodes % (h * c):
                continue
            rest = nodes // (h * c)
            least = 1 if groups == 1 else 2
            for g in [groups] if groups is not None else range(least, math.isqrt(rest) + 1):
                if rest % g:
                    continue
                b = rest // g
                is_even = blades is not None or groups is not None or b <= 2 * g
                if g <= b and b in (blades, b if blades is None else None) and is_even:
                    yield g, c, b, h


def _imbalance(sizes: tuple[int, int, int, int]) -> float:
    groups, chassis, blades, hosts = sizes
    return (
        math.log(blades / groups)
        + abs(math.log(chassis / _CHASSIS)) / 2
        + abs(math.log(hosts / _HOSTS))
    )
