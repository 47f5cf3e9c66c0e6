"""Reduce: the root gets the reduction of all vectors."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.halving import (
    HalvingStep,
    StepsOf,
    collect,
    fold,
    halve,
    halving_blocks,
    halving_elements,
    reduce_scatter_halves,
)
from tisim.actions.collectives.segments import cut, forward, relay, segment_elements, whole_segments
from tisim.actions.collectives.trees import (
    Place,
    binary_tree,
    chains,
    in_order_binary_tree,
    in_order_binomial_tree,
    knomial_tree,
    reduce_up,
)
from tisim.actions.nodes import Nodes, nodes
from tisim.actions.script import Endpoint

_NTSL_SEGMENT = 8192
_CHAIN_SEGMENT = 64 << 10
_BINARY_SEGMENT = 32 << 10
_BINOMIAL_SEGMENT = 1 << 10
_SHARED_MEMORY = "ompi_basic_linear"  # stands in for MVAPICH2's shared memory reduction
_SHARED_MEMORY_PER_RANK = 128 << 10
_SHORT_MESSAGE = 2048


def reduce_segments(s: Endpoint, place: Place, count: int, size: int, segment_bytes: int) -> None:
    """Receive each segment from each child, with the next receive posted, then pass it up.

    `ompi_coll_base_reduce_generic`, without its limit on a leaf's pending sends, which is never
    set. `place` is this rank's place in the tree. `segment_bytes` is the length of a segment; if an
    element is longer, the whole vector is one segment.
    """
    segment = segment_elements(segment_bytes, size, count)
    pieces = [elements * size for elements in cut(count, segment)]
    if not place.children:
        if place.parent is not None:
            for nbytes in pieces:
                s.send(place.parent, nbytes)
        return
    waiting, awaited = -1, 0
    for i, nbytes in enumerate(pieces):
        for child in place.children:
            posted = s.irecv(child, nbytes)
            if waiting >= 0:
                s.wait(waiting)
                s.combine(awaited)
            waiting, awaited = posted, nbytes
            if i and child == place.children[0] and place.parent is not None:
                s.send(place.parent, pieces[i - 1])
    if pieces:
        s.wait(waiting)
        s.combine(awaited)
        if place.parent is not None:
            s.send(place.parent, pieces[-1])


def binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along a binomial tree.

    Receive from the children of a binomial tree, nearest first, then send to the parent.
    MPICH's for short messages: [Thakur].
    """
    if count:
        reduce_up(s, count * size, (s.rank - root) % s.size, s.size, root)


