"""Reduction along a binomial tree, in segments of 1 KiB or in one piece."""

from __future__ import annotations

from tisim.actions.collectives.reduce.segmented import reduce_segments
from tisim.actions.collectives.topology import in_order_binomial_tree
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 1 << 10


def ompi_binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Pass segments up an in-order binomial tree.

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
    place = in_order_binomial_tree(s.rank, s.size, root)
    segment_bytes = _SEGMENT_BYTES if _is_cut(s.size, count, count * size) else count * size
    reduce_segments(s, place, count, size, segment_bytes)


def _is_cut(ranks: int, count: int, nbytes: int) -> bool:
    """Whether the message is cut: not if it is short, nor if it is very long for the ranks."""
    if count <= 1 or nbytes < 2048 or (ranks < 8 and nbytes < 20480):
        return False
    return ranks > 0.6016 / 1024 * nbytes + 1.3496
