"""Ranks arranged as a mesh of two or three dimensions, and the exchange along one of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from tisim.actions.script import Endpoint
from tisim.errors import InputError


def mesh_2d_sides(size: int, user: str) -> tuple[int, int]:
    """Rows and columns of a mesh of `size` ranks, as square as the number allows, rows <= columns.

    Raises
    ------
    InputError
        When `size` has no such divisor (a prime above 3); `user` names who asked.
    """
    if size == 1:
        return 1, 1
    for side in range(isqrt(size), size // 2 + 1):
        if size % side == 0:
            return min(side, size // side), max(side, size // side)
    raise InputError(f"{user} cannot arrange {size} ranks as a mesh: choose another algorithm")


def mesh_3d_sides(size: int, user: str) -> tuple[int, int]:
    """Side and depth of a mesh of ``side * side * depth == size`` ranks.

    Raises
    ------
    InputError
        When there is no such mesh (2 ranks); `user` is the algorithm that asks.
    """
    if size == 1:
        return 1, 1
    for side in range(_integer_cube_root(size), size // 3 + 1):
        if size % (side * side) == 0:
            return side, size // (side * side)
    raise InputError(
        f"{user} cannot arrange {size} ranks as a mesh of three dimensions: "
        "choose another algorithm"
    )


def _integer_cube_root(number: int) -> int:
    root: int = round(number ** (1 / 3))
    return root - 1 if root**3 > number else root


def exchange_along_line(s: Endpoint, line: Sequence[int], nbytes: int) -> None:
    """Exchange `nbytes` with every other rank of `line`: all receives, then blocking sends."""
    peers = [peer for peer in line if peer != s.rank]
    requests = [s.irecv(peer, nbytes) for peer in peers]
    for peer in peers:
        s.send(peer, nbytes)
    s.waitall(requests)


def lines_2d(rank: int, rows: int, columns: int) -> tuple[range, range]:
    """The row and the column of `rank` in a mesh that is numbered row by row."""
    row = rank // columns * columns
    return range(row, row + columns), range(rank % columns, rows * columns, columns)


def lines_3d(rank: int, size: int, side: int) -> tuple[range, range, list[int]]:
    """The row and the column of `rank` in its plane, and the ranks at its place in all planes.

    The last begin with the next plane's and go around.
    """
    plane = side * side
    row = rank // side * side
    base = rank // plane * plane
    column = range(base + rank % side, base + plane, side)
    return range(row, row + side), column, [(rank + i) % size for i in range(plane, size, plane)]
