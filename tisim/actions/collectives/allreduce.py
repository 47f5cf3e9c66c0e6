"""Allreduce: every rank gets the reduction of all vectors.

The two-level algorithms, `smp_*`, are from [STAR-MPI], for clusters of SMP machines. They assume
that consecutive ranks share a host; if hosts have unequal numbers of ranks, every rank counts as a
host. If the number of ranks of a host is not a power of two, SimGrid's versions mix up hosts; these
do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tisim.actions.collectives.blocks import Blocks, blocks_of_hosts
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.halving import (
    StepsOf,
    double,
    exchange_all,
    fold,
    halve,
    halving_blocks,
    halving_elements,
    power_of_two_up_to,
    reduce_scatter_halves,
    require_power_of_two,
)
from tisim.actions.collectives.segments import segment_elements
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_PIPELINE_ELEMENTS = 4096
_RING_SEGMENT = 1 << 20


def lr(s: Endpoint, count: int, size: int) -> None:
    """Allreduce of long messages around a logical ring.

    Reduce-scatter around the ring of the ranks, then pass the blocks around it again. P.
    Patarasuk, X. Yuan, "Bandwidth efficient all-reduce operation on tree topologies", IPDPS
    2007 (STAR-MPI). With fewer elements than ranks, `redbcast` is used; the remainder of an
    uneven division uses the configured allreduce.
    """
    if count < s.size:
        redbcast(s, count, size)
        return
    nbytes = count // s.size * size
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    for step in range(2 * (s.size - 1)):
        s.sendrecv(right, nbytes, 0, left, nbytes, 0)
        if step < s.size - 1:
            s.combine(nbytes)
    if count % s.size:
        s.chosen("allreduce")(s, count % s.size, size)


def rab(s: Endpoint, count: int, size: int) -> None:
    """Allreduce of long messages, from Rabenseifner's own code.

    Halve the vector recursively while reducing it, then double each rank's part.
    [Rabenseifner97].
    """
    if count == 0 or s.size == 1:
        return
    folding = fold(s.size, working=0)
    worker = reduce_scatter_halves(s, folding, count, size)
    if worker is not None:
        double(s, folding, halving_elements(worker, folding.workers, count, size))
    folding.fold_out(s, count * size)


def rab1(s: Endpoint, count: int, size: int) -> None:
    """Allreduce by recursive halving, then an allgather.

    Halve the vector with partners at decreasing distance, then call the configured allgather.
    From [STAR-MPI], after R. Rabenseifner. A vector that the ranks cannot share evenly is
    padded. Raises an `InputError` when the number of ranks is not a power of two.
    """
    require_power_of_two(s.size, "allreduce algorithm rab1")
    share = count // s.size + (1 if count % s.size else 0)
    mask = s.size >> 1
    while mask:
        peer = s.rank ^ mask
        s.sendrecv(peer, mask * share * size, 0, peer, mask * share * size, 0)
        mask >>= 1
    s.chosen("allgather")(s, share, size, share, size)


def rab2(s: Endpoint, count: int, size: int) -> None:
    """Allreduce as an all-to-all and an allgather.

    Every rank receives its part of all vectors, reduces it and sends it to all. From [STAR-MPI].
    Both phases use the configured algorithms. A vector that the ranks cannot share evenly is
    padded; with fewer elements than ranks, to P elements per rank.
    """
    if count % s.size == 0:
        share = count // s.size
    elif count < s.size:
        share = s.size
    else:
        share = count // s.size + 1
    s.chosen("alltoall")(s, share, size, share, size)
    s.chosen("allgather")(s, share, size, share, size)


def rab_rdb(s: Endpoint, count: int, size: int) -> None:
    """MPICH's allreduce of long messages: Rabenseifner's algorithm.

    Reduce-scatter by recursive halving, then allgather by recursive doubling. [Thakur]. Ranks
    beyond a power of two first send their data to a neighbour.
    """
    by_halving(s, count, size, halving_blocks)


def by_halving(
    s: Endpoint,
    count: int,
    size: int,
    steps_of: StepsOf,
) -> None:
    """Halve while reducing, then double, with the steps of one of the functions `halving_*`."""
    folding = fold(s.size)
    worker = folding.fold_in(s, count * size)
    if worker is not None:
        steps = steps_of(worker, folding.workers, count, size)
        halve(s, folding, steps)
        double(s, folding, steps)
    folding.fold_out(s, count * size)


def rdb(s: Endpoint, count: int, size: int) -> None:
    """Allreduce of short messages by recursive doubling.

    Exchange the whole vector with ranks at distance 1, 2, 4... [Thakur].
    """
    exchange_all(s, count * size, s.size)


def redbcast(s: Endpoint, count: int, size: int) -> None:
    """Reduction to rank 0, then a broadcast.

    Call the configured reduction and broadcast. From [STAR-MPI].
    """
    s.chosen("reduce")(s, count, size, 0)
    s.chosen("bcast")(s, count, size, 0)


def smp_binomial(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce along binomial trees.

    Reduce on each host and among the hosts, then broadcast along the same trees.
    """
    nbytes = count * size
    blocks = blocks_of_hosts(s)
    blocks.reduce_within(nbytes)
    blocks.reduce_among(nbytes)
    blocks.bcast_among(nbytes)
    blocks.bcast_within(nbytes)


