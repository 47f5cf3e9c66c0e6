"""Reduction along many chains of ranks, in segments of 64 KiB."""

from __future__ import annotations

from tisim.actions.collectives.reduce.segmented import reduce_segments
from tisim.actions.collectives.topology import chains
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 64 << 10


def ompi_chain(s: Endpoint, count: int, size: int, root: int) -> None:
    """Pass segments along chains, half as many as there are ranks but at most 32.

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
    place = chains(s.rank, s.size, root, s.size // 2)
    reduce_segments(s, place, count, size, _SEGMENT_BYTES)