def ntsl(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along a chain of ranks that ignores the topology, in segments of 8 KiB.

    Send from the rank before the root downwards, all around to the root. From STAR-MPI: the
    reverse of the broadcast of [Patarasuk]. The remainder after the last whole segment uses
    the `default` reduction.
    """
    if s.size == 1:
        return
    source = (s.rank + 1) % s.size if (s.rank + 1) % s.size != root else None
    targets = [(s.rank - 1) % s.size] if s.rank != root else []
    segment, segments = whole_segments(count, size, _NTSL_SEGMENT)
    if count <= segment:
        forward(s, source, targets, [count * size])
        return
    if targets:
        relay(s, source, targets, [segment * size] * segments)
    else:
        forward(s, source, targets, [segment * size] * segments)
    if count % segment:
        algorithm("reduce", "default")(s, count % segment, size, root)


def rab(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction of long messages, from Rabenseifner's own code.

    Halve the vector recursively while reducing it, then collect the parts at the root.
    [Rabenseifner97]. In the second phase of his code, a rank continues to collect after it has
    sent its part, as if the root were another rank.
    """
    if count and s.size > 1:
        by_halves(s, count, size, root, keeps_collecting=True)


def scatter_gather(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction of long messages: a reduce-scatter, then a gather.

    Halve the vector recursively while reducing it, then collect the blocks at the root. MPICH's
    for long messages: [Rabenseifner04]. The ranks beyond a power of two first send their data to
    a neighbour. A vector of fewer elements than ranks is padded to one element per rank.
    """
    if count:
        by_halving(s, max(count, s.size), size, root, halving_blocks)


def by_halving(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    steps_of: StepsOf,
) -> None:
    """Halve while reducing, then collect, with the steps of one of the functions `halving_*`."""
    folding = fold(s.size, working=0)

    def steps(worker: int) -> list[HalvingStep]:
        return steps_of(worker, folding.workers, count, size)

    worker = folding.fold_in(s, count * size)
    if worker is not None:
        halve(s, folding, steps(worker))
    collect(s, folding, worker, root, steps)


def by_halves(
    s: Endpoint, count: int, size: int, root: int, *, keeps_collecting: bool = False
) -> None:
    """Halve while reducing, pairs first, then collect [Thakur].

    `keeps_collecting` as in `collect`.
    """
    folding = fold(s.size, working=0)

    def steps(worker: int) -> list[HalvingStep]:
        return halving_elements(worker, folding.workers, count, size)

    worker = reduce_scatter_halves(s, folding, count, size)
    collect(s, folding, worker, root, steps, keeps_collecting=keeps_collecting)


def ompi_chain(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along up to 32 chains of ranks, in segments of 64 KiB.

    Pass segments along chains, half as many as there are ranks but at most 32. Open MPI's
    `coll/tuned`: [Pjesivac].
    """
    place = chains(s.rank, s.size, root, s.size // 2)
    reduce_segments(s, place, count, size, _CHAIN_SEGMENT)


def ompi_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along one chain of ranks, in segments whose length depends on the message size.

    Pass segments along a chain that ends at the root. Open MPI's `coll/tuned`: [Pjesivac].
    """
    place = chains(s.rank, s.size, root, 1)
    reduce_segments(s, place, count, size, _pipeline_segment(s.size, count * size))


def _pipeline_segment(ranks: int, nbytes: int) -> int:
    """Segment bytes: longer for few ranks and long messages."""
    if ranks > 0.0410 / 1024 * nbytes + 9.7128:
        return 1 << 10
    if ranks > 0.0033 / 1024 * nbytes + 1.6761:
        return 32 << 10
    return 64 << 10


def ompi_basic_linear(s: Endpoint, count: int, size: int, root: int) -> None:
    """Linear reduction, as in Open MPI's `coll/basic`.

    The root receives from one rank after the other, the last rank first. The order lets Open
    MPI apply operations that do not commute (`coll/basic`).
    """
    nbytes = count * size
    if s.rank != root:
        s.send(root, nbytes)
        return
    for other in range(s.size - 1, -1, -1):
        if other != root:
            s.recv(other, nbytes)
            s.combine(nbytes)


# [STAR-MPI]'s linear reduction, the last rank first
flat_tree = ompi_basic_linear


def ompi_in_order_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along a binary tree that keeps the order of the ranks.

    Reduce to the last rank in one piece; it sends the result to the root. Open MPI's
    `coll/tuned`: [Pjesivac].
    """
    nbytes = count * size
    last = s.size - 1
    reduce_segments(s, in_order_binary_tree(s.rank, s.size), count, size, nbytes)
    if root == last:
        return
    if s.rank == root:
        s.recv(last, nbytes)
    elif s.rank == last:
        s.send(root, nbytes)


def ompi_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along a binary tree, in segments of 32 KiB.

    Pass segments up a binary tree. Open MPI's `coll/tuned`: [Pjesivac].
    """
    place = binary_tree(s.rank, s.size, root)
    reduce_segments(s, place, count, size, _BINARY_SEGMENT)


def ompi_binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduction along a binomial tree, in segments of 1 KiB or in one piece.

    Pass segments up an in-order binomial tree. Open MPI's `coll/tuned`: [Pjesivac].
    """
    place = in_order_binomial_tree(s.rank, s.size, root)
    segment_bytes = (
        _BINOMIAL_SEGMENT if _is_segmented(s.size, count, count * size) else count * size
    )
    reduce_segments(s, place, count, size, segment_bytes)


def _is_segmented(ranks: int, count: int, nbytes: int) -> bool:
    """True unless the message is short, or very long for the number of ranks."""
    if count <= 1 or nbytes < 2048 or (ranks < 8 and nbytes < 20480):
        return False
    return ranks > 0.6016 / 1024 * nbytes + 1.3496


def mvapich2_knomial(s: Endpoint, count: int, size: int, root: int, *, factor: int = 4) -> None:
    """MVAPICH2's reduction along a k-nomial tree.

    Receive from all children of a k-nomial tree at once, then send to the parent. MVAPICH2's
    `MPIR_Reduce_knomial_MV2`: K. Kandalla et al., "Designing topology-aware collective
    communication algorithms for large scale InfiniBand clusters", CAC 2010. `factor`: one more than
    the number of children on each level of the tree.
    """
    if count == 0:
        return
    nbytes = count * size
    parent, levels = knomial_tree(s.rank, s.size, root, factor)
    children = [child for level in levels for child in level]
    s.waitall([s.irecv(child, nbytes) for child in reversed(children)])
    for _ in children:
        s.combine(nbytes)
    if parent is not None:
        s.wait(s.isend(parent, nbytes))


def mvapich2_two_level(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    *,
    intra: str = "mpich",
    inter: str = "mpich",
) -> None:
    """MVAPICH2's two-level reduction: on each host, then among the hosts' leaders.

    Reduce to each host's leader, among the leaders, and send from a leader to the root. MVAPICH2's
    `MPIR_Reduce_two_level_helper_MV2`: [Mamidala]. `intra`, `inter` are the reductions on a host
    and among the leaders.
    """
    where = nodes(s)
    nbytes = count * size
    if where.intra.size == s.size:
        if nbytes > _SHORT_MESSAGE:
            mvapich2_knomial(s, count, size, root)
            return
        ompi_basic_linear(where.intra, count, size, 0)
    else:
        if where.intra.size > 1:
            if intra == _SHARED_MEMORY and nbytes >= where.intra.size * _SHARED_MEMORY_PER_RANK:
                mvapich2_knomial(where.intra, count, size, 0)
            else:
                algorithm("reduce", intra)(where.intra, count, size, 0)
        if where.leaders is not None and where.leaders.size > 1:
            algorithm("reduce", inter)(where.leaders, count, size, where.layout.node[root])
    _send_to_root(s, where, nbytes, root)


def _send_to_root(s: Endpoint, where: Nodes, nbytes: int, root: int) -> None:
    """Send the result from the leader of the root's host to the root."""
    leader = where.leader_of(root)
    if leader == root:
        return
    if s.rank == leader:
        s.send(root, nbytes)
    elif s.rank == root:
        s.recv(leader, nbytes)
