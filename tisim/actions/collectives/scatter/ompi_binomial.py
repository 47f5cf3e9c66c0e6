"""Scatter: blocks are dealt along a binomial tree."""

from __future__ import annotations

from tisim.actions.collectives.binomial_subtrees import binomial_subtrees
from tisim.actions.script import Endpoint


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Every rank receives the blocks of its subtree and passes them on, small subtrees first.

    An inner rank's buffer has room for the blocks of all ranks.

    References
    ----------
    Open MPI, ``coll/tuned``: binomial scatter (in-order binomial tree).
    """
    parent, children = binomial_subtrees(s.rank, s.size, root)
    block = scount * ssize
    if s.rank != root:
        block = rcount * rsize
        leaf = (s.rank - root) % s.size % 2
        s.recv(parent, block if leaf else block * s.size)
    for child, ranks in children:
        s.send(child, ranks * block)
