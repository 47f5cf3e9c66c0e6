"""Ranks arranged as a mesh of two or three dimensions, and exchanges along its lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from tisim.actions.script import Endpoint
from tisim.errors import InputError


def mesh_2d_sides(size: int, user: str) -> tuple[int, int]:
    """Rows and columns of a mesh of `size` ranks, as square as the number allows, rows <= columns.

    Raises an `InputError` when there is no such mesh (a prime above 3); `user` is the algorithm
    that asks.
    """
    if size == 1:
        return 1, 1
    for side in range(isqrt(size), size // 2 + 1):
        if size % side == 0:
            return min(side, size // side), max(side, size // side)
    raise InputError(f"{user} cannot arrange {size} ranks as a mesh: choose another algorithm")


def mesh_3d_sides(size: int, user: str) -> tuple[int, int]:
    """Side and depth of a mesh of ``side * side * depth == size`` ranks.

    Raises an `InputError` when there is no such mesh (2 ranks); `user` is the algorithm that asks.
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


def along_2d(s: Endpoint, user: str, first: int, block: int) -> None:
    """Exchange `first` bytes along the rows of a mesh, then blocks for whole rows down the columns.

    Raises an `InputError` when the ranks cannot be arranged as a mesh.
    """
    rows, columns = mesh_2d_sides(s.size, user)
    row = s.rank // columns * columns
    _exchange_along(s, range(row, row + columns), first)
    _exchange_along(s, range(s.rank % columns, rows * columns, columns), columns * block)


def along_3d(s: Endpoint, user: str, first: int, block: int) -> None:
    """Exchange along the rows and columns of square planes, then blocks for planes in depth.

    Raises an `InputError` when the ranks cannot be arranged as such a mesh.
    """
    side, _ = mesh_3d_sides(s.size, user)
    plane = side * side
    row = s.rank // side * side
    base = s.rank // plane * plane
    _exchange_along(s, range(row, row + side), first)
    _exchange_along(s, range(base + s.rank % side, base + plane, side), side * first)
    depth = [(s.rank + i) % s.size for i in range(plane, s.size, plane)]
    _exchange_along(s, depth, plane * block)


def _exchange_along(s: Endpoint, line: Sequence[int], nbytes: int) -> None:
    """Exchange `nbytes` with every other rank of `line`: all receives, then blocking sends."""
    peers = [peer for peer in line if peer != s.rank]
    requests = [s.irecv(peer, nbytes) for peer in peers]
    for peer in peers:
        s.send(peer, nbytes)
    s.waitall(requests)
