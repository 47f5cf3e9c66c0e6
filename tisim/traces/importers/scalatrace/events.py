"""Reads the events of a ScalaTrace trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError


class RankList:
    """A set of ranks as a few regular sections.

    ``2 -1 0 2 1 -1 3 1 0`` has two sections of one dimension: 2 ranks from 0 on with a stride of 1,
    and one rank, 3. ``1 -2 5 2 4 2 1`` has one of two dimensions: 5, 6, 9 and 10. Raises ValueError
    for invalid text.
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
        """Return whether a rank is in the list."""
        return isinstance(rank, int) and any(
            _is_in(rank - start, pairs) for start, pairs in self._sections
        )

    def largest(self) -> int:
        """Return the last rank."""
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


#: The units of computations: microseconds, or thousands of instructions.
MICROSECONDS, INSTRUCTIONS = "4b", "4c"
_EVENT = re.compile(r"EVENT(\d+): (\d+) (\w*)")
# COMP 4c-0: 46d479_46d7a8 (32 15.73 0 14.00 0 17.00){0.00 0.00 0.00 0.00 5.60 0}...
_HISTOGRAM = re.compile(r"(COMP|COMM) (\w+)-\d+: (\w*) \((\d+) ([^)]*)\)((?:\{[^}]*\})+)")
_LOOP = re.compile(r"LOOP(\d+): iter: (.*) mem: (.*)")
# ( 3 2 )[ 1 -1 1 1 0 ]
_BY_RANK = re.compile(r"\(([^)]*)\)\[([^]]*)\]")
_PARAMETER = re.compile(r"([0-9a-f]+) (.*)")


@dataclass(frozen=True, slots=True)
class Bin:
    """Values of a histogram: minimum, mean, maximum and count."""

    least: float
    mean: float
    most: float
    count: int


@dataclass(slots=True)
class Values:
    """Values of some ranks; `ranks` is None for all ranks."""

    numbers: list[int]
    ranks: RankList | None


@dataclass(slots=True)
class Event:
    """One call of some ranks, at one location in the program."""

    #: The number of the event in the trace, and the line number.
    number: int
    line: int
    ranks: RankList
    #: One of `FUNCTIONS`, or the number of another function.
    function: str = ""
    site: str = ""
    #: The loops that begin with this event, outermost first: iterations, and number of events.
    loops: list[tuple[list[Values], list[Values]]] = field(default_factory=list)
    #: Values by parameter, named as in `PARAMETERS` or by number; one execution after another.
    parameters: dict[str, list[Values]] = field(default_factory=dict)
    #: Histogram of the computation before this event, by unit and call path of the previous event.
    computations: dict[tuple[str, str], list[Bin]] = field(default_factory=dict)


def of_rank(values: list[Values], rank: int) -> list[int] | None:
    """Return the values of a rank; None if it has none."""
    for some in values:
        if some.ranks is None or rank in some.ranks:
            return some.numbers
    return None


def read_events(file: Path) -> Iterator[Event]:
    """Yield the events of a trace. Raises InputError if a line is not in ScalaTrace's format."""
    event: Event | None = None
    number = 0
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text:
                continue
            try:
                if text.startswith("RANKS:"):
                    if event is not None:
                        yield _whole(event)
                    event = Event(-1, number, RankList(text[6:]))
                elif event is None:
                    raise ValueError(text)
                else:
                    _take(event, text)
            except (ValueError, IndexError):
                raise InputError(
                    f"{text[:60]!r} is not a line of ScalaTrace 2 or ScalaTrace-TI",
                    file=file,
                    line=number,
                ) from None
            if not line.endswith("\n"):
                raise InputError("is truncated here", file=file, line=number)
    if event is None:
        raise InputError("contains no events", file=file)
    if event.number < 0:
        raise InputError("ends within an event", file=file, line=number)
    yield event


def _whole(event: Event) -> Event:
    if event.number < 0:
        raise ValueError(event)
    return event


