"""Reads the events of a ScalaTrace trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.scalatrace.rank_list import RankList

#: What is known of computations: microseconds, or thousands of instructions.
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
    """Values of a histogram: the least, their mean, the largest, and how many there are."""

    least: float
    mean: float
    most: float
    count: int


@dataclass(slots=True)
class Values:
    """Values of some ranks; `ranks` None: of all."""

    numbers: list[int]
    ranks: RankList | None


@dataclass(slots=True)
class Event:
    """One call of some ranks, at one place of the program.

    Attributes
    ----------
    number, line
        Of the event in the trace, and of its line.
    function
        ScalaTrace's number of the MPI call.
    site
        The call path.
    ranks
        Who makes the call.
    loops
        The loops that begin with this event, outermost first: how often, and over how many events.
    parameters
        Values by ScalaTrace's number of what they are; those of one execution after the other.
    computations
        By unit and the call path of the event before: how much is computed before this one.
    """

    number: int
    line: int
    ranks: RankList
    function: int = 0
    site: str = ""
    loops: list[tuple[list[Values], list[Values]]] = field(default_factory=list)
    parameters: dict[str, list[Values]] = field(default_factory=dict)
    computations: dict[tuple[str, str], list[Bin]] = field(default_factory=dict)


def of_rank(values: list[Values], rank: int) -> list[int] | None:
    """The values that a rank has; None: it has none."""
    for some in values:
        if some.ranks is None or rank in some.ranks:
            return some.numbers
    return None


def read_events(file: Path) -> Iterator[Event]:
    """Yield the events of a trace.

    Raises
    ------
    InputError
        If a line is none of ScalaTrace's.
    """
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
                    f"{text[:60]!r} is no line of ScalaTrace 2's or ScalaTrace-TI's",
                    file=file,
                    line=number,
                ) from None
            if not line.endswith("\n"):
                raise InputError("is cut here", file=file, line=number)
    if event is None:
        raise InputError("has no events", file=file)
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
        event.number, event.function, event.site = int(named[1]), int(named[2]), named[3]
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
        values = event.parameters.setdefault(parameter[1], [])
        if parameter[2].startswith("("):
            values += _by_rank(parameter[2])
        else:
            values.append(Values([int(word) for word in parameter[2].split()], None))
    else:
        raise ValueError(text)


def _by_rank(text: str) -> list[Values]:
    found = [
        Values([int(word) for word in part[1].split()], RankList(part[2]))
        for part in _BY_RANK.finditer(text)
    ]
    if not found or _BY_RANK.sub("", text).strip() or not all(some.numbers for some in found):
        raise ValueError(text)
    return found


def _bins(text: str) -> list[Bin]:
    made = []
    for part in text.strip("{}").split("}{"):
        _, least, mean, most, _, count = part.split()
        if int(count):
            made.append(Bin(float(least), float(mean), float(most), int(count)))
    return made
