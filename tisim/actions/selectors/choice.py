"""The decision of a selector, and the look-up of thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tisim.actions.script import Endpoint

#: The bound of the last row of a table: it holds for everything above the row before it.
REST = math.inf

#: A bound and a name.
Entry = tuple[float, str]
#: A bound, a name, and whether the algorithm works in two levels, on hosts and among them.
TwoLevelEntry = tuple[float, str, bool]
#: For each bound on the ranks the entries by size.
Table = tuple[tuple[float, tuple[Entry, ...]], ...]
TwoLevelTable = tuple[tuple[float, tuple[TwoLevelEntry, ...]], ...]
#: The same with algorithms' numbers in place of their names.
NumberedTable = tuple[tuple[float, tuple[tuple[float, int], ...]], ...]

# Algorithms of SimGrid that end with an error when the number of ranks is not a power of two, and
# the algorithms that MPI libraries use then.
_ANY_RANKS = {"pair": "ring", "rab1": "rab_rdb"}

Row = TypeVar("Row", bound=tuple[float, *tuple[object, ...]])


@dataclass(frozen=True)
class Choice:
    """An algorithm, by its name, and the keyword arguments that it is called with."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def call(self, operation: str, s: Endpoint, *arguments: object) -> None:
        """Write this choice for `operation` into the schedule of `s`."""
        from tisim.actions.collectives.catalogue import algorithm

        algorithm(operation, self.name)(s, *arguments, **self.parameters)


def able(name: str, ranks: int) -> str:
    """Return `name`, or what stands in for it on `ranks` ranks."""
    return name if ranks & (ranks - 1) == 0 else _ANY_RANKS.get(name, name)


def by_size(table: Table, ranks: int, nbytes: float) -> Choice:
    """Return the choice of a table whose bounds exclude the values themselves."""
    return Choice(able(below(below(table, ranks)[1], nbytes)[1], ranks))


def up_to(rows: Iterable[Row], value: float) -> Row:
    """Return the first row whose bound, its first element, is at least `value`."""
    return next(row for row in rows if value <= row[0])


def below(rows: Iterable[Row], value: float) -> Row:
    """Return the first row whose bound, its first element, is greater than `value`."""
    return next(row for row in rows if value < row[0])
