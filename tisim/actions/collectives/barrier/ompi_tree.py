"""Barrier up and down a binomial tree."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_tree(s: Endpoint) -> None:
    """Hear from the children, tell the parent, hear from it, tell the children.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    Open MPI's `coll/base` (`barrier_intra_tree`).
    """
    jump = 1
    while jump < s.size and not s.rank & jump:
        if s.rank + jump < s.size:
            s.recv(s.rank + jump, 0)
        jump <<= 1
    if s.rank:
        s.send(s.rank - jump, 0)
        s.recv(s.rank - jump, 0)
    jump >>= 1
    while jump:
        if s.rank + jump < s.size:
            s.send(s.rank + jump, 0)
        jump >>= 1
