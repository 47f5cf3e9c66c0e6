"""Broadcast and reduction along a binomial tree of equally spaced ranks."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def bcast_down(
    s: Endpoint, nbytes: int, place: int, number: int, base: int = 0, stride: int = 1
) -> None:
    """Receive from the tree's parent, then send to its children, those with most below first.

    Parameters
    ----------
    s
        This rank.
    nbytes
        The size of the message.
    place
        This rank's place in the tree, 0 for its root.
    number
        How many ranks are in the tree.
    base, stride
        The rank at place p is ``base + stride * p``, counted around the communicator.
    """
    mask = 1
    while mask < number:
        if place & mask:
            s.recv((base + stride * (place - mask)) % s.size, nbytes)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if place + mask < number:
            s.send((base + stride * (place + mask)) % s.size, nbytes)
        mask >>= 1


def reduce_up(
    s: Endpoint, nbytes: int, place: int, number: int, base: int = 0, stride: int = 1
) -> None:
    """Receive from the tree's children, the nearest first, then send to its parent.

    The parameters are those of `bcast_down`.
    """
    mask = 1
    while mask < number:
        if place & mask:
            s.send((base + stride * (place - mask)) % s.size, nbytes)
            return
        if place + mask < number:
            s.recv((base + stride * (place + mask)) % s.size, nbytes)
        mask <<= 1
