"""Scatter: blocks are dealt along a binomial tree."""

from __future__ import annotations

from tisim.actions.collectives.topology import in_order_binomial_tree
from tisim.actions.script import Endpoint


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Every rank receives the blocks of its subtree and passes them on, small subtrees first.

    An inner rank's buffer has room for the blocks of all ranks.

    References
    ----------
    Open MPI, ``coll/tuned``: binomial scatter (in-order binomial tree).
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    block = rcount * rsize if place else scount * ssize
    if parent is not None:
        s.recv(parent, block if place % 2 else block * s.size)
    for child in children:
        below = (child - root) % s.size
        s.send(child, min(below - place, s.size - below) * block)
