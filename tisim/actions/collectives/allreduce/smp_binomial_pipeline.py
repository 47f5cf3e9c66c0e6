"""Reduction in two levels along binomial trees, in segments of 4096 elements."""

from __future__ import annotations

from tisim.actions.collectives.blocks import blocks_of_hosts
from tisim.actions.script import Endpoint

_SEGMENT_ELEMENTS = 4096


def smp_binomial_pipeline(s: Endpoint, count: int, size: int) -> None:
    """Four segments at once pass through the four stages of `smp_binomial`.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006), for clusters of SMP machines. It
    takes ranks that follow one another to be on one host; with unequal numbers of ranks on the
    hosts, every rank counts as a host. Where the ranks of a host are no power of two, SimGrid's
    mixes up hosts; this one does not.
    As there, what is left of the vector after the last whole segment is not sent.
    """
    blocks = blocks_of_hosts(s)
    segment = min(count, _SEGMENT_ELEMENTS)
    segments = count // segment if count else 0
    stages = (
        blocks.reduce_within,
        blocks.reduce_among,
        blocks.bcast_among,
        blocks.bcast_within,
    )
    for phase in range(segments + len(stages) - 1):
        for delay, stage in enumerate(stages):
            if delay <= phase < segments + delay:
                stage(segment * size)
