"""Allgather: every rank gets the blocks of all ranks, which have equal sizes.

The host-aware algorithms, `loosely_lr` and `smp_*`, are in the style of [STAR-MPI]; SimGrid names
no source. They assume that the ranks of a host are consecutive, and one rank per host if hosts have
different numbers of ranks.
"""

from __future__ import annotations

from tisim.actions.collectives import allgatherv
from tisim.actions.collectives.allgatherv import allgather_ring
from tisim.actions.collectives.blocks import Blocks, blocks_of_hosts
from tisim.actions.collectives.catalogue import Algorithm, algorithm
from tisim.actions.collectives.exchanges import exchange_pairwise, exchange_shifted
from tisim.actions.collectives.halving import (
    recursive_doubling_steps,
    require_power_of_two,
    reversed_bits,
)
from tisim.actions.collectives.mesh import along_2d, along_3d
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint
from tisim.errors import InputError


def exchange_within_host(s: Endpoint, blocks: Blocks, sent: int, received: int) -> None:
    """In step i, send i cores ahead and receive from i cores behind, around the host."""
    for step in range(1, blocks.cores):
        ahead = blocks.leader + (blocks.core + step) % blocks.cores
        behind = blocks.leader + (blocks.core - step) % blocks.cores
        s.sendrecv(ahead, sent, 0, behind, received, 0)


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, then along the columns of a mesh.

    Blocks go to all ranks of the row, then the row's blocks to all ranks of the column.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh.
    """
    along_2d(s, "allgather algorithm 2dmesh", scount * ssize, scount * ssize)


def mesh_3d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, the columns and the depth of a mesh.

    Blocks go along the row, the row's along the column, the plane's to the other planes.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh of square
    planes.
    """
    along_3d(s, "allgather algorithm 3dmesh", scount * ssize, scount * ssize)


