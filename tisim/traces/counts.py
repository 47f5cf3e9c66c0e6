"""Additional counters of a recorded trace: attributes of computations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.traces.trace import Trace

# Prefix of their attribute names; must equal the recorder's.
_PREFIX = "counter:"


@dataclass(frozen=True, slots=True)
class CounterTotal:
    """Total of a counter other than that of the volumes."""

    #: For example ``cache-misses``; ``time`` is processor time in nanoseconds.
    name: str
    #: Number of computations that have a count.
    computations: int = 0
    total: int = 0


def counter_names(trace: Trace) -> tuple[str, ...]:
    """Return the counters of a trace other than that of its volumes."""
    names = (name.removeprefix(_PREFIX) for name in trace.attributes if name.startswith(_PREFIX))
    return tuple(names)


def counts_of(trace: Trace, rank: int, counter: str) -> Iterator[tuple[int, int]]:
    """Yield the number of a line in the rank's file, from 1, and its count by one of
    `counter_names`. Raises InputError when the rank does not exist or the file is damaged.
    """
    for line, attributes in trace.attributes_of(rank):
        count = attributes.get(_PREFIX + counter)
        if count is not None:
            yield line, int(count)


def counter_totals(trace: Trace) -> tuple[CounterTotal, ...]:
    """Sum the counters over all computations. Raises InputError when the file is damaged."""
    return tuple(_total(trace, name) for name in counter_names(trace))


def _total(trace: Trace, name: str) -> CounterTotal:
    computations = total = 0
    for rank in range(trace.ranks):
        for _, count in counts_of(trace, rank, name):
            computations += 1
            total += count
    return CounterTotal(name, computations, total)
