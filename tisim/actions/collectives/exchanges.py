"""Exchanges between all pairs of ranks, step by step or in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.collectives.halving import require_power_of_two
from tisim.actions.script import Endpoint

_BATCH = 4  # ranks served at once


# Paces of exchanges; without one, they follow each other directly: see `exchange_shifted`.
_PACES = {
    "light_barrier": "each after a message that the receiver is ready",
    "mpi_barrier": "each after a barrier",
    "one_barrier": "after one barrier",
}


def paced_variants(name: str, exchanges: Algorithm) -> list[Algorithm]:
    """Return the algorithm `name` at each pace of `_PACES`; `exchanges` takes the pace last."""

    def at_pace(pace: str, when: str) -> Algorithm:
        def write(s: Endpoint, *arguments: object) -> None:
            exchanges(s, *arguments, pace)

        write.__doc__ = f"The exchanges of `{name}`, {when}."
        return write

    return [at_pace(pace, when) for pace, when in _PACES.items()]


def exchange_pairwise(
    s: Endpoint, operation: str, sent: Sequence[int], received: Sequence[int], pace: str = ""
) -> None:
    """P - 1 exchanges: in step i with the rank whose number is ``rank XOR i`` [Faraj].

    `sent` and `received` are bytes per rank; `pace` as in `exchange_shifted`. Raises an
    `InputError` that names the algorithm of `operation` when the number of ranks is not a power of
    two.
    """
    require_power_of_two(s.size, f"{operation} algorithm {'_'.join(filter(None, ('pair', pace)))}")
    rank = s.rank
    _exchange_in_steps(
        s, ((rank ^ step, rank ^ step) for step in range(1, s.size)), sent, received, pace
    )


def exchange_shifted(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], pace: str = ""
) -> None:
    """P - 1 exchanges: in step i to the rank i ahead and from the rank i behind [Faraj].

    With the pace ``light_barrier``, one byte tells the sender to proceed before each exchange but
    the first. With ``one_barrier``, the configured barrier makes all ranks start together; with
    ``mpi_barrier``, it also precedes each step.
    """
    rank, size = s.rank, s.size
    peers = (((rank + step) % size, (rank - step) % size) for step in range(1, size))
    _exchange_in_steps(s, peers, sent, received, pace)


def _exchange_in_steps(
    s: Endpoint,
    peers: Iterator[tuple[int, int]],
    sent: Sequence[int],
    received: Sequence[int],
    pace: str,
) -> None:
    sendrecv = s.sendrecv
    barrier = s.chosen("barrier") if pace in ("one_barrier", "mpi_barrier") else None
    if barrier is not None:
        barrier(s)
    for step, (target, source) in enumerate(peers):
        if barrier is not None and pace == "mpi_barrier":
            barrier(s)
        elif pace == "light_barrier" and step:
            sendrecv(source, 1, 0, target, 1, 0)
        sendrecv(target, sent[target], 0, source, received[source], 0)


def exchange_throttled(
    s: Endpoint,
    sent: Sequence[int],
    received: Sequence[int],
    batch: int = _BATCH,
    *,
    own: bool,
    empty: bool = True,
) -> None:
    """Receive from `batch` ranks ahead while sending to as many behind, until all are served.

    MPICH's throttled linear ("scattered destination") exchange. `own`: include this rank itself;
    `empty`: send empty messages too.
    """
    for start in range(0, s.size, batch):
        distances = range(start if own else max(start, 1), min(start + batch, s.size))
        sources = [(s.rank + distance) % s.size for distance in distances]
        targets = [(s.rank - distance) % s.size for distance in distances]
        if not empty:
            sources = [source for source in sources if received[source] > 0]
            targets = [target for target in targets if sent[target] > 0]
        requests = [s.irecv(source, received[source]) for source in sources]
        requests += [s.isend(target, sent[target]) for target in targets]
        s.waitall(requests)
