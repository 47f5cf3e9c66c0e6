"""What one rank does, as loops over events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tisim.traces.importers.scalatrace.events import Event, of_rank


class OverlappingLoopsError(Exception):
    """A loop ends within another; the argument is the event where it begins."""


@dataclass(slots=True)
class Loop:
    """Events that are repeated."""

    times: int
    body: list[Loop | Event]


def program_of(events: Sequence[Event], rank: int) -> list[Loop | Event]:
    """The events of a rank, in their loops.

    Raises
    ------
    OverlappingLoopsError
        If loops do not nest.
    """
    own = [event for event in events if rank in event.ranks]
    loops = [_loops_of(event, rank) for event in own]
    made: list[Loop | Event] = []
    place = 0
    while place < len(own):
        element, place = _element(own, loops, place, 0)
        made.append(element)
    return made


def events_in(program: Sequence[Loop | Event]) -> Iterator[Event]:
    """Yield each event of a program, once for each place where it stands."""
    for element in program:
        if isinstance(element, Event):
            yield element
        else:
            yield from events_in(element.body)


def times_of(program: Sequence[Loop | Event], times: int = 1) -> Iterator[tuple[Event, int]]:
    """Yield each event of a program and how often it is executed in all."""
    for element in program:
        if isinstance(element, Event):
            yield element, times
        else:
            yield from times_of(element.body, times * element.times)


def _loops_of(event: Event, rank: int) -> list[tuple[int, int]]:
    found = []
    for times, members in event.loops:
        how_often, over = of_rank(times, rank), of_rank(members, rank)
        if how_often is not None and over is not None:
            if how_often[0] < 1 or over[0] < 1:
                raise OverlappingLoopsError(event)
            found.append((how_often[0], over[0]))
    return found


def _element(
    own: Sequence[Event], loops: Sequence[list[tuple[int, int]]], place: int, depth: int
) -> tuple[Loop | Event, int]:
    """The loop or event at a place, inside of so many of the loops that begin there."""
    if depth == len(loops[place]):
        return own[place], place + 1
    times, members = loops[place][depth]
    end = place + members
    if end > len(own):
        raise OverlappingLoopsError(own[place])
    first, after = _element(own, loops, place, depth + 1)
    body = [first]
    while after < end:
        element, after = _element(own, loops, after, 0)
        body.append(element)
    if after != end:
        raise OverlappingLoopsError(own[place])
    return Loop(times, body), end
