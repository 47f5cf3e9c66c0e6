"""Reduction along a binary tree, in segments of 32 KiB."""

from __future__ import annotations

from tisim.actions.collectives.reduce.segmented import reduce_segments
from tisim.actions.collectives.topology import binary_tree
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 32 << 10


def ompi_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Pass segments up a binary tree.

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
    place = binary_tree(s.rank, s.size, root)
    reduce_segments(s, place, count, size, _SEGMENT_BYTES)
