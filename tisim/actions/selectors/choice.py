"""A selector's view of a call, its decision, and the lookup of thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from tisim.actions.nodes import is_placement_exchanged, layout, nodes
from tisim.actions.script import Endpoint

# Algorithms that SimGrid rejects when the number of ranks is not a power of two, and the algorithms
# that MPI libraries use instead.
_ANY_RANKS = {"pair": "ring", "rab1": "rab_rdb"}

#: An argument of a collective: a number, or a count for each rank.
Argument = int | Sequence[int]
#: A bound in bytes and the name of an algorithm.
Entry = tuple[float, str]
Bounded = TypeVar("Bounded", bound=tuple[float, *tuple[object, ...]])


class Row(NamedTuple):
    """A row of a table: a bound on the ranks, the algorithms by size, and those on a host."""

    ranks: float
    sizes: tuple[Entry, ...]
    on_host: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts on which a selector may decide.

    Attributes
    ----------
    sent, received
        Bytes of the vector or block, with the element width of this rank's send or receive side; of
        all blocks together if their sizes may differ. Both are equal in gather and scatter.
    count
        Number of elements of `sent`.
    per_host
        Number of ranks of every host; None if they differ or are unknown.
    blocked
        Whether the ranks are known to be numbered host by host.
    part
        Whether the ranks are those of a host, or the leaders of hosts.
    """

    ranks: int
    sent: int = 0
    received: int = 0
    count: int = 0
    per_host: int | None = None
    blocked: bool = False
    part: bool = False


@dataclass(frozen=True)
class Choice:
    """The name of an algorithm and its keyword arguments."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def call(self, operation: str, s: Endpoint, *arguments: object) -> None:
        """Write this choice for `operation` into the schedule of `s`."""
        from tisim.actions.collectives.catalogue import algorithm

        algorithm(operation, self.name)(s, *arguments, **self.parameters)


def write_choice(
    operation: str,
    s: Endpoint,
    arguments: tuple[Argument, ...],
    choose: Callable[[str, Facts], Choice | None],
    *,
    exchanges_placement: bool = False,
    part: bool = False,
) -> None:
    """Call the choice for `operation`, after an exchange of the placement if requested."""
    if exchanges_placement:
        nodes(s)
    found = layout(s) if is_placement_exchanged(s) else None
    choice = choose(
        operation,
        Facts(
            s.size,
            *sizes(operation, s, arguments),
            per_host=found.sizes[0] if found and found.uniform else None,
            blocked=found is not None and found.blocked,
            part=part,
        ),
    )
    if choice is not None:
        choice.call(operation, s, *arguments)


def sizes(operation: str, s: Endpoint, arguments: tuple[Argument, ...]) -> tuple[int, int, int]:
    """Return `sent`, `received` and `count` of `Facts`."""
    if operation in ("barrier", "alltoallv"):
        return 0, 0, 0
    numbers = [given if isinstance(given, int) else sum(given) for given in arguments]
    count, width = numbers[:2]
    if len(numbers) < 4:
        return count * width, count * width, count
    if operation == "allgatherv":
        count = numbers[2]
    sent, received = count * width, numbers[2] * numbers[3]
    if operation in ("gather", "scatter"):
        receives = (s.rank == numbers[4]) == (operation == "gather")
        sent = received = received if receives else sent
    return sent, received, count


@lru_cache
def read_tables(selector: str) -> dict[str, tuple[Row, ...]]:
    """Read the thresholds of a selector from the file of its name in this directory.

    The keys are operations or, where the number of ranks of a host matters, operations with that
    number (``allreduce 16``). The head of each file describes its format.
    """
    tables: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in (Path(__file__).parent / f"{selector}.txt").read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if not line.startswith(" "):
            rows = tables[line] = []
        elif words[0].endswith(":"):
            rows.append(words)
        else:
            rows[-1] += words
    return {key: tuple(map(_row, rows)) for key, rows in tables.items()}


def _row(words: list[str]) -> Row:
    bar = words.index("|") if "|" in words else len(words)
    sizes, on_host = (
        tuple((_bound(bound), name) for bound, _, name in (word.partition("=") for word in part))
        for part in (words[1:bar], words[bar + 1 :])
    )
    return Row(_bound(words[0].rstrip(":")), sizes, on_host)


def _bound(word: str) -> float:
    return math.inf if word == "rest" else int(word)


def supported_algorithm(name: str, ranks: int) -> str:
    """Return `name`, or its substitute if it cannot run on `ranks` ranks."""
    return name if ranks & (ranks - 1) == 0 else _ANY_RANKS.get(name, name)


def first_at_least(rows: Iterable[Bounded], value: float) -> Bounded:
    """Return the first row whose bound, its first element, is at least `value`."""
    return next(row for row in rows if value <= row[0])


def first_above(rows: Iterable[Bounded], value: float) -> Bounded:
    """Return the first row whose bound, its first element, is greater than `value`."""
    return next(row for row in rows if value < row[0])
