"""Where the hosts and switches of a cluster are on paper, several as one item if there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.platform.drawing.canvas import Shape, Stroke

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.zones.wiring import Integers

    Point = tuple[float, float]

#: Half the side of a switch, and the radius of a host, in points.
SWITCH, HOST = 4.5, 3.5


class Item(NamedTuple):
    """What is drawn at one place: a host, a switch, or several as one box.

    Attributes
    ----------
    x, y
        Its middle.
    width, height
        Of a box; 0 for a single host or switch.
    switches
        How many switches it stands for.
    text
        Written into a box where there is room.
    """

    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    switches: int = 0
    text: str = ""


class Cable(NamedTuple):
    """The links between two items: how it goes on paper, in one or more strokes."""

    lines: tuple[tuple[Point, ...], ...]
    curved: bool = False


def straight(items: Sequence[Item], one: int, other: int) -> Cable:
    """A cable from middle to middle."""
    a, b = items[one], items[other]
    return Cable((((a.x, a.y), (b.x, b.y)),))


@dataclass(slots=True)
class Layout:
    """A cluster on paper; its corner is the origin.

    Attributes
    ----------
    items
        What is drawn where.
    item_of
        The item of each vertex of the cluster's `Wiring`: hosts first, then switches.
    background
        Drawn below the cables.
    foreground
        Drawn above everything: captions.
    notes
        How to read it.
    route
        How the cable between two items goes.
    """

    items: list[Item]
    item_of: Integers
    background: list[Shape] = field(default_factory=list)
    foreground: list[Shape] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    route: Callable[[Sequence[Item], int, int], Cable] = straight


class Bundle(NamedTuple):
    """All links between two items (or within one, if they are the same), by index."""

    one: int
    other: int
    links: Integers


def bundles(item_of: Integers, tails: Integers, heads: Integers, links: Integers) -> list[Bundle]:
    """The links of a wiring, put together by the items that they join."""
    ends: NDArray[np.int64] = np.sort(np.stack([item_of[tails], item_of[heads]]), axis=0)
    order = np.lexsort((links, ends[1], ends[0]))
    ends, links = ends[:, order], links[order]
    changes = np.nonzero((ends[:, 1:] != ends[:, :-1]).any(axis=0))[0] + 1
    starts = [0, *changes.tolist()] if len(links) else []
    stops = [*changes.tolist(), len(links)]
    return [
        Bundle(int(ends[0, start]), int(ends[1, start]), np.unique(links[start:stop]))
        for start, stop in zip(starts, stops, strict=False)
    ]


def strokes(cable: Cable, colour: str, width: float, title: str) -> list[Stroke]:
    """The strokes of a cable."""
    return [Stroke(line, colour, width, title, cable.curved) for line in cable.lines]