def _take(event: Event, text: str) -> None:
    if (named := _EVENT.fullmatch(text)) is not None:
        if event.number >= 0:
            raise ValueError(text)
        event.number, event.site = int(named[1]), named[3]
        event.function = FUNCTIONS.get(int(named[2]), str(int(named[2])))
    elif (counted := _HISTOGRAM.fullmatch(text)) is not None:
        if counted[1] == "COMP":
            bins = _bins(counted[6])
            if sum(part.count for part in bins) != int(counted[4]):
                raise ValueError(text)
            event.computations[counted[2], counted[3]] = bins
    elif (loop := _LOOP.fullmatch(text)) is not None:
        if int(loop[1]) != len(event.loops):
            raise ValueError(text)
        event.loops.append((_by_rank(loop[2]), _by_rank(loop[3])))
    elif (parameter := _PARAMETER.fullmatch(text)) is not None:
        values = event.parameters.setdefault(PARAMETERS.get(parameter[1], parameter[1]), [])
        if parameter[2].startswith("("):
            values += _by_rank(parameter[2])
        else:
            values.append(Values([int(word) for word in parameter[2].split()], None))
    else:
        raise ValueError(text)


def _by_rank(text: str) -> list[Values]:
    parts = [
        Values([int(word) for word in part[1].split()], RankList(part[2]))
        for part in _BY_RANK.finditer(text)
    ]
    if not parts or _BY_RANK.sub("", text).strip() or not all(some.numbers for some in parts):
        raise ValueError(text)
    return parts


def _bins(text: str) -> list[Bin]:
    made = []
    for part in text.strip("{}").split("}{"):
        _, least, mean, most, _, count = part.split()
        if int(count):
            made.append(Bin(float(least), float(mean), float(most), int(count)))
    return made


#: MPI names of functions by ScalaTrace's numbers; empty if no line is needed, as for queries of
#: ranks, sizes and times.
FUNCTIONS = {
    **{1012: "Bsend", 1108: "Rsend", 1113: "Send", 1117: "Ssend", 1102: "Recv", 1148: "Wait"},
    **{1072: "Ibsend", 1091: "Irsend", 1092: "Isend", 1093: "Issend", 1090: "Irecv"},
    **{1004: "Allreduce", 1010: "Barrier", 1011: "Bcast", 1104: "Reduce", 1110: "Scan"},
    **{1084: "Init", 1045: "Finalize"},
    **dict.fromkeys((1031, 1035, 1046, 1049, 1051, 1085, 1152, 1153), ""),
}
#: The names of parameters.
PARAMETERS = {
    **{"10": "comm", "12": "count", "14": "type", "18": "op", "19": "root", "1a": "dest"},
    **{"1b": "tag", "1c": "request", "2b": "source", "33": "argc", "34": "argv"},
}
WORLD = 2
#: Any source; other peers are distances from the rank itself.
ANY = 2**31 - 1
#: Bytes of MPI_INTEGER and MPI_DOUBLE_PRECISION, the types in the known traces.
TYPE_SIZES = {14: 4, 16: 8}


class OverlappingLoopsError(Exception):
    """A loop ends inside another; the argument is the event where it begins."""


@dataclass(slots=True)
class Loop:
    """Repeated events."""

    times: int
    body: list[Loop | Event]


def program_of(events: Sequence[Event], rank: int) -> list[Loop | Event]:
    """Return the events of a rank in loops. Raises OverlappingLoopsError if loops do not nest."""
    own = [event for event in events if rank in event.ranks]
    loops = [_loops_of(event, rank) for event in own]
    made: list[Loop | Event] = []
    place = 0
    while place < len(own):
        element, place = _element(own, loops, place, 0)
        made.append(element)
    return made


def events_in(program: Sequence[Loop | Event]) -> Iterator[Event]:
    """Yield each event of a program, once per occurrence."""
    for element in program:
        if isinstance(element, Event):
            yield element
        else:
            yield from events_in(element.body)


def times_of(program: Sequence[Loop | Event], times: int = 1) -> Iterator[tuple[Event, int]]:
    """Yield each event of a program with its total number of executions."""
    for element in program:
        if isinstance(element, Event):
            yield element, times
        else:
            yield from times_of(element.body, times * element.times)


def _loops_of(event: Event, rank: int) -> list[tuple[int, int]]:
    loops = []
    for times, members in event.loops:
        how_often, over = of_rank(times, rank), of_rank(members, rank)
        if how_often is not None and over is not None:
            if how_often[0] < 1 or over[0] < 1:
                raise OverlappingLoopsError(event)
            loops.append((how_often[0], over[0]))
    return loops


def _element(
    own: Sequence[Event], loops: Sequence[list[tuple[int, int]]], place: int, depth: int
) -> tuple[Loop | Event, int]:
    """Return the loop or event at a place, inside `depth` of the loops that begin there."""
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
