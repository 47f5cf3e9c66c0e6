"""Broadcast in two levels: along a line of hosts and along one on each host, in 8 KiB segments."""

from __future__ import annotations

from tisim.actions.collectives.blocks import Blocks
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.pipeline import forward, to_rank_zero
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def smp_linear(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send from each host's first rank to the next host's and to its own second rank, and so on.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006). With unequal numbers of ranks on
    the hosts the selector `mpich` decides. With one rank a host SimGrid's sends every message
    twice, although it is received once; here it is sent once. What is left after the last whole
    segment goes to the broadcast that the configuration names.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    blocks = Blocks(s, layout.sizes[0])
    if blocks.number == 1:
        algorithm("bcast", "default")(s, count, size, root)
        return
    to_rank_zero(s, count * size, root)
    source, targets = _neighbours(blocks)
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if count <= segment:
        forward(s, source, targets, [count * size])
        return
    forward(s, source, targets, [segment * size] * segments)
    if count % segment:
        s.chosen("bcast")(s, count % segment, size, root)


def _neighbours(blocks: Blocks) -> tuple[int | None, list[int]]:
    """Where this rank's data come from and where they go, the next host first."""
    rank = blocks.s.rank
    within = [rank + 1] if blocks.core + 1 < blocks.cores else []
    if blocks.core:
        return rank - 1, within
    before = rank - blocks.cores if blocks.block else None
    after = [rank + blocks.cores] if blocks.block + 1 < blocks.number else []
    return before, after + within
