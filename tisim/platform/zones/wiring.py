"""How the vertices of a cluster are joined: its hosts, its switches and the links between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class Wiring(NamedTuple):
    """Links between vertices. The vertices are the hosts, from 0, and then the switches.

    Attributes
    ----------
    tails, heads, links
        A row a direction of a cable: from which vertex to which it carries messages, and the index
        of its link.
    limited, limiters
        Vertices that have a limiter, and the index of the link that it is.
    """

    tails: Integers
    heads: Integers
    links: Integers
    limited: Integers
    limiters: Integers


def wire_cables(
    lower: Integers,
    upper: Integers,
    first_links: Integers,
    wires: int,
    limited: Integers | None = None,
    limiters: Integers | None = None,
) -> Wiring:
    """The wiring of cables that carry messages in both directions.

    Parameters
    ----------
    lower, upper
        The two ends of each cable.
    first_links
        Index of the link from the lower end to the upper one.
    wires
        2 if the next link is the way back, 1 if the same link is.
    limited, limiters
        As of a `Wiring`; none if None.
    """
    nothing = np.zeros(0, dtype=np.int64)
    return Wiring(
        np.concatenate([lower, upper]),
        np.concatenate([upper, lower]),
        np.concatenate([first_links, first_links + (wires - 1)]),
        nothing if limited is None else limited,
        nothing if limiters is None else limiters,
    )
