"""NCCL's two binary trees of nodes, along which all-reduces go up and down again."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

# Bytes of a chunk: a step of the buffer, with LL and LL128 what is data of it.
_CHUNKS = {"LL": 32 * 1024, "LL128": 614_400, "Simple": 512 * 1024}
_LL128_DATA = 120 / 128


class Above(NamedTuple):
    """A node's parent in a tree (-1: it is the root), and whether it is the first child there."""

    parent: int
    first: bool


@lru_cache(maxsize=256)
def double_tree(nodes: int) -> tuple[tuple[Above, ...], tuple[Above, ...]]:
    """The two trees, each with half of the channels: `ncclGetDtree` of ``src/graph/trees.cc``.

    The second is the first in the other direction, or by a node further with odd numbers, so that
    a node inside one tree is a leaf of the other.
    """
    one = []
    for node in range(nodes):
        low = node & -node
        up = (node ^ low) | (low << 1)
        up = node ^ low if up >= nodes else up
        one.append(Above(up if node else -1, node < up))
    other = list(one)
    for node, (up, first) in enumerate(one):
        at, above = (
            ((node + 1) % nodes, (up + 1) % nodes)
            if nodes % 2
            else (nodes - 1 - node, nodes - 1 - up)
        )
        other[at] = Above(above if up >= 0 else -1, first)
    return tuple(one), tuple(other)


def longest_way(nodes: int) -> tuple[int, int]:
    """Steps between nodes from the farthest leaf to the root; how many reach a second GPU first."""
    steps = (nodes - 1).bit_length()
    return steps, max(steps - 1, 0)


def tree_chunk(
    size: float, channels: int, nodes: int, ranks: int, protocol: str, *, shrinks: bool
) -> float:
    """Bytes of a chunk of a channel: ``calcCollChunking`` of ``src/enqueue.cc``.

    Parameters
    ----------
    size, channels
        Bytes of the call, and its channels.
    nodes, ranks
        How many there are.
    shrinks
        Whether chunks with Simple become smaller for short calls, as before 2.20.
    """
    chunk, doublings, local = _CHUNKS[protocol], int(math.log2(nodes)), ranks / nodes
    limits: tuple[tuple[float, int], ...] = ()
    if protocol == "Simple" and shrinks:
        depth = ranks // nodes - 1 + doublings
        limits = (8 * depth, 131072), (4 * depth, 65536), (depth, 32768)
    elif protocol == "LL128":
        steps = 1 + doublings + 0.1 * local
        limits = (64 * steps / local, 131072), (16 * steps / local, 32768)
    for rounds, least in limits:
        while size // (channels * chunk) < rounds and chunk > least:
            chunk //= 2
    return min(chunk * (_LL128_DATA if protocol == "LL128" else 1), size / channels)
