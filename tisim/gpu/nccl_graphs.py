"""NCCL's graphs: rings over the NVLinks of a node without a switch, and two trees of nodes.

Rings follow NCCL's search; all-reduces go up the two binary trees and down again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tisim.errors import InputError

_Links = dict[tuple[int, int], int]  # from one GPU to another: NVLinks that no ring uses yet
_Path = tuple[tuple[int, int], ...]
# Bytes of a chunk: a step of the buffer; for LL and LL128 the data in it.
_CHUNKS = {"LL": 32 * 1024, "LL128": 614_400, "Simple": 512 * 1024}
_LL128_DATA = 120 / 128


def find_rings(
    cables: Sequence[tuple[int, int, int]], gpus: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the maximum number of rings over GPUs that share no NVLink, each as its GPUs in order.

    Rings are directed cycles over all the GPUs. If none exist, a step may pass through a third GPU
    (which then occurs twice in its ring), as in NCCL from 2.10 on.

    Parameters
    ----------
    cables
        NVLinks between two GPUs, full duplex: the two GPUs, and the number of links.
    gpus
        GPUs of the rings.

    Raises
    ------
    InputError
        If NVLinks do not connect the GPUs.
    """
    return _find_rings(tuple(cables), tuple(sorted(gpus)))


@lru_cache(maxsize=256)
def _find_rings(
    cables: tuple[tuple[int, int, int], ...], gpus: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    inside = set(gpus)
    links: _Links = {}
    for a, b, count in cables:
        if a in inside and b in inside:
            links[a, b] = links[b, a] = count
    for through in (False, True):
        best: list[tuple[int, ...]] = []
        _extend(links, gpus, through, [], best)
        if best:
            return tuple(best)
    raise InputError(f"NVLinks do not join the GPUs {', '.join(map(str, gpus))} of a node")


def _extend(
    links: _Links,
    gpus: Sequence[int],
    through: bool,
    rings: list[tuple[int, ...]],
    best: list[tuple[int, ...]],
) -> bool:
    """Add rings to those found; True once a GPU has no free NVLinks left."""
    free = min(sum(links.get((gpu, other), 0) for other in gpus) for gpu in gpus)
    if len(rings) > len(best):
        best[:] = rings
        if free == 0:
            return True
    if len(rings) + free <= len(best):
        return False
    for ring in _rings(links, gpus, through):
        steps = list(zip(ring, (*ring[1:], ring[0]), strict=True))
        for step in steps:
            links[step] -= 1
        done = _extend(links, gpus, through, [*rings, ring], best)
        for step in steps:
            links[step] += 1
        if done:
            return True
    return False


def _rings(
    links: Mapping[tuple[int, int], int], gpus: Sequence[int], through: bool
) -> Iterator[tuple[int, ...]]:
    """Yield rings over the free NVLinks, those over the widest links first."""

    def grow(
        ring: tuple[int, ...], left: frozenset[int], used: _Links
    ) -> Iterator[tuple[int, ...]]:
        here = ring[-1]
        for goal in sorted(left, key=lambda gpu: -links.get((here, gpu), 0)) or [gpus[0]]:
            for way in _ways(here, goal):
                steps = list(zip((here, *way), (*way, goal), strict=True))
                taken = dict(used)
                for step in steps:
                    taken[step] = taken.get(step, 0) + 1
                if any(taken[step] > links.get(step, 0) for step in steps):
                    continue
                if left:
                    yield from grow((*ring, *way, goal), left - {goal}, taken)
                else:
                    yield (*ring, *way)

    def _ways(here: int, goal: int) -> Iterator[tuple[int, ...]]:
        yield ()
        if through and not links.get((here, goal), 0):
            yield from ((gpu,) for gpu in gpus if gpu not in (here, goal))

    yield from grow((gpus[0],), frozenset(gpus[1:]), {})


class TreeParent(NamedTuple):
    """Parent of a node in a tree (-1 for the root), and whether it is the first child."""

    parent: int
    first: bool


@lru_cache(maxsize=256)
def double_tree(nodes: int) -> tuple[tuple[TreeParent, ...], tuple[TreeParent, ...]]:
    """Return the two trees, each for half of the channels: `ncclGetDtree`, ``src/graph/trees.cc``.

    The second tree is the first one mirrored, or shifted by one node if their number is odd, so
    that an inner node of one tree is a leaf of the other.
    """
    tree = []
    for node in range(nodes):
        low = node & -node
        up = (node ^ low) | (low << 1)
        up = node ^ low if up >= nodes else up
        tree.append(TreeParent(up if node else -1, node < up))
    twin = list(tree)
    for node, (up, first) in enumerate(tree):
        at, above = (
            ((node + 1) % nodes, (up + 1) % nodes)
            if nodes % 2
            else (nodes - 1 - node, nodes - 1 - up)
        )
        twin[at] = TreeParent(above if up >= 0 else -1, first)
    return tuple(tree), tuple(twin)


def tree_depth(nodes: int) -> tuple[int, int]:
    """Return the steps from the farthest leaf to the root; how many reach a second GPU first."""
    steps = (nodes - 1).bit_length()
    return steps, max(steps - 1, 0)


def tree_chunk(
    size: float, channels: int, nodes: int, ranks: int, protocol: str, *, shrinks: bool
) -> float:
    """Bytes of a chunk of a channel, following ``calcCollChunking`` of ``src/enqueue.cc``.

    Parameters
    ----------
    size, channels
        Bytes of the call, and its number of channels.
    nodes, ranks
        Number of nodes and of ranks.
    shrinks
        Whether chunks with Simple shrink for short calls, as before 2.20.
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