def smp_binomial_pipeline(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce along binomial trees, in segments of 4096 elements.

    Four segments at once pass through the four stages of `smp_binomial`. As in SimGrid, the
    remainder after the last whole segment is not sent.
    """
    blocks = blocks_of_hosts(s)
    segment = min(count, _PIPELINE_ELEMENTS)
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


def smp_rdb(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce: binomial trees on the hosts, recursive doubling among them.

    Reduce on each host, exchange among the hosts, broadcast on each host.
    """
    nbytes = count * size
    _two_level_allreduce(
        s, nbytes, lambda hosts: exchange_all(s, nbytes, hosts.number, hosts.cores)
    )


def _two_level_allreduce(s: Endpoint, nbytes: int, among: Callable[[Blocks], None]) -> None:
    """Reduce on each host, then `among` the first ranks of hosts, then broadcast on each."""
    blocks = blocks_of_hosts(s)
    blocks.reduce_within(nbytes)
    if blocks.core == 0:
        among(blocks)
    blocks.bcast_within(nbytes)


def smp_rsag(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce: binomial trees on the hosts, a ring among them.

    Reduce on each host, reduce-scatter and allgather around the hosts, broadcast on each. As in
    SimGrid, the remainder of an uneven division among the hosts is not sent.
    """

    def pass_around(blocks: Blocks) -> None:
        share = count // blocks.number * size
        right, left = blocks.neighbours()
        for _ in range(2 * (blocks.number - 1)):
            s.sendrecv(right, share, 0, left, share, 0)

    _two_level_allreduce(s, count * size, pass_around)


def smp_rsag_lr(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce: binomial trees on the hosts, a ring with uneven shares among them.

    Reduce on each host, reduce-scatter and allgather around the hosts, broadcast on each.
    """
    _two_level_allreduce(s, count * size, lambda blocks: _ring(s, blocks, count, size))


def _ring(s: Endpoint, blocks: Blocks, count: int, size: int) -> None:
    """Reduce-scatter, then allgather, around the leaders."""
    share, rest = divmod(count, blocks.number)

    def nbytes(host: int) -> int:
        # The last host also takes the remainder; if shares are empty, SimGrid treats every host
        # as the last.
        last = share == 0 or host % blocks.number == blocks.number - 1
        return (share + rest if last else share) * size

    right, left = blocks.neighbours()
    for ahead in (1, 0):
        for step in range(blocks.number - 1):
            sent = blocks.block - ahead - step
            s.sendrecv(right, nbytes(sent), 0, left, nbytes(sent - 1), 0)


def smp_rsag_rab(s: Endpoint, count: int, size: int) -> None:
    """Two-level allreduce: binomial trees on the hosts, recursive halving among them.

    Reduce on each host, halve and double among the hosts, broadcast on each. Raises an `InputError`
    when the number of ranks is not a power of two.
    """
    require_power_of_two(s.size, "allreduce algorithm smp_rsag_rab")
    _two_level_allreduce(s, count * size, lambda blocks: _halve_and_double(s, blocks, count, size))


def _halve_and_double(s: Endpoint, blocks: Blocks, count: int, size: int) -> None:
    """Exchange ever smaller parts with leaders at growing distance, then reverse the steps."""
    masks = [1 << bit for bit in range(blocks.number.bit_length() - 1)]
    part = count // 2
    for mask in masks:
        peer = (blocks.block ^ mask) * blocks.cores
        s.sendrecv(peer, part * size, 0, peer, part * size, 0)
        part //= 2
    for mask in reversed(masks):
        part *= 2  # smaller than before if a half was rounded down, as in SimGrid
        peer = (blocks.block ^ mask) * blocks.cores
        s.sendrecv(peer, part * size, 0, peer, part * size, 0)


class _Parts(NamedTuple):
    """A number of elements divided into parts that differ by at most one, longer ones first."""

    shorter: int
    longer_ones: int

    def length(self, part: int) -> int:
        return self.shorter + (1 if part < self.longer_ones else 0)


def ompi_ring_segmented(s: Endpoint, count: int, size: int) -> None:
    """Allreduce of very long messages around a ring, in segments of about 1 MiB.

    Reduce-scatter around the ring segment after segment, then pass the blocks around it. Open
    MPI's `coll/tuned` (`allreduce_intra_ring_segmented`): [Pjesivac]. Messages of less than
    one segment per rank use `lr`.
    """
    if s.size == 1:
        return
    segment = segment_elements(_RING_SEGMENT, size, count)
    if count < s.size * segment or count == 0:
        lr(s, count, size)
        return
    phases, rest = divmod(count, s.size * segment)
    if rest >= s.size and rest > s.size * segment // 2:
        phases += 1
    ring_in_phases(s, count, size, phases)


def ring_in_phases(s: Endpoint, count: int, size: int, phases: int) -> None:
    """Reduce-scatter around a ring, each block in `phases` parts, then allgather around it."""
    blocks = _Parts(*divmod(count, s.size))
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    longest = _Parts(*divmod(blocks.length(0), phases)).length(0)
    for phase in range(phases):
        receive = s.irecv(left, longest * size)
        for step in range(s.size - 1):
            block = blocks.length((s.rank - step) % s.size)
            if step:
                following = s.irecv(left, longest * size)
                s.wait(receive)
                s.combine(longest * size)
                receive = following
            s.send(right, _Parts(*divmod(block, phases)).length(phase) * size)
        s.wait(receive)
        s.combine(longest * size)
    for step in range(s.size - 1):
        block = blocks.length((s.rank + 1 - step) % s.size)
        s.sendrecv(right, block * size, 0, left, blocks.length(0) * size, 0)


def mvapich2_rs(s: Endpoint, count: int, size: int) -> None:
    """MVAPICH2's one-level allreduce: recursive halving if there are enough elements.

    Recursive halving and doubling, or doubling alone for fewer elements than ranks. MVAPICH2's
    `MPIR_Allreduce_pt2pt_rs_MV2`, which is MPICH's: [Thakur].
    """
    if count == 0:
        return
    if count < power_of_two_up_to(s.size):
        rdb(s, count, size)
    else:
        rab_rdb(s, count, size)


def mvapich2_two_level(
    s: Endpoint, count: int, size: int, *, intra: str = "mpich", inter: str = "rdb"
) -> None:
    """MVAPICH2's two-level allreduce: on each host, then among the hosts' leaders.

    Reduce on each host, exchange among the leaders, and broadcast on each host. MVAPICH2's
    `MPIR_Allreduce_two_level_MV2`: [Mamidala]. The broadcast is the configured one. `intra` is
    the allreduce on a host, or `reduce` for the configured reduction to the host's leader.
    `inter` is the allreduce among the leaders: `rdb` or `mvapich2_rs`.
    """
    where = nodes(s)
    if count == 0:
        return
    if intra == "reduce":
        s.chosen("reduce")(where.intra, count, size, 0)
    else:
        algorithm("allreduce", intra)(where.intra, count, size)
    if where.leaders is not None and where.leaders.size > 1:
        algorithm("allreduce", inter)(where.leaders, count, size)
    s.chosen("bcast")(where.intra, count, size, 0)
