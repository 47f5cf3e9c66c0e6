"""Sizes of topologies for a number of hosts: tori, fat trees and dragonflies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from tisim.errors import InputError
from tisim.platform.links import MAX_LINKS
from tisim.platform.zones.dragonfly import DragonflyShape
from tisim.platform.zones.fattree import FatTreeShape

# Maximum distance at which a fitting number of hosts is searched for.
_FARTHEST = 1 << 17


def nearest_size_error(
    nodes: int, what: str, fits: Callable[[int], bool], remedy: str = ""
) -> InputError:
    """Return an error that a number of hosts does not fit, with the nearest ones that do.

    `nodes`: the number that does not fit. `what`: what cannot have that many hosts: ``"a fat tree
    of switches with 36 ports"``. `fits`: whether another number fits. `remedy`: an alternative for
    the user; may be empty.
    """
    below = next((n for n in range(nodes - 1, max(nodes - _FARTHEST, 0), -1) if fits(n)), None)
    above = next((n for n in range(nodes + 1, nodes + _FARTHEST) if fits(n)), None)
    near = " and ".join(f"{n}" for n in (below, above) if n is not None)
    hint = f"; the nearest possible: {near}" if near else ""
    return InputError(f"{what} cannot have {nodes} hosts{hint}{remedy}")


def checked_count(value: int, what: str, least: int = 1) -> int:
    """Return a whole number that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{what} must be a whole number of at least {least}, not {value!r}")
    if value > MAX_LINKS:
        raise InputError(f"{what} must be at most {MAX_LINKS:,}, not {value}")
    return value


# A chosen torus has no dimension this many times as long as another.
_MAX_SIZE_RATIO = 4
_DIMENSIONS = 3


