"""Recursive doubling: all ranks exchange one vector in log2 P steps."""

from __future__ import annotations

from tisim.actions.collectives.reduce_scatter.folding import fold
from tisim.actions.script import Endpoint


def exchange_all(s: Endpoint, nbytes: int, place: int, number: int, stride: int = 1) -> None:
    """Exchange a vector with places at distance 1, 2, 4...

    Beyond a power of two, the even place of each of the first pairs hands its vector to the odd
    one and gets the result back from it.

    Parameters
    ----------
    s
        This rank.
    nbytes
        The size of the vector.
    place, number
        This rank's place among those that take part, and how many they are.
    stride
        The rank at place p is ``stride * p``.
    """
    folding = fold(number)
    worker = folding.worker(place)
    if worker is None:
        s.send((place + 1) * stride, nbytes)
        s.recv((place + 1) * stride, nbytes)
        return
    if worker < folding.pairs:
        s.recv((place - 1) * stride, nbytes)
    mask = 1
    while mask < folding.workers:
        peer = folding.rank(worker ^ mask) * stride
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        mask <<= 1
    if worker < folding.pairs:
        s.send((place - 1) * stride, nbytes)
