"""Fat trees of equal switches: how many levels, and how many of the ports go up and down.

A switch below the top has as many cables up as down (Leiserson, IEEE Trans. Comput. C-34, 1985),
except that those of the hosts may be oversubscribed: fewer cables up than hosts.
"""

from __future__ import annotations

from fractions import Fraction

from tisim.errors import InputError
from tisim.platform.new.nearest import checked_count, refusal
from tisim.platform.zones.fattree import FatTreeShape

#: Numbers of ports of switches that are sold, the usual ones of InfiniBand and Ethernet.
RADICES = (32, 36, 40, 48, 64, 128)
_MOST_LEVELS = 4


def fat_tree_shape(
    nodes: int, radix: int | None = None, oversubscription: float = 1.0
) -> FatTreeShape:
    """The fat tree of the fewest levels with that many hosts.

    Parameters
    ----------
    nodes
        Number of hosts.
    radix
        Ports of a switch; the smallest of `RADICES` that gives the fewest levels if None.
    oversubscription
        Hosts of a switch for each of its cables up.

    Raises
    ------
    InputError
        If none has that many hosts, or the ports cannot be divided so.
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
    raise refusal(nodes, what, lambda n: _shape(n, radix, oversubscription) is not None, remedy)


def _shape(nodes: int, radix: int | None, oversubscription: float) -> FatTreeShape | None:
    candidates = [r for r in RADICES if _divides(r, oversubscription)] if radix is None else [radix]
    for levels in range(1, _MOST_LEVELS + 1):
        for ports in candidates:
            shape = _of_levels(nodes, levels, ports, oversubscription)
            if shape is not None:
                return shape
    return None


def _of_levels(nodes: int, levels: int, radix: int, oversubscription: float) -> FatTreeShape | None:
    """The shape of so many levels of switches; None if the hosts do not fill it evenly."""
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
    """Whether the ports of a switch can be divided in this way."""
    try:
        _ports_of_hosts(radix, oversubscription)
    except InputError:
        return False
    return True


def _ports_of_hosts(radix: int, oversubscription: float) -> int:
    """Ports of a switch of the lowest level that hosts are on; the others go up."""
    if not 1 <= oversubscription < radix:
        raise InputError(
            f"oversubscription is the number of hosts for each cable up, at least 1, "
            f"not {oversubscription:g}"
        )
    ratio = Fraction(oversubscription).limit_denominator(radix)
    down = Fraction(radix) * ratio / (1 + ratio)
    if down.denominator != 1 or radix % 2:
        raise _indivisible(radix, oversubscription)
    return int(down)


def _indivisible(radix: int, oversubscription: float) -> InputError:
    return InputError(
        f"the {radix} ports of a switch cannot be divided {oversubscription:g} to 1; a radix is "
        "even, and a multiple of the oversubscription plus one"
    )
