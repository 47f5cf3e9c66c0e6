"""All-to-all of blocks whose sizes may differ."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.halving import demand_power_of_two, is_power_of_two
from tisim.actions.collectives.nonblocking import ialltoallv
from tisim.actions.script import Endpoint

_RANKS_AT_A_TIME = 4


def bruck(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Messages to four ranks at a time.

    Receive from the next four ranks ahead while sending to the next four behind. MPICH:
    throttled linear alltoallv (the name is SimGrid's; no data are forwarded, as they are in the
    algorithm of Bruck et al.).
    """
    rank, size = s.rank, s.size
    for start in range(0, size, _RANKS_AT_A_TIME):
        distances = range(max(start, 1), min(start + _RANKS_AT_A_TIME, size))
        requests = []
        for distance in distances:
            source = (rank + distance) % size
            requests.append(s.irecv(source, rcounts[source] * rsize))
        for distance in distances:
            peer = (rank - distance) % size
            requests.append(s.isend(peer, scounts[peer] * ssize))
        s.waitall(requests)


def pair(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """P - 1 exchanges in pairs.

    In step i exchange with the rank whose number differs by exclusive or with i. [Faraj].
    Raises an `InputError` when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        peer = rank ^ step
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)


def pair_light_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `pair`, each after a message that its partner is ready.

    In step i exchange with the rank whose number differs by exclusive or with i. Before each
    exchange but the first, one byte tells the partner to go on. [Faraj]. Raises an `InputError`
    when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair_light_barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        peer = rank ^ step
        if step > 1:
            sendrecv(peer, 1, 0, peer, 1, 0)
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)


def pair_mpi_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `pair`, each after a barrier.

    In step i exchange with the rank whose number differs by exclusive or with i. Before each
    step, that with itself included, comes the barrier that is chosen. [Faraj]. Raises an
    `InputError` when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair_mpi_barrier")
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    barrier(s)
    for step in range(1, size):
        barrier(s)
        peer = rank ^ step
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)


def pair_one_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `pair`, after one barrier.

    In step i exchange with the rank whose number differs by exclusive or with i. The barrier
    that is chosen makes all ranks start together. [Faraj]. Raises an `InputError` when the
    number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair_one_barrier")
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        peer = rank ^ step
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)


def ring(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """P - 1 exchanges, in pairs where that is possible.

    In step i send to the rank i ahead and receive from the rank i behind. With a power of two
    of ranks it is `pair`. A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective
    Communication Routines. Int. Conf. on Supercomputing, 2005; the choice is MPICH's pairwise
    exchange.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    if is_power_of_two(size):
        pair(s, scounts, ssize, rcounts, rsize)
        return
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)


def ring_light_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `ring`, each after a message that its partner is ready.

    In step i send to the rank i ahead and receive from the rank i behind. Before each exchange
    but the first, one byte tells the sender to go on. [Faraj].
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        if step > 1:
            sendrecv(behind, 1, 0, ahead, 1, 0)
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)


def ring_mpi_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `ring`, each after a barrier.

    In step i send to the rank i ahead and receive from the rank i behind. Before each step,
    that with itself included, comes the barrier that is chosen. [Faraj].
    """
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    barrier(s)
    for step in range(1, size):
        barrier(s)
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)


def ring_one_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """The exchanges of `ring`, after one barrier.

    In step i send to the rank i ahead and receive from the rank i behind. The barrier that is
    chosen makes all ranks start together. [Faraj].
    """
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)


def ompi_basic_linear(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """All messages at once.

    Post all receives, then all sends, in the order of the ranks, and wait. Open MPI,
    ``coll/tuned``: linear alltoallv.
    """
    s.waitall(ialltoallv(s, scounts, ssize, rcounts, rsize))
