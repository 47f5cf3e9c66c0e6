"""A call of MPI with the arguments that another tool has recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(slots=True)
class Call:
    """One call of one rank.

    Attributes
    ----------
    function
        Its name without ``MPI_``.
    place
        Where it is in the file, for messages.
    start, end
        Nanoseconds; 0 for both where the trace has no times.
    counters
        The value of each hardware counter before and after the call.
    numbers
        The fields of one value, by their names in MPI.
    lists
        The fields that are arrays.
    sources
        The source of each status.
    outcome_known
        Whether the trace says which requests a test or a wait for some has found complete.
    """

    function: str
    place: str
    start: int
    end: int
    counters: tuple[tuple[int, int], ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[int]] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)
    outcome_known: bool = True


class CallFile(Protocol):
    """The recorded calls of one rank.

    Attributes
    ----------
    counters
        The names of the hardware counters.
    """

    counters: list[str]

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def calls(self) -> Iterator[Call]:
        """Yield the calls in their order."""
        ...


class TypeSizes(Protocol):
    """The sizes of one rank's datatypes."""

    def size(self, number: int) -> int | None:
        """The bytes of one element; None if the type is not known."""
        ...

    def learn(self, call: Call) -> None:
        """Take the size of a type that a call makes, or tells."""
        ...
