"""Reduction along a binary tree that keeps the order of the ranks."""

from __future__ import annotations

from tisim.actions.collectives.reduce.segmented import reduce_segments
from tisim.actions.collectives.topology import in_order_binary_tree
from tisim.actions.script import Endpoint


def ompi_in_order_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduce to the last rank in one piece; it sends the result to the root.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    Open MPI's `coll/tuned`: J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel,
    J. J. Dongarra, "Performance analysis of MPI collective operations", Cluster Computing 10
    (2007).
    """
    nbytes = count * size
    last = s.size - 1
    reduce_segments(s, in_order_binary_tree(s.rank, s.size), count, size, nbytes)
    if root == last:
        return
    if s.rank == root:
        s.recv(last, nbytes)
    elif s.rank == last:
        s.send(root, nbytes)
