"""Gather: blocks are collected along a binomial tree."""

from __future__ import annotations

from tisim.actions.collectives.binomial_subtrees import binomial_subtrees
from tisim.actions.script import Endpoint


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Every rank receives the blocks of its subtrees, small ones first, and passes them on.

    References
    ----------
    Open MPI, ``coll/tuned``: binomial gather (in-order binomial tree).
    """
    parent, children = binomial_subtrees(s.rank, s.size, root)
    block = rcount * rsize if s.rank == root else scount * ssize
    total = block
    for child, ranks in children:
        s.recv(child, ranks * block)
        total += ranks * block
    if s.rank != root:
        s.send(parent, total)
