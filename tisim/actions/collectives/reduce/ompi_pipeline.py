"""Reduction along one chain of ranks, in segments whose length depends on the message's."""

from __future__ import annotations

from tisim.actions.collectives.reduce.segmented import reduce_segments
from tisim.actions.collectives.topology import chains
from tisim.actions.script import Endpoint


def ompi_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """Pass segments along a chain that ends at the root.

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
    place = chains(s.rank, s.size, root, 1)
    reduce_segments(s, place, count, size, _segment_bytes(s.size, count * size))


def _segment_bytes(ranks: int, nbytes: int) -> int:
    """Long segments for few ranks and long messages."""
    if ranks > 0.0410 / 1024 * nbytes + 9.7128:
        return 1 << 10
    if ranks > 0.0033 / 1024 * nbytes + 1.6761:
        return 32 << 10
    return 64 << 10
