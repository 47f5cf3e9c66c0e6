"""MVAPICH2's reduction along a k-nomial tree."""

from __future__ import annotations

from tisim.actions.collectives.topology import knomial_tree
from tisim.actions.script import Endpoint


def mvapich2_knomial(s: Endpoint, count: int, size: int, root: int, *, factor: int = 4) -> None:
    """Receive from all children of a k-nomial tree at once, then send to the parent.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.
    factor
        One more than the number of children on each level of the tree.

    Notes
    -----
    MVAPICH2's `MPIR_Reduce_knomial_MV2`: K. Kandalla et al., "Designing topology-aware collective
    communication algorithms for large scale InfiniBand clusters", CAC 2010.
    """
    if count == 0:
        return
    nbytes = count * size
    parent, levels = knomial_tree(s.rank, s.size, root, factor)
    children = [child for level in levels for child in level]
    s.waitall([s.irecv(child, nbytes) for child in reversed(children)])
    if parent is not None:
        s.wait(s.isend(parent, nbytes))
