"""Broadcast: the root's data reach every rank.

The two-level algorithms, `smp_*`, are from [STAR-MPI], for clusters of SMP machines; if hosts have
unequal numbers of ranks, the selector `mpich` decides. `ntsb`, `ntsl`, `smp_binary` and
`smp_linear` send segments of 8 KiB, and leave the remainder to the configured broadcast.
"""

from __future__ import annotations

from collections.abc import Callable

from tisim.actions.collectives.blocks import Blocks
from tisim.actions.collectives.catalogue import Algorithm, algorithm
from tisim.actions.collectives.halving import exchange_doubling
from tisim.actions.collectives.segments import (
    Pieces,
    cut,
    forward,
    relay,
    scatter_pieces,
    segment_elements,
    send_to_rank_zero,
    whole_segments,
)
from tisim.actions.collectives.trees import Place, bcast_down, binary_tree, chains, knomial_tree
from tisim.actions.nodes import Nodes, nodes
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192
_LONG_SPLIT = 370728
_SHORT_SEGMENT, _LONG_SEGMENT = 1 << 10, 8 << 10
# Segment bytes, slope, offset: used if the ranks are fewer than slope * message bytes + offset.
_PIPELINE_SEGMENTS = (
    (128 << 10, 1.6134e-6, 2.1102),
    (64 << 10, 2.3679e-6, 1.1787),
    (16 << 10, 3.2118e-6, 8.7936),
)
_PIPELINE_SEGMENT_OTHERWISE = 128 << 10
_MANY_RANKS = 64
_SHORT_MESSAGE, _LONG_MESSAGE = 16 << 10, 512 << 10
_KNOMIAL_FROM = 128 << 10
_KNOMIAL_FACTOR = 4


