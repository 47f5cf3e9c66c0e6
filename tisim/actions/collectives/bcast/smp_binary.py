"""Broadcast in two levels: binary trees among hosts and on each host, in segments of 8 KiB."""

from __future__ import annotations

from tisim.actions.collectives.blocks import Blocks
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.pipeline import forward, relay, to_rank_zero
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def smp_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send through a binary heap of the hosts' first ranks, and through one on each host.

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
    the hosts the selector `mpich` decides. What is left after the last whole segment goes to the
    broadcast that the configuration names.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    to_rank_zero(s, count * size, root)
    blocks = Blocks(s, layout.sizes[0])
    source, targets = _neighbours(blocks)
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    pieces = [count * size] if count <= segment else [segment * size] * segments
    if targets or blocks.core == 0:
        forward(s, source, targets, pieces)
    else:
        relay(s, source, targets, pieces)
    if count > segment and count % segment:
        s.chosen("bcast")(s, count % segment, size, root)


def _neighbours(blocks: Blocks) -> tuple[int | None, list[int]]:
    """Where this rank's data come from and where they go, other hosts first."""
    source = None
    targets = []
    if blocks.core == 0:
        if blocks.block:
            source = (blocks.block - 1) // 2 * blocks.cores
        below = (2 * blocks.block + 1, 2 * blocks.block + 2)
        targets = [block * blocks.cores for block in below if block < blocks.number]
    else:
        source = blocks.leader + (blocks.core - 1) // 2
    within = (2 * blocks.core + 1, 2 * blocks.core + 2)
    return source, targets + [blocks.leader + core for core in within if core < blocks.cores]
