"""The hosts of a platform: listed one by one, or numbered by a cluster.

Numbered hosts have neither objects nor stored names; both are created on access.
"""

from __future__ import annotations

import itertools
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point, Zone

# The core numbers hosts and links (several per host) with 32 bits.
_MAX_NUMBERS = 2**28

_GROUP = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


class Radical:
    """An ordered set of numbers, stored as ranges.

    `text`: numbers and ranges, separated by commas. Raises a `ValueError` if the text is malformed,
    a range is empty or a number is duplicated.
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
            if count > _MAX_NUMBERS:
                raise ValueError(f"more than {_MAX_NUMBERS} numbers")
        self._count = count
        pairs = zip(self._ranges, self._starts, strict=True)
        self._sorted = sorted(pairs, key=lambda pair: pair[0].start)
        for (before, _), (after, _) in itertools.pairwise(self._sorted):
            if after.start < before.stop:
                raise ValueError(f"the number {after.start} occurs twice")

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
        """Return the position of a number, or None."""
        at = bisect_right(self._sorted, number, key=lambda pair: pair[0].start) - 1
        if at < 0 or number not in self._sorted[at][0]:
            return None
        numbers, start = self._sorted[at]
        return start + number - numbers.start

    def head(self, count: int) -> Radical:
        """Return the first `count` numbers."""
        parts, left = [], count
        for numbers in self._ranges:
            taken = numbers[:left]
            left -= len(taken)
            if len(taken):
                parts.append(f"{taken.start}-{taken.stop - 1}")
        return Radical(",".join(parts))


_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Host:
    """One host of a platform.

    Attributes
    ----------
    name
        The host's name.
    speed
        Speed of one core, in flop/s.
    cores
        Number of cores.
    zone
        Name of the zone that contains the host.
    properties
        The ``<prop>`` elements of the host.
    index
        Position in ``platform.hosts`` and in the arrays of the compiled platform.
    """

    name: str
    speed: float
    cores: int
    zone: str
    properties: Mapping[str, str]
    index: int


@dataclass(slots=True)
class ListedHosts:
    """Hosts declared one by one, with consecutive indices."""

    names: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    property_list: list[Mapping[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def name(self, position: int) -> str:
        return self.names[position]

    def all_names(self) -> Iterable[str]:
        return self.names

    def point(self, position: int) -> Point:
        return self.points[position]

    def properties(self, position: int) -> Mapping[str, str]:
        return self.property_list[position]


@dataclass(frozen=True, slots=True)
class NumberedHosts:
    """The hosts of one cluster: identical except for the number in their names."""

    zone: Zone
    prefix: str
    radical: Radical
    suffix: str
    shared_properties: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.radical)

    def name(self, position: int) -> str:
        return f"{self.prefix}{self.radical[position]}{self.suffix}"

    def all_names(self) -> Iterable[str]:
        return (f"{self.prefix}{number}{self.suffix}" for number in self.radical)

    def point(self, position: int) -> Point:
        return self.zone, position

    def properties(self, position: int) -> Mapping[str, str]:
        return self.shared_properties


class HostTable:
    """All hosts of a platform, by index and by name."""

    def __init__(self) -> None:
        self._blocks: list[ListedHosts | NumberedHosts] = []
        self._starts: list[int] = []
        #: Per host: speed of a core in flop/s, and number of cores.
        self.speeds = array("d")
        self.cores = array("i")
        self._listed: dict[str, int] = {}
        # (prefix, suffix) -> blocks with these names, with their first index
        self._numbered: dict[tuple[str, str], list[tuple[NumberedHosts, int]]] = {}
        self._most_digits = 1  # maximum number of digits in the name of a numbered host

    def __len__(self) -> int:
        return len(self.speeds)

    def add_listed(
        self, name: str, point: Point, speed: float, cores: int, properties: Mapping[str, str]
    ) -> int:
        """Add one host (whose name is new) and return its index."""
        block = self._blocks[-1] if self._blocks else None
        if not isinstance(block, ListedHosts):
            block = ListedHosts()
            self._push(block)
        block.names.append(name)
        block.points.append(point)
        block.property_list.append(properties)
        index = self._listed[name] = len(self)
        self.speeds.append(speed)
        self.cores.append(cores)
        return index

    def add_numbered(self, block: NumberedHosts, speed: float, cores: int) -> int:
        """Add the hosts of a cluster and return the index of the first."""
        first = len(self)
        self._push(block)
        self.speeds += array("d", [speed]) * len(block)
        self.cores += array("i", [cores]) * len(block)
        self._numbered.setdefault((block.prefix, block.suffix), []).append((block, first))
        highest = max(numbers.stop for numbers in block.radical.ranges) - 1
        self._most_digits = max(self._most_digits, len(str(highest)))
        return first

    def _push(self, block: ListedHosts | NumberedHosts) -> None:
        self._blocks.append(block)
        self._starts.append(len(self))

    def find(self, name: str) -> int | None:
        """Return the index of the host with that name, or None."""
        index = self._listed.get(name)
        if index is None and self._numbered:
            index = self._find_numbered(name)
        return index

    def _find_numbered(self, name: str) -> int | None:
        for digits in _DIGITS.finditer(name):
            first, last = digits.span()
            for start in range(first, last):
                longest = 1 if name[start] == "0" else self._most_digits
                for stop in range(start + 1, min(start + longest, last) + 1):
                    for block, offset in self._numbered.get((name[:start], name[stop:]), ()):
                        position = block.radical.find(int(name[start:stop]))
                        if position is not None:
                            return offset + position
        return None

    def duplicate(self) -> str | None:
        """Return a name of two hosts, or None; listed hosts are not compared with one another."""
        for name in self._listed:
            if self._numbered and self._find_numbered(name) is not None:
                return name
        alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for (prefix, suffix), blocks in self._numbered.items():
            number = _overlap([block.radical for block, _ in blocks])
            if number is not None:
                return f"{prefix}{number}{suffix}"
            stem = prefix.rstrip("0123456789"), suffix.lstrip("0123456789")
            alike.setdefault(stem, []).append((prefix, suffix))
        for keys in alike.values():
            if len(keys) > 1:
                names: set[str] = set()
                for key in keys:
                    for block, _ in self._numbered[key]:
                        for position in range(len(block)):
                            name = block.name(position)
                            if name in names:
                                return name
                            names.add(name)
        return None

    def _locate(self, index: int) -> tuple[ListedHosts | NumberedHosts, int]:
        at = bisect_right(self._starts, index) - 1
        return self._blocks[at], index - self._starts[at]

    def name(self, index: int) -> str:
        block, position = self._locate(index)
        return block.name(position)

    def names(self) -> Iterator[str]:
        """Yield all names, in the order of the hosts."""
        return itertools.chain.from_iterable(block.all_names() for block in self._blocks)

    def point(self, index: int) -> Point:
        """Return the position of a host: its zone and its number in the zone."""
        block, position = self._locate(index)
        return block.point(position)

    def properties(self, index: int) -> Mapping[str, str]:
        block, position = self._locate(index)
        return block.properties(position)

    def property_runs(self) -> Iterator[tuple[int, int, Mapping[str, str]]]:
        """Yield runs of hosts that share their properties: first index, count, properties."""
        for first, block in self.blocks():
            if isinstance(block, NumberedHosts):
                yield first, len(block), block.shared_properties
            else:
                for position in range(len(block)):
                    yield first + position, 1, block.properties(position)

    def blocks(self) -> list[tuple[int, ListedHosts | NumberedHosts]]:
        """Return the blocks, each with the index of its first host."""
        return list(zip(self._starts, self._blocks, strict=True))


def _overlap(radicals: list[Radical]) -> int | None:
    """Return a number contained in two of the radicals, or None."""
    ranges = sorted((r for radical in radicals for r in radical.ranges), key=lambda r: r.start)
    for before, after in itertools.pairwise(ranges):
        if after.start < before.stop:
            return after.start
    return None
