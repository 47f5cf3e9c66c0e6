"""Gather: blocks are collected along a binomial tree."""

from __future__ import annotations

from tisim.actions.collectives.topology import in_order_binomial_tree
from tisim.actions.script import Endpoint


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Every rank receives the blocks of its subtrees, small ones first, and passes them on.

    References
    ----------
    Open MPI, ``coll/tuned``: binomial gather (in-order binomial tree).
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    block = scount * ssize if place else rcount * rsize
    total = block
    for child in children:
        below = (child - root) % s.size
        nbytes = min(below - place, s.size - below) * block
        s.recv(child, nbytes)
        total += nbytes
    if parent is not None:
        s.send(parent, total)
