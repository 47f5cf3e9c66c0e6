"""Trees of ranks that several algorithms share, and the broadcast and reduction along one.

Most trees are those of Open MPI's `coll_base_topo.c`, which SimGrid's Open MPI algorithms use
[Pjesivac]. Each function returns one rank's place in a tree, in time proportional at most to the
logarithm of the number of ranks or to the number of the rank's children.
"""

from __future__ import annotations

from typing import NamedTuple

from tisim.actions.script import Endpoint

_MAX_FANOUT = 32


class Place(NamedTuple):
    """One rank's place in a tree.

    `parent` is the rank above; None for the root. `children` are the ranks below, in the order in
    which the algorithms serve them.
    """

    parent: int | None
    children: tuple[int, ...]


def binary_tree(rank: int, size: int, root: int) -> Place:
    """Binary tree filled level by level, each level's ranks dealt out in turn.

    With 7 ranks and root 0: 1 and 2 below 0, 3 and 5 below 1, 4 and 6 below 2.
    """
    place = (rank - root) % size
    level = (place + 1).bit_length() - 1
    width = 1 << level
    children = tuple(
        (child + root) % size for child in (place + width, place + 2 * width) if child < size
    )
    if place == 0:
        return Place(None, children)
    # The level above has the places from width / 2 - 1 to width - 2.
    above = width >> 1
    parent = above - 1 + (place - (width - 1)) % above
    return Place((parent + root) % size, children)


def in_order_binary_tree(rank: int, size: int) -> Place:
    """Binary tree rooted at the last rank whose reduction keeps the order of the ranks.

    The children of an interval's last rank are the rank before it, which heads the upper half of
    the rest, and the last rank of the lower half.
    """
    low, high = 0, size  # the interval whose last rank heads it
    parent: int | None = None
    while True:
        head = high - 1
        middle = low + (high - low) // 2
        if rank == head:
            below = (head - 1, middle - 1)
            return Place(parent, below[: min(high - low - 1, 2)])
        parent = head
        if rank >= middle:
            low, high = middle, head
        else:
            high = middle


def binomial_tree(rank: int, size: int, root: int) -> Place:
    """Binomial tree whose children differ from a rank in one bit above its highest set bit.

    With 8 ranks and root 0: 1, 2 and 4 below 0, 3 and 5 below 1, 6 below 2, 7 below 3.
    """
    place = (rank - root) % size
    bit = 1 << place.bit_length()
    parent = None if place == 0 else ((place ^ (bit >> 1)) + root) % size
    children: list[int] = []
    while place + bit < size:
        children.append((place + bit + root) % size)
        bit <<= 1
    return Place(parent, tuple(children))


def in_order_binomial_tree(rank: int, size: int, root: int) -> Place:
    """Binomial tree whose subtrees are intervals of ranks.

    With 8 ranks and root 0: 1, 2 and 4 below 0, 3 below 2, 5 and 6 below 4, 7 below 6.
    """
    place = (rank - root) % size
    children: list[int] = []
    bit = 1
    while bit < size:
        if place & bit:
            return Place(((place ^ bit) + root) % size, tuple(children))
        if place + bit < size:
            children.append((place + bit + root) % size)
        bit <<= 1
    return Place(None, tuple(children))


def chains(rank: int, size: int, root: int, fanout: int) -> Place:
    """`fanout` chains of ranks below the root, the first ones longer by one if necessary."""
    fanout = min(max(fanout, 1), _MAX_FANOUT, size - 1)
    place = (rank - root) % size
    if fanout < 1:
        return Place(None, ())
    short, longer = divmod(size - 1, fanout)
    if place == 0:
        heads = (1 + i * short + min(i, longer) for i in range(fanout))
        return Place(None, tuple((head + root) % size for head in heads))
    split = longer * (short + 1)  # places up to here are in the longer chains
    if place <= split:
        step, length = (place - 1) % (short + 1), short + 1
    else:
        step, length = (place - 1 - split) % short, short
    parent = (rank - 1) % size if step else root
    return Place(parent, ((rank + 1) % size,) if step < length - 1 else ())


def knomial_tree(
    rank: int, size: int, root: int, factor: int
) -> tuple[int | None, list[list[int]]]:
    """Tree in which a rank has up to `factor` - 1 children on each level below its own.

    Returns the parent (None for the root) and the children level by level, largest subtrees first.
    """
    place = (rank - root) % size
    reach = 1
    parent = None
    while reach < size:
        above = place % (factor * reach)
        if above:
            parent = (place - above + root) % size
            break
        reach *= factor
    levels = []
    while reach > 1:
        reach //= factor
        below = range(place + reach, min(place + factor * reach, size), reach)
        levels.append([(child + root) % size for child in below])
    return parent, levels


def bcast_down(
    s: Endpoint, nbytes: int, place: int, number: int, base: int = 0, stride: int = 1
) -> None:
    """Receive from the parent in the tree, then send to the children, largest subtrees first.

    `nbytes` is the size of the message. `place` is this rank's place in the tree, 0 for its root.
    `number` is the number of ranks in the tree. The rank at place p is ``base + stride * p``,
    modulo the size of the communicator.
    """
    parent, children = in_order_binomial_tree(place, number, 0)
    if parent is not None:
        s.recv((base + stride * parent) % s.size, nbytes)
    for child in reversed(children):
        s.send((base + stride * child) % s.size, nbytes)


def reduce_up(
    s: Endpoint, nbytes: int, place: int, number: int, base: int = 0, stride: int = 1
) -> None:
    """Receive from the children in the tree, nearest first, then send to the parent.

    The parameters are those of `bcast_down`.
    """
    parent, children = in_order_binomial_tree(place, number, 0)
    for child in children:
        s.recv((base + stride * child) % s.size, nbytes)
        s.combine(nbytes)
    if parent is not None:
        s.send((base + stride * parent) % s.size, nbytes)
