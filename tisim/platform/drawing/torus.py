"""Tori, drawn as grids: planes side by side if there are more than two dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tisim.platform.drawing.canvas import Shape, Text
from tisim.platform.drawing.layout import Cable, Item, Layout
from tisim.platform.zones.torus import TorusCluster

# Maximum number of items; beyond, neighbouring hosts are merged into boxes.
_ITEMS = 1200
_FEW_ITEMS = 300
_WIDE, _NARROW = 24.0, 16.0
_LETTERS = "xyzuvw"
_PLANE_GAP = 34.0


def draw_torus(zone: TorusCluster) -> Layout:
    """Draw planes of the first two dimensions, one for each position in the others.

    If there are too many hosts, blocks of neighbours are merged into boxes.
    """
    return _Grid(zone).layout()


class _Grid:
    def __init__(self, zone: TorusCluster) -> None:
        self._zone = zone
        self._blocks = _blocks(zone.sizes)
        self._sizes = tuple(
            math.ceil(size / block) for size, block in zip(zone.sizes, self._blocks, strict=True)
        )
        self._step = _WIDE if math.prod(self._sizes) <= _FEW_ITEMS else _NARROW
        self._plane = self._sizes[0], self._sizes[1] if len(self._sizes) > 1 else 1
        self._planes = math.prod(self._sizes[2:])
        # Planes per row: the size of the third dimension, or as many as give a square.
        shape = (self._plane[0] * self._step + _PLANE_GAP, self._plane[1] * self._step + _PLANE_GAP)
        many = math.ceil(math.sqrt(self._planes * shape[1] / shape[0] * 1.6))
        even = [n for n in range(max(many, 1), 2 * many + 1) if self._planes % n == 0]
        self._in_a_row = self._sizes[2] if len(self._sizes) > 3 else [*even, max(many, 1)][0]
        self._shape = shape

    def layout(self) -> Layout:
        items = [self._item(place) for place in range(math.prod(self._sizes))]
        item_of = np.zeros(self._zone.hosts, dtype=np.int64)
        stride = 1
        for dimension, size in enumerate(self._zone.sizes):
            host_stride = math.prod(self._zone.sizes[:dimension])
            at = np.arange(self._zone.hosts) // host_stride % size // self._blocks[dimension]
            item_of += at * stride
            stride *= self._sizes[dimension]
        return Layout(
            items, item_of, foreground=self._captions(), notes=self._notes(), route=self._cable
        )

    def _coordinates(self, item: int) -> list[int]:
        coordinates = []
        for size in self._sizes:
            item, at = divmod(item, size)
            coordinates.append(at)
        return coordinates

    def _corner(self, plane: int) -> tuple[float, float]:
        row, column = divmod(plane, self._in_a_row)
        return column * self._shape[0] + _PLANE_GAP / 2, row * self._shape[1] + _PLANE_GAP / 2 + 8

    def _item(self, place: int) -> Item:
        inside, plane = place % math.prod(self._plane), place // math.prod(self._plane)
        y, x = divmod(inside, self._plane[0])
        left, top = self._corner(plane)
        side = self._step / 2 if max(self._blocks) > 1 else 0.0
        return Item(left + (x + 0.5) * self._step, top + (y + 0.5) * self._step, side, side)

    def _captions(self) -> list[Shape]:
        if len(self._sizes) < 3:
            return []
        shapes: list[Shape] = []
        for plane in range(self._planes):
            left, top = self._corner(plane)
            where, rest = [], plane
            for dimension in range(2, len(self._sizes)):
                rest, at = divmod(rest, self._sizes[dimension])
                where.append(f"{_letter(dimension)} = {self._places(dimension, at)}")
            shapes.append(Text(left, top - 5, ", ".join(where), 9, colour="#555555"))
        return shapes

    def _places(self, dimension: int, at: int) -> str:
        block, size = self._blocks[dimension], self._zone.sizes[dimension]
        first, last = at * block, min((at + 1) * block, size) - 1
        return f"{first}" if first == last else f"{first} to {last}"

    def _notes(self) -> list[str]:
        notes = ["Strokes that end at the border of a grid are wrap-around cables."]
        if len(self._sizes) > 2:
            letters = ", ".join(_letter(d) for d in range(2, len(self._sizes)))
            notes.append(
                f"A short slanted stroke is a cable to the same place in the next plane: {letters}."
            )
        if max(self._blocks) > 1:
            sizes = zip(self._zone.sizes, self._blocks, strict=True)
            least = "up to " if any(size % block for size, block in sizes) else ""
            notes.append(f"A box is {least}{' x '.join(map(str, self._blocks))} hosts.")
        return notes

    def _cable(self, items: Sequence[Item], one: int, other: int) -> Cable:
        a, b = self._coordinates(one), self._coordinates(other)
        dimension = next(d for d in range(len(a)) if a[d] != b[d])
        first, last = items[one], items[other]
        half = self._step * 0.5
        around = abs(a[dimension] - b[dimension]) > 1
        if dimension > 1:
            start = first if (b[dimension] - a[dimension] == 1) else last
            # The strokes of each dimension have their own direction.
            angle = math.radians(50 - 22 * (dimension - 2))
            end = start.x + 1.1 * half * math.cos(angle), start.y - 1.1 * half * math.sin(angle)
            return Cable((((start.x, start.y), end),))
        if not around:
            return Cable((((first.x, first.y), (last.x, last.y)),))
        dx, dy = (half, 0.0) if dimension == 0 else (0.0, half)
        return Cable(
            (
                ((first.x, first.y), (first.x - dx, first.y - dy)),
                ((last.x, last.y), (last.x + dx, last.y + dy)),
            )
        )


def _letter(dimension: int) -> str:
    return _LETTERS[dimension] if dimension < len(_LETTERS) else f"x{dimension}"


def _blocks(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the number of neighbours merged into one box, in each dimension."""
    blocks = [1] * len(sizes)
    while math.prod(math.ceil(s / b) for s, b in zip(sizes, blocks, strict=True)) > _ITEMS:
        widest = max(range(len(sizes)), key=lambda d: math.ceil(sizes[d] / blocks[d]))
        blocks[widest] += 1
    return tuple(blocks)
