"""The numbers of a cluster's hosts, as its ``radical`` lists them: ``0-9,12,20-30``."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator

# The core numbers hosts and links, several a host, with 32 bits.
_MOST_NUMBERS = 2**28

_GROUP = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


class Radical:
    """An ordered set of numbers, kept as ranges.

    Parameters
    ----------
    text
        Numbers and ranges, separated by commas.

    Raises
    ------
    ValueError
        If the text is malformed, a range is empty or a number comes twice.
    """

    def __init__(self, text: str) -> None:
        self._ranges: list[range] = []
        self._starts: list[int] = []
        count = 0
        for group in text.split(","):
            match = _GROUP.fullmatch(group)
            if match is None:
                raise ValueError(f"{group.strip()!r} is neither a number nor a range such as 0-9")
            first = int(match.group(1))
            last = first if match.group(2) is None else int(match.group(2))
            if last < first:
                raise ValueError(f"the range {first}-{last} is empty")
            self._starts.append(count)
            self._ranges.append(range(first, last + 1))
            count += last + 1 - first
            if count > _MOST_NUMBERS:
                raise ValueError(f"there are more than {_MOST_NUMBERS} numbers")
        self._count = count
        pairs = zip(self._ranges, self._starts, strict=True)
        self._sorted = sorted(pairs, key=lambda pair: pair[0].start)
        for (before, _), (after, _) in itertools.pairwise(self._sorted):
            if after.start < before.stop:
                raise ValueError(f"the number {after.start} comes twice")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> int:
        group = bisect_right(self._starts, position) - 1
        return self._ranges[group][position - self._starts[group]]

    def __iter__(self) -> Iterator[int]:
        for numbers in self._ranges:
            yield from numbers

    @property
    def ranges(self) -> tuple[range, ...]:
        """The numbers as ranges, in the order in which they are written."""
        return tuple(self._ranges)

    def find(self, number: int) -> int | None:
        """The position of a number, or None."""
        at = bisect_right(self._sorted, number, key=lambda pair: pair[0].start) - 1
        if at < 0 or number not in self._sorted[at][0]:
            return None
        numbers, start = self._sorted[at]
        return start + number - numbers.start

    def head(self, count: int) -> Radical:
        """The first `count` numbers."""
        parts, left = [], count
        for numbers in self._ranges:
            taken = numbers[:left]
            left -= len(taken)
            if len(taken):
                parts.append(f"{taken.start}-{taken.stop - 1}")
        return Radical(",".join(parts))