def torus_sizes(nodes: int, sizes: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the sizes of the dimensions of a torus.

    `nodes`: number of hosts. `sizes`: the sizes, if given; three nearly equal ones if None.
    """
    checked_count(nodes, "the number of hosts")
    if sizes is not None:
        for size in sizes:
            checked_count(size, "the size of a dimension")
        if not sizes or math.prod(sizes) != nodes:
            written = " x ".join(map(str, sizes))
            raise InputError(
                f"a torus of {written} has {math.prod(sizes)} hosts, not {nodes}; the nearest "
                f"possible: {math.prod(sizes)}"
            )
        return tuple(sizes)
    found = _nearly_equal(nodes)
    if found is None:
        remedy = "; or give the sizes (--dims 4,5)"
        what = "a torus of three nearly equal dimensions"
        raise nearest_size_error(nodes, what, lambda n: _nearly_equal(n) is not None, remedy)
    return found


@lru_cache(maxsize=1 << 16)
def _nearly_equal(nodes: int) -> tuple[int, ...] | None:
    """Return the three most equal sizes in descending order; None if none are nearly equal."""
    return min(_factorings(nodes), key=lambda sizes: sizes[0] / sizes[-1], default=None)


def _factorings(nodes: int) -> Iterator[tuple[int, ...]]:
    for low in range(2, round(nodes ** (1 / _DIMENSIONS)) + 1):
        if nodes % low:
            continue
        rest = nodes // low
        for middle in range(low, math.isqrt(rest) + 1):
            high = rest // middle
            if rest % middle == 0 and high < _MAX_SIZE_RATIO * low:
                yield high, middle, low


#: Port counts of common InfiniBand and Ethernet switches.
RADICES = (32, 36, 40, 48, 64, 128)
_MAX_LEVELS = 4


def fat_tree_shape(
    nodes: int, radix: int | None = None, oversubscription: float = 1.0
) -> FatTreeShape:
    """Return the fat tree with the fewest levels for that many hosts.

    `nodes`: number of hosts. `radix`: ports per switch; if None, the smallest of `RADICES` that
    gives the fewest levels. `oversubscription`: number of hosts per up cable of a switch.
    """
    checked_count(nodes, "the number of hosts")
    if radix is not None:
        checked_count(radix, "the radix of the switches (their number of ports)", 2)
        _ports_of_hosts(radix, oversubscription)
    elif not any(_divides(candidate, oversubscription) for candidate in RADICES):
        raise _indivisible(RADICES[-1], oversubscription)
    found = _shape(nodes, radix, oversubscription)
    if found is not None:
        return found
    ports = "usual switches (32 to 128 ports)" if radix is None else f"switches with {radix} ports"
    what = f"a fat tree of {ports}"
    remedy = "; or choose another number of ports (--radix)"
    raise nearest_size_error(
        nodes, what, lambda n: _shape(n, radix, oversubscription) is not None, remedy
    )


def _shape(nodes: int, radix: int | None, oversubscription: float) -> FatTreeShape | None:
    candidates = [r for r in RADICES if _divides(r, oversubscription)] if radix is None else [radix]
    for levels in range(1, _MAX_LEVELS + 1):
        for ports in candidates:
            shape = _of_levels(nodes, levels, ports, oversubscription)
            if shape is not None:
                return shape
    return None


def _of_levels(nodes: int, levels: int, radix: int, oversubscription: float) -> FatTreeShape | None:
    """Return the shape with that many switch levels; None if the hosts do not fill it evenly."""
    if levels == 1:
        return FatTreeShape((nodes,), (1,), (1,)) if nodes <= radix else None
    down = _ports_of_hosts(radix, oversubscription)
    middle = radix // 2
    below = down * middle ** (levels - 2)
    top, rest = divmod(nodes, below)
    if rest or not 2 <= top <= radix:
        return None
    children = (down, *[middle] * (levels - 2), top)
    parents = (1, radix - down, *[middle] * (levels - 2))
    return FatTreeShape(children, parents, (1,) * levels)


def _divides(radix: int, oversubscription: float) -> bool:
    """Return True if the ports of a switch can be divided in this ratio."""
    try:
        _ports_of_hosts(radix, oversubscription)
    except InputError:
        return False
    return True


def _ports_of_hosts(radix: int, oversubscription: float) -> int:
    """Return the number of host ports of a lowest-level switch; the others go up."""
    if not 1 <= oversubscription < radix:
        raise InputError(
            "oversubscription, the number of hosts per uplink, must be at least 1, not "
            f"{oversubscription:g}"
        )
    ratio = Fraction(oversubscription).limit_denominator(radix)
    down = Fraction(radix) * ratio / (1 + ratio)
    if down.denominator != 1 or radix % 2:
        raise _indivisible(radix, oversubscription)
    return int(down)


def _indivisible(radix: int, oversubscription: float) -> InputError:
    return InputError(
        f"the {radix} ports of a switch cannot be divided {oversubscription:g} to 1; the radix "
        "must be even, and a multiple of the oversubscription plus one"
    )


# Hosts per blade and chassis per group of the Cray Cascade (Faanes et al., SC 2012), the target
# of chosen sizes, and their maxima.
_HOSTS, _CHASSIS = 4, 6
_MAX_HOSTS, _MAX_CHASSIS = 16, 12


def dragonfly_shape(
    nodes: int,
    groups: int | None = None,
    chassis: int | None = None,
    blades: int | None = None,
    hosts: int | None = None,
    cables: Sequence[int] | None = None,
) -> DragonflyShape:
    """Return the sizes of a dragonfly.

    `nodes`: total number of hosts. `groups`, `chassis`, `blades`, `hosts`: groups, chassis per
    group, blades per chassis, hosts per blade; if None, chosen such that there are about as many
    groups as blades per chassis, 6 chassis and 4 hosts. `cables`: cables bundled between two
    groups, between equal blades of two chassis, and between two blades of a chassis; if None, as
    many as uniform traffic of all hosts saturates.
    """
    checked_count(nodes, "the number of hosts")
    given = (groups, chassis, blades, hosts)
    names = ("groups", "chassis a group", "blades a chassis", "hosts a blade")
    for value, name in zip(given, names, strict=True):
        if value is not None:
            checked_count(value, f"the number of {name}")
    if groups is not None and blades is not None and groups > blades:
        raise InputError(
            f"a dragonfly of {groups} groups needs at least {groups} blades per chassis, not "
            f"{blades}: blade n of a group's first chassis has the cable to group n"
        )
    sizes = _sizes(nodes, given)
    if sizes is None:
        wanted = [f"{v} {n}" for v, n in zip(given, names, strict=True) if v is not None]
        what = f"a dragonfly of {', '.join(wanted)}" if wanted else "a balanced dragonfly"
        raise nearest_size_error(nodes, what, lambda n: _sizes(n, given) is not None)
    g, c, b, h = sizes
    if cables is None:
        # Each host sends equally to every group: 1 / groups of its link's capacity.
        cables = (_at_least_one(c * b * h / g), _at_least_one(b * h / g), _at_least_one(h / g))
    if len(cables) != len(("blue", "black", "green")):
        raise InputError(
            "cables must be three numbers: between groups, chassis and blades, such as 4,2,1"
        )
    blue, black, green = (checked_count(count, "the number of cables") for count in cables)
    return DragonflyShape(g, blue, c, black, b, green, h)


def _at_least_one(count: float) -> int:
    return max(math.ceil(count), 1)


@lru_cache(maxsize=1 << 16)
def _sizes(
    nodes: int, given: tuple[int | None, int | None, int | None, int | None]
) -> tuple[int, int, int, int] | None:
    """Return the most balanced groups, chassis, blades and hosts with that product, or None."""
    return min(_candidates(nodes, given), key=_imbalance, default=None)


def _candidates(
    nodes: int, given: tuple[int | None, int | None, int | None, int | None]
) -> Iterator[tuple[int, int, int, int]]:
    groups, chassis, blades, hosts = given
    for h in [hosts] if hosts is not None else range(1, _MAX_HOSTS + 1):
        for c in [chassis] if chassis is not None else range(1, _MAX_CHASSIS + 1):
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
