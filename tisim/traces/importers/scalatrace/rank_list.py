"""Lists of ranks as ScalaTrace writes them."""

from __future__ import annotations


class RankList:
    """A few regular sections of the ranks.

    ``2 -1 0 2 1 -1 3 1 0`` has two sections of one dimension: 2 ranks from 0 on with a stride of 1,
    and one rank, 3. ``1 -2 5 2 4 2 1`` has one of two dimensions: 5, 6, 9 and 10.

    Parameters
    ----------
    text
        The list.

    Raises
    ------
    ValueError
        If it is none.
    """

    def __init__(self, text: str) -> None:
        numbers = [int(word) for word in text.split()]
        sections, place = numbers[0], 1
        self._sections: list[tuple[int, list[tuple[int, int]]]] = []
        for _ in range(sections):
            dimensions, start = -numbers[place], numbers[place + 1]
            ends = place + 2 + 2 * dimensions
            rest = numbers[place + 2 : ends]
            if dimensions < 1 or start < 0 or len(rest) != 2 * dimensions or min(rest) < 0:
                raise ValueError(text)
            pairs = list(zip(rest[::2], rest[1::2], strict=True))
            if any(count < 1 or (count > 1 and not stride) for count, stride in pairs):
                raise ValueError(text)
            self._sections.append((start, pairs))
            place = ends
        if place != len(numbers) or not sections:
            raise ValueError(text)

    def __contains__(self, rank: object) -> bool:
        """Whether a rank is in the list."""
        return isinstance(rank, int) and any(
            _is_in(rank - start, pairs) for start, pairs in self._sections
        )

    def largest(self) -> int:
        """The last rank."""
        return max(
            start + sum((count - 1) * stride for count, stride in pairs)
            for start, pairs in self._sections
        )


def _is_in(distance: int, pairs: list[tuple[int, int]]) -> bool:
    if not pairs:
        return distance == 0
    count, stride = pairs[0]
    if len(pairs) == 1:
        if count == 1:
            return distance == 0
        return distance % stride == 0 and 0 <= distance // stride < count
    return any(_is_in(distance - i * stride, pairs[1:]) for i in range(count))
