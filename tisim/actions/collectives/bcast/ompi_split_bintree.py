"""Broadcast of two halves down the two subtrees of a binary tree, then an exchange in pairs."""

from __future__ import annotations

from tisim.actions.collectives.bcast.smp_linear import smp_linear
from tisim.actions.collectives.topology import binary_tree, cut
from tisim.actions.script import Endpoint

_LONG_MESSAGE = 370728
_SHORT_SEGMENT, _LONG_SEGMENT = 1 << 10, 8 << 10


def ompi_split_bintree(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send the first half to the left subtree and the second to the right one, then swap them.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    The "split binary" of Open MPI's `coll/tuned`: J. Pjesivac-Grbovic et al., "Performance
    analysis of MPI collective operations", Cluster Computing 10 (2007). A message that is too
    short to be cut goes to `SMP_linear`, as in SimGrid.
    """
    if s.size == 1:
        return
    short = count * size < _LONG_MESSAGE
    segment_bytes = max(_SHORT_SEGMENT if short else _LONG_SEGMENT, size)
    halves = (count - count // 2, count // 2)
    if halves[1] == 0 or segment_bytes > halves[1] * size:
        smp_linear(s, count, size, root)
        return
    segment = segment_bytes // size
    pieces = [[elements * size for elements in cut(half, segment)] for half in halves]
    side = ((s.rank - root) % s.size + 1) % 2  # 0: the left subtree; the root counts as right
    _down(s, root, pieces, side)
    _swap(s, root, (halves[0] * size, halves[1] * size), side)


def _down(s: Endpoint, root: int, pieces: list[list[int]], side: int) -> None:
    """Each half goes down its subtree segment by segment."""
    place = binary_tree(s.rank, s.size, root)
    if place.parent is None:
        for i in range(len(pieces[0])):
            for child, half in zip(place.children, pieces, strict=False):
                if i < len(half):
                    s.send(child, half[i])
        return
    mine = pieces[side]
    if not place.children:
        for nbytes in mine:
            s.recv(place.parent, nbytes)
        return
    receive = s.irecv(place.parent, mine[0])
    for i, nbytes in enumerate(mine):
        following = s.irecv(place.parent, mine[i + 1]) if i + 1 < len(mine) else -1
        s.wait(receive)
        for child in place.children:
            s.send(child, nbytes)
        receive = following


def _swap(s: Endpoint, root: int, halves: tuple[int, int], side: int) -> None:
    """Each rank swaps halves with its like in the other subtree, the last perhaps with the root."""
    last = (root - 1) % s.size
    if s.size % 2 == 0 and s.rank == root:
        s.send(last, halves[1])
    elif s.size % 2 == 0 and s.rank == last:
        s.recv(root, halves[1])
    elif s.rank != root:
        pair = (s.rank + (-1 if side else 1)) % s.size
        s.sendrecv(pair, halves[side], 0, pair, halves[1 - side], 0)