def _of_equal_blocks(general: Algorithm) -> Algorithm:
    """Return an allgatherv as an allgather: all blocks have equal sizes."""

    def write(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
        general(s, scount, ssize, [rcount] * s.size, rsize)

    write.__doc__ = general.__doc__
    return write


bruck = _of_equal_blocks(allgatherv.ompi_bruck)
ompi_neighborexchange = _of_equal_blocks(allgatherv.ompi_neighborexchange)


def gb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """A gather and a broadcast.

    Rank 0 gathers all blocks and broadcasts them, with the configured algorithms.
    [Faraj].
    """
    s.chosen("gather")(s, scount, ssize, rcount, rsize, 0)
    s.chosen("bcast")(s, rcount * s.size, rsize, 0)


def loosely_lr(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """A ring of hosts per core, overlapped with exchanges on each host.

    In each step, pass a block to the same core of the next host and to the other cores of this
    host. A step waits only for the block from the previous host ("loosely" synchronous logical
    ring), the end for all other requests. SimGrid crashes with more than 128 requests.
    """
    blocks = blocks_of_hosts(s)
    sent, received = scount * ssize, rcount * rsize
    ahead, behind = (s.rank + blocks.cores) % s.size, (s.rank - blocks.cores) % s.size
    receives, sends, ring_sends = [], [], []
    for step in range(1, blocks.number + 1):
        arrival = None
        for core in range(blocks.cores):
            if core != blocks.core:
                receives.append(s.irecv(blocks.leader + core, received))
                sends.append(s.isend(blocks.leader + core, sent))
            elif step < blocks.number:
                arrival = s.irecv(behind, received)
                ring_sends.append(s.isend(ahead, sent))
        if arrival is not None:
            s.wait(arrival)
    s.waitall(receives)
    s.waitall(sends)
    s.waitall(ring_sends)


def ntslr(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Blocks travel around a logical ring.

    P - 1 times, send the block received last to the next rank and receive from the previous one.
    The ring ignores the topology (non-topology-specific logical ring). [Faraj-Patarasuk]. If a
    block's size differs between sender and receiver, the default allgather is used.
    """
    block = scount * ssize
    if block == rcount * rsize:
        allgather_ring(s, [block] * s.size)
    else:
        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)


def ntslr_nb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Blocks travel around a logical ring, with all receives posted first.

    Like `ntslr`; each step waits for the incoming block, then for the outgoing one.
    [Faraj-Patarasuk]. If a block's size differs between sender and receiver, the default
    allgather is used.
    """
    rank, size, block = s.rank, s.size, scount * ssize
    if block != rcount * rsize:
        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    receives = [s.irecv(behind, block) for _ in range(1, size)]
    for receive in receives:
        send = s.isend(ahead, block)
        s.wait(receive)
        s.wait(send)


def pair(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """P - 1 pairwise exchanges.

    Raises an `InputError` when the number of ranks is not a power of two.
    """
    sent, received = [scount * ssize] * s.size, [rcount * rsize] * s.size
    exchange_pairwise(s, "allgather", sent, received)


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Recursive doubling.

    Exchange all blocks held with the rank whose number differs in bit 0, 1, 2... [Thakur]. If
    the types of the two sides differ in width, SimGrid confuses their element counts and sends
    too few elements, or so many that it crashes; here all blocks are sent.
    """
    block = rcount * rsize
    for step in recursive_doubling_steps(s.rank, s.size):
        if step.partner is not None:
            s.sendrecv(step.partner, len(step.mine) * block, 0, step.partner, step.width * block, 0)
        for is_sent, peer in step.relays:
            (s.send if is_sent else s.recv)(peer, len(step.theirs) * block)


def rhv(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Recursive halving of the distance.

    Exchange 1, 2, 4... blocks with the rank P/2, P/4, P/8... away. Blocks first go to the rank
    whose number has the bits in reverse order, so that a rank's blocks are contiguous at every
    step. [Thakur]. Raises an `InputError` when the number of ranks is not a power of two. If a
    block's size differs between sender and receiver, the default allgather is used.
    """
    require_power_of_two(s.size, "allgather algorithm rhv")
    rank, size, block = s.rank, s.size, scount * ssize
    if block != rcount * rsize:
        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    mirror = reversed_bits(rank, size)
    s.sendrecv(mirror, block, 0, mirror, block, 0)
    blocks, distance = 1, size // 2
    while distance:
        peer = rank ^ distance
        s.sendrecv(peer, blocks * block, 0, peer, blocks * block, 0)
        blocks *= 2
        distance //= 2


def ring(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """P - 1 exchanges at growing distance.

    Not the ring of other libraries, where blocks travel from neighbour to neighbour (`ntslr`).
    """
    exchange_shifted(s, [scount * ssize] * s.size, [rcount * rsize] * s.size)


def smp_nts(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchanges on each host, then a ring of hosts that feeds a pipeline on each host.

    Exchange on the host; then the first ranks pass the hosts' blocks around a ring and to the next
    rank of their host, where every rank forwards them to the next one. On a single host, the
    default allgather is used.
    """
    blocks = blocks_of_hosts(s)
    if blocks.number == 1:
        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    sent, received = scount * ssize, rcount * rsize
    exchange_within_host(s, blocks, sent, received)
    if blocks.core == 0:
        _ring_of_hosts(s, blocks, sent * blocks.cores, received * blocks.cores)
        return
    for _ in range(1, blocks.number):
        s.recv(s.rank - 1, received * blocks.cores)
        if blocks.core < blocks.cores - 1:
            s.send(s.rank + 1, sent * blocks.cores)


def _ring_of_hosts(s: Endpoint, blocks: Blocks, sent: int, received: int) -> None:
    """Take part in the ring as the first rank of a host, and feed the host's pipeline."""
    ahead, behind = blocks.neighbours()
    receives = [s.irecv(behind, received) for _ in range(1, blocks.number)]
    sends = [s.isend(ahead, sent)]
    for step, receive in enumerate(receives, 2):
        s.wait(receive)
        if step < blocks.number:
            sends.append(s.isend(ahead, sent))
        if blocks.cores > 1:
            s.send(s.rank + 1, sent)
    s.waitall(sends)


def smp_simple(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchanges on each host and among the hosts' first ranks, which then send to their hosts.

    Exchange on the host; the first ranks exchange hosts' blocks and send all blocks to their host.
    """
    blocks = blocks_of_hosts(s)
    sent, received = scount * ssize, rcount * rsize
    exchange_within_host(s, blocks, sent, received)
    if blocks.core:
        s.recv(blocks.leader, received * s.size)
        return
    distances = [step * blocks.cores for step in range(1, blocks.number)]
    requests = [
        s.irecv((s.rank - distance) % s.size, received * blocks.cores) for distance in distances
    ]
    requests += [
        s.isend((s.rank + distance) % s.size, sent * blocks.cores) for distance in distances
    ]
    s.waitall(requests)
    for core in range(1, blocks.cores):
        s.send(s.rank + core, sent * s.size)


def spreading_simple(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """All messages at once, starting with the next rank.

    Post the receives from all ranks ahead, then the sends in the same order, then wait.
    [Faraj].
    """
    others = [(s.rank + step) % s.size for step in range(1, s.size)]
    requests = [s.irecv(peer, rcount * rsize) for peer in others]
    requests += [s.isend(peer, scount * ssize) for peer in others]
    s.waitall(requests)


def mvapich2_smp(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """A gather on each host, an allgather among the hosts, a broadcast on each host.

    The leaders' allgather is MPICH's, the gather and the broadcast are those configured. MVAPICH2:
    allgather for SMP hosts (D. K. Panda's group, The Ohio State University). Raises an
    `InputError` when hosts have different numbers of ranks, or those of one host are not
    consecutive.
    """
    found = nodes(s)
    if not (found.layout.uniform and found.layout.blocked):
        raise InputError(
            "allgather algorithm mvapich2_smp needs the same number of ranks on every host, with "
            "consecutive numbers: deploy them so, or choose another algorithm"
        )
    if rcount == 0:
        return
    s.chosen("gather")(found.intra, scount, ssize, rcount, rsize, 0)
    if found.leaders is not None and found.leaders.size > 1:
        count = rcount * found.intra.size
        algorithm("allgather", "mpich")(found.leaders, count, rsize, count, rsize)
    s.chosen("bcast")(found.intra, rcount * s.size, rsize, 0)
