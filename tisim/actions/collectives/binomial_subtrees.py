"""The in-order binomial tree, with the number of ranks below each child."""

from __future__ import annotations


def binomial_subtrees(rank: int, size: int, root: int) -> tuple[int, list[tuple[int, int]]]:
    """The parent of `rank` and its children, each with the size of its subtree, small ones first.

    Counted from the root, a rank's parent is its number without the lowest bit that is set, and
    the subtree of a rank holds the consecutive ranks that start with it.
    """
    number = (rank - root) % size
    children = []
    reach = 1
    while reach < size and not number & reach:
        if number + reach < size:
            child = number + reach
            children.append(((child + root) % size, min(reach, size - child)))
        reach <<= 1
    return ((number & (number - 1)) + root) % size, children
