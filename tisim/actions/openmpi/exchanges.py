"""Operations in which everybody receives: allgather, all-to-all, allreduce, scans."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.openmpi import halving, rooted
from tisim.actions.script import Endpoint


def allgather_bruck(s: Endpoint, blocks: Sequence[int]) -> None:
    """As many blocks as are held go 1, 2, 4... ranks back.

    `ompi_coll_base_allgather_intra_bruck`, `_allgatherv_intra_bruck`; recursive doubling too on
    a number of ranks that is no power of two (`coll_base_allgather.c`).

    Parameters
    ----------
    s
        A rank of the communicator.
    blocks
        Bytes of each rank's block.
    """
    distance = 1
    while distance < s.size:
        number = min(distance, s.size - distance)
        source = (s.rank + distance) % s.size
        sent = sum(blocks[(s.rank + i) % s.size] for i in range(number))
        received = sum(blocks[(source + i) % s.size] for i in range(number))
        s.sendrecv((s.rank - distance) % s.size, sent, 0, source, received, 0)
        distance *= 2


def allgather_doubling(s: Endpoint, block: int) -> None:
    """Recursive doubling (`ompi_coll_base_allgather_intra_recursivedoubling`)."""
    if s.size & (s.size - 1):
        allgather_bruck(s, [block] * s.size)
        return
    distance = 1
    while distance < s.size:
        peer = s.rank ^ distance
        s.sendrecv(peer, distance * block, 0, peer, distance * block, 0)
        distance *= 2


def allgather_ring(s: Endpoint, blocks: Sequence[int]) -> None:
    """Blocks travel around a ring (`..._allgather_intra_ring`, `_allgatherv_intra_ring`)."""
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    for step in range(s.size - 1):
        sent = blocks[(s.rank - step) % s.size]
        s.sendrecv(right, sent, 0, left, blocks[(left - step) % s.size], 0)


def allgather_neighbours(s: Endpoint, blocks: Sequence[int]) -> None:
    """Exchanges with the two neighbours in turn; a ring on an odd number of ranks.

    `ompi_coll_base_allgather_intra_neighborexchange`, `_allgatherv_intra_neighborexchange`.
    """
    if s.size % 2:
        allgather_ring(s, blocks)
        return
    sign = 1 if s.rank % 2 == 0 else -1
    peers = [(s.rank + sign) % s.size, (s.rank - sign) % s.size]
    s.sendrecv(peers[0], blocks[s.rank], 0, peers[0], blocks[peers[0]], 0)
    first = s.rank - s.rank % 2  # the pair of blocks that is sent next
    incoming = [first, first]
    for step in range(1, s.size // 2):
        turn = step % 2
        incoming[turn] = (incoming[turn] + (2 * sign if turn == 0 else -2 * sign)) % s.size
        sent = blocks[first] + blocks[first + 1]
        received = blocks[incoming[turn]] + blocks[incoming[turn] + 1]
        s.sendrecv(peers[turn], sent, 0, peers[turn], received, 0)
        first = incoming[turn]


def exchange_of_two(s: Endpoint, sent: int, received: int) -> None:
    """Between two ranks (`..._allgather_intra_two_procs`, `_alltoall_intra_two_procs`)."""
    s.sendrecv(1 - s.rank, sent, 0, 1 - s.rank, received, 0)


def alltoall_linear(s: Endpoint, sent: int, received: int) -> None:
    """All messages at once, the sends in reverse order.

    `ompi_coll_base_alltoall_intra_basic_linear`, and `_linear_sync` whose number of requests is
    not limited (`coll_tuned_alltoall_max_requests` is 0).
    """
    others = [(s.rank + step) % s.size for step in range(1, s.size)]
    requests = s.irecvs(others, [received] * len(others))
    requests += s.isends(others[::-1], [sent] * len(others))
    s.waitall(requests)


def alltoall_pairwise(s: Endpoint, sent: int, received: int) -> None:
    """Exchanges at growing distance (`ompi_coll_base_alltoall_intra_pairwise`)."""
    for step in range(1, s.size):
        s.sendrecv((s.rank + step) % s.size, sent, 0, (s.rank - step) % s.size, received, 0)


def alltoall_bruck(s: Endpoint, block: int) -> None:
    """Blocks go 1, 2, 4... ranks on, as their distances say (`..._alltoall_intra_bruck`)."""
    distance = 1
    while distance < s.size:
        nbytes = block * sum(1 for i in range(1, s.size) if i & distance)
        s.sendrecv((s.rank + distance) % s.size, nbytes, 0, (s.rank - distance) % s.size, nbytes, 0)
        distance *= 2


def alltoallv_linear(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """All messages at once, by rank (`ompi_coll_base_alltoallv_intra_basic_linear`).

    Parameters
    ----------
    s
        A rank of the communicator.
    sent, received
        Bytes to and from each rank.
    empty
        Whether empty messages are sent too, as before Open MPI 5.
    """
    sources = [r for r in range(s.size) if r != s.rank and (empty or received[r] > 0)]
    targets = [r for r in range(s.size) if r != s.rank and (empty or sent[r] > 0)]
    requests = s.irecvs(sources, [received[r] for r in sources])
    requests += s.isends(targets, [sent[r] for r in targets])
    s.waitall(requests)


def alltoallv_pairwise(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """Exchanges at growing distance (`ompi_coll_base_alltoallv_intra_pairwise`)."""
    for step in range(1, s.size):
        target, source = (s.rank + step) % s.size, (s.rank - step) % s.size
        request = s.irecv(source, received[source]) if empty or received[source] > 0 else None
        if empty or sent[target] > 0:
            s.send(target, sent[target])
        if request is not None:
            s.wait(request)


def allreduce_doubling(s: Endpoint, nbytes: int) -> None:
    """Recursive doubling (`ompi_coll_base_allreduce_intra_recursivedoubling`)."""
    number = 1 << (s.size.bit_length() - 1)
    extra = s.size - number
    joined = s.rank < 2 * extra
    if joined and s.rank % 2 == 0:
        s.send(s.rank + 1, nbytes)
        s.recv(s.rank + 1, nbytes)
        return
    if joined:
        s.recv(s.rank - 1, nbytes)
    place = s.rank // 2 if joined else s.rank - extra
    distance = 1
    while distance < number:
        other = place ^ distance
        peer = 2 * other + 1 if other < extra else other + extra
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        distance *= 2
    if joined:
        s.send(s.rank - 1, nbytes)


def allreduce_ring(s: Endpoint, count: int, size: int) -> None:
    """A reduce-scatter and an allgather around a ring.

    `ompi_coll_base_allreduce_intra_ring`; `_ring_segmented` is the same without a segment size.
    """
    if count < s.size:
        allreduce_doubling(s, count * size)
        return
    short, longer = divmod(count, s.size)
    blocks = [(short + (rank < longer)) * size for rank in range(s.size)]
    most = blocks[0]
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    request = s.irecv(left, most)
    s.send(right, blocks[s.rank])
    for step in range(2, s.size):
        following = s.irecv(left, most)
        s.wait(request)
        s.send(right, blocks[(s.rank - step + 1) % s.size])
        request = following
    s.wait(request)
    for step in range(s.size - 1):
        s.sendrecv(right, blocks[(s.rank + 1 - step) % s.size], 0, left, most, 0)


def allreduce_halving(s: Endpoint, count: int, size: int) -> None:
    """Rabenseifner's, or linear where the vector is too short to halve."""
    if count < 1 << (s.size.bit_length() - 1):
        rooted.reduce_linear(s, count * size, 0)
        rooted.bcast_linear(s, count * size, 0)
        return
    halving.allgather(s, halving.reduce_scatter(s, count, size), count, size)


def scan_linear(s: Endpoint, nbytes: int) -> None:
    """From rank to rank (`ompi_coll_base_scan_intra_linear`, `_exscan_intra_linear`)."""
    if s.rank > 0:
        s.recv(s.rank - 1, nbytes)
    if s.rank < s.size - 1:
        s.send(s.rank + 1, nbytes)
