"""A call as DUMPI has recorded it."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    """

    function: str
    place: str
    start: int
    end: int
    counters: tuple[tuple[int, int], ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[int]] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)