def binomial_tree(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast along a binomial tree: log2 P steps, without segmentation.

    Receive from the parent of a binomial tree, then send to the children, farthest first. The
    tree that MPICH uses for short messages: [Thakur]; SimGrid took this one from [STAR-MPI].
    """
    bcast_down(s, count * size, (s.rank - root) % s.size, s.size, root)


def flattree(s: Endpoint, count: int, size: int, root: int) -> None:
    """Flat-tree broadcast: the root sends to all other ranks.

    The root starts a send to every other rank and waits for all. The linear broadcast of
    STAR-MPI [Faraj].
    """
    nbytes = count * size
    if s.rank != root:
        s.recv(root, nbytes)
    else:
        s.waitall([s.isend(other, nbytes) for other in range(s.size) if other != root])


def flattree_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """Flat-tree broadcast in segments of 8 KiB.

    The root sends all segments to one rank after the other. From [STAR-MPI], by way of SimGrid.
    As there, the remainder after the last whole segment is not sent.
    """
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if segments == 0:
        flattree(s, count, size, root)
        return
    nbytes = segment * size
    if s.rank != root:
        s.waitall([s.irecv(root, nbytes) for _ in range(segments)])
        return
    for other in range(s.size):
        if other != root:
            for _ in range(segments):
                s.send(other, nbytes)


def ntsb(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast along a binary tree that ignores the topology, in segments of 8 KiB.

    Send through a binary heap of ranks below rank 0, segment by segment. "Non-topology-specific
    binary" of [Patarasuk].
    """
    if s.size == 1:
        return
    send_to_rank_zero(s, count * size, root)
    parent = (s.rank - 1) // 2 if s.rank else None
    children = [child for child in (2 * s.rank + 1, 2 * s.rank + 2) if child < s.size]
    _in_segments(s, count, size, root, parent, children, relay)


def ntsl(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast along a chain of ranks that ignores the topology, in segments of 8 KiB.

    Send from rank 0 to 1 to 2 and so on, segment by segment. "Non-topology-specific linear" of
    [Patarasuk].
    """
    if s.size == 1:
        return
    send_to_rank_zero(s, count * size, root)
    before = s.rank - 1 if s.rank else None
    after = [s.rank + 1] if s.rank + 1 < s.size else []
    _in_segments(s, count, size, root, before, after, relay)


def _in_segments(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    source: int | None,
    targets: list[int],
    pass_segments: Callable[[Endpoint, int | None, list[int], list[int]], None],
) -> None:
    """Forward whole segments, or a single one; the configured broadcast sends the remainder."""
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if count <= segment:
        forward(s, source, targets, [count * size])
        return
    pass_segments(s, source, targets, [segment * size] * segments)
    if count % segment:
        s.chosen("bcast")(s, count % segment, size, root)


# STAR-MPI has blocking sends in `NTSL`, non-blocking ones here; SimGrid has the latter in both.
ntsl_isend = ntsl


def scatter_lr_allgather(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    scatter: Callable[[Endpoint, Pieces, int], None] = scatter_pieces,
) -> None:
    """Broadcast of long messages: a scatter, then a ring allgather.

    Scatter the bytes in equal pieces along a binomial tree, then pass them around a ring. The
    van de Geijn broadcast: M. Barnett, S. Gupta, D. Payne, L. Shuler, R. van de Geijn and J.
    Watts, "Interprocessor collective communication library (InterCom)", SHPCC 1994; with a
    logical ring ("LR") in STAR-MPI and MPICH.
    """
    pieces = Pieces(count * size, s.size)
    scatter(s, pieces, root)
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    place = (s.rank - root) % s.size
    for step in range(s.size - 1):
        sent, received = (place - step) % s.size, (place - step - 1) % s.size
        s.sendrecv(right, pieces.nbytes(sent), 0, left, pieces.nbytes(received), 0)


def scatter_rdb_allgather(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    scatter: Callable[[Endpoint, Pieces, int], None] = scatter_pieces,
) -> None:
    """Broadcast of medium messages: a scatter, then a recursive-doubling allgather.

    Scatter the bytes in equal pieces along a binomial tree, then gather them by doubling.
    [Thakur]; the code is MPICH's `MPIR_Bcast_scatter_doubling_allgather`.
    """
    if count * size == 0:
        return
    pieces = Pieces(count * size, s.size)
    scatter(s, pieces, root)
    exchange_doubling(
        s,
        lambda ranks: pieces.nbytes(ranks.start, len(ranks)),
        lambda step: pieces.nbytes(step.theirs.start, s.size),
        root,
    )


def smp_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Two-level broadcast: binary trees among hosts and on each host, in segments of 8 KiB.

    Send through a binary heap of the hosts' first ranks, and through one on each host.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    send_to_rank_zero(s, count * size, root)
    blocks = Blocks(s, layout.sizes[0])
    source, targets = _binary_neighbours(blocks)
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    pieces = [count * size] if count <= segment else [segment * size] * segments
    if targets or blocks.core == 0:
        forward(s, source, targets, pieces)
    else:
        relay(s, source, targets, pieces)
    if count > segment and count % segment:
        s.chosen("bcast")(s, count % segment, size, root)


def _binary_neighbours(blocks: Blocks) -> tuple[int | None, list[int]]:
    """Return the source of this rank's data and its targets, other hosts first."""
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


def smp_binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Two-level broadcast: binomial trees among hosts, then on each host.

    Send along a binomial tree of the hosts' first ranks, then along one on each host. The MPICH of
    SimGrid uses it for every uniform communicator. If the number of ranks of a host is not a power
    of two, SimGrid's version sends some messages that no rank receives; this one does not.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    nbytes = count * size
    send_to_rank_zero(s, nbytes, root)
    blocks = Blocks(s, layout.sizes[0])
    blocks.bcast_among(nbytes)
    blocks.bcast_within(nbytes)


def smp_linear(s: Endpoint, count: int, size: int, root: int) -> None:
    """Two-level broadcast: a chain of hosts and a chain on each host, in segments of 8 KiB.

    Send from each host's first rank to the next host's and to its own second rank, and so on. With
    one rank per host, SimGrid's version sends every message twice, although it is received once;
    this one sends it once.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    blocks = Blocks(s, layout.sizes[0])
    if blocks.number == 1:
        algorithm("bcast", "default")(s, count, size, root)
        return
    send_to_rank_zero(s, count * size, root)
    source, targets = _linear_neighbours(blocks)
    _in_segments(s, count, size, root, source, targets, forward)


def _linear_neighbours(blocks: Blocks) -> tuple[int | None, list[int]]:
    """Return the source of this rank's data and its targets, the next host first."""
    rank = blocks.s.rank
    within = [rank + 1] if blocks.core + 1 < blocks.cores else []
    if blocks.core:
        return rank - 1, within
    before = rank - blocks.cores if blocks.block else None
    after = [rank + blocks.cores] if blocks.block + 1 < blocks.number else []
    return before, after + within


def ompi_split_bintree(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast of one half down each subtree of a binary tree, then a pairwise exchange.

    Send the first half to the left subtree and the second to the right one, then swap them. The
    "split binary" of Open MPI's `coll/tuned`: [Pjesivac]. Messages that are too short to be cut
    use `SMP_linear`, as in SimGrid.
    """
    if s.size == 1:
        return
    short = count * size < _LONG_SPLIT
    segment_bytes = max(_SHORT_SEGMENT if short else _LONG_SEGMENT, size)
    halves = (count - count // 2, count // 2)
    if halves[1] == 0 or segment_bytes > halves[1] * size:
        smp_linear(s, count, size, root)
        return
    segment = segment_bytes // size
    pieces = [[elements * size for elements in cut(half, segment)] for half in halves]
    send_halves(s, root, pieces)


def send_halves(s: Endpoint, root: int, pieces: list[list[int]]) -> None:
    """Send the segments of both halves down the subtrees of a binary tree, then swap the halves."""
    side = ((s.rank - root) % s.size + 1) % 2  # 0: the left subtree; the root counts as right
    _send_half_down(s, root, pieces, side)
    _swap_halves(s, root, (sum(pieces[0]), sum(pieces[1])), side)


def _send_half_down(s: Endpoint, root: int, pieces: list[list[int]], side: int) -> None:
    """Send each half down its subtree segment by segment."""
    place = binary_tree(s.rank, s.size, root)
    if place.parent is None:
        for i in range(len(pieces[0])):
            for child, half in zip(place.children, pieces, strict=False):
                if i < len(half):
                    s.send(child, half[i])
        return
    mine = pieces[side]
    if not place.children:
        for nbytes in mine:
            s.recv(place.parent, nbytes)
        return
    receive = s.irecv(place.parent, mine[0])
    for i, nbytes in enumerate(mine):
        following = s.irecv(place.parent, mine[i + 1]) if i + 1 < len(mine) else -1
        s.wait(receive)
        for child in place.children:
            s.send(child, nbytes)
        receive = following


def _swap_halves(s: Endpoint, root: int, halves: tuple[int, int], side: int) -> None:
    """Swap halves with the peer in the other subtree; the last rank's peer may be the root."""
    last = (root - 1) % s.size
    if s.size % 2 == 0 and s.rank == root:
        s.send(last, halves[1])
    elif s.size % 2 == 0 and s.rank == last:
        s.recv(root, halves[1])
    elif s.rank != root:
        pair = (s.rank + (-1 if side else 1)) % s.size
        s.sendrecv(pair, halves[side], 0, pair, halves[1 - side], 0)


def ompi_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast along a chain of ranks, in segments whose length depends on the message size.

    Send from the root to the next rank and so on; each rank has two receives posted. The
    pipeline of Open MPI's `coll/tuned`: [Pjesivac].
    """
    if s.size == 1:
        return
    segment = segment_elements(_pipeline_segment(s.size, count * size), size, count)
    pieces = [elements * size for elements in cut(count, segment)]
    forward_segments(s, chains(s.rank, s.size, root, 1), pieces)


def _pipeline_segment(ranks: int, nbytes: int) -> int:
    for segment, slope, offset in _PIPELINE_SEGMENTS:
        if ranks < slope * nbytes + offset:
            return segment
    return _PIPELINE_SEGMENT_OTHERWISE


def forward_segments(s: Endpoint, place: Place, pieces: list[int]) -> None:
    """Receive each segment while the previous one is forwarded, into buffers of a full segment."""
    receive = -1
    for i, nbytes in enumerate(pieces):
        if place.parent is not None:
            if i == 0:
                receive = s.irecv(place.parent, pieces[0])
            following = s.irecv(place.parent, pieces[0]) if i + 1 < len(pieces) else -1
            s.wait(receive)
            receive = following
        s.waitall([s.isend(child, nbytes) for child in place.children])


def mvapich2_inter_node(
    s: Endpoint, count: int, size: int, root: int, *, inter: str = "mpich"
) -> None:
    """The inter-node phase of MVAPICH2's two-level broadcast.

    Send the data to the leader of the root's host, and broadcast them among the leaders. MVAPICH2's
    `MPIR_Bcast_inter_node_helper_MV2`: [Mamidala]. `inter` is the broadcast among the leaders.
    """
    among_leaders(s, nodes(s), count, size, root, algorithm("bcast", inter))


def among_leaders(
    s: Endpoint, where: Nodes, count: int, size: int, root: int, bcast: Algorithm
) -> None:
    """Send the data to the leader of the root's host, and broadcast them among the leaders."""
    leader = where.leader_of(root)
    if root != leader:
        if s.rank == leader:
            s.recv(root, count * size)
        elif s.rank == root:
            s.send(leader, count * size)
    if where.leaders is not None:
        bcast(where.leaders, count, size, where.layout.node[root])


def mvapich2_intra_node(
    s: Endpoint, count: int, size: int, root: int, *, inter: str = "mpich"
) -> None:
    """MVAPICH2's untuned broadcast, in one or two levels.

    Two levels for many ranks or medium messages, one otherwise. MVAPICH2's
    `MPIR_Bcast_intra_MV2`: [Mamidala]. As in SimGrid, a broadcast of up to 128 KiB on a host
    starts at the root's rank, not at the leader; here that rank is taken modulo the number of
    ranks of the host. `inter` is the broadcast among the leaders.
    """
    nbytes = count * size
    if count == 0:
        return
    where = nodes(s)
    if s.size > _MANY_RANKS or _SHORT_MESSAGE < nbytes < _LONG_MESSAGE:
        mvapich2_inter_node(s, count, size, root, inter=inter)
        if nbytes <= _KNOMIAL_FROM:
            algorithm("bcast", "mpich")(where.intra, count, size, root % where.intra.size)
        else:
            mvapich2_knomial_intra_node(where.intra, count, size, 0)
    elif nbytes <= _SHORT_MESSAGE:
        binomial_tree(s, count, size, root)
    else:
        scatter_lr_allgather(s, count, size, root)


def mvapich2_knomial_intra_node(s: Endpoint, count: int, size: int, root: int) -> None:
    """MVAPICH2's broadcast on a host, along a k-nomial tree.

    Receive from the parent of a 4-nomial tree, then send to the children level by level.
    MVAPICH2's `MPIR_Knomial_Bcast_intra_node_MV2`: [Mamidala].
    """
    nodes(s)
    nbytes = count * size
    parent, levels = knomial_tree(s.rank, s.size, root, _KNOMIAL_FACTOR)
    if parent is not None:
        s.recv(parent, nbytes)
    for level in levels:
        s.waitall([s.isend(child, nbytes) for child in level])
