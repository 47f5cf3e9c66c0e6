"""Converts the events of one rank to the lines of its trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, RankConverter
from tisim.traces.importers.importer import Notes
from tisim.traces.importers.rank_calls import ANY_SOURCE
from tisim.traces.importers.scalatrace.events import (
    ANY,
    PARAMETERS,
    TYPE_SIZES,
    WORLD,
    Event,
    Loop,
    OverlappingLoopsError,
    events_in,
    of_rank,
    program_of,
)
from tisim.traces.importers.scalatrace.receives import Sources
from tisim.traces.importers.words import ISENDS, SENDS, collective_word, uniform_collective
from tisim.traces.program import Program, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Maximum period of an event's values, in executions.
_MOST_EXECUTIONS = 1 << 20
_MOST_TAG = 2**31 - 1
_Write = Callable[[], None]


class ScalaTraceRank(RankConverter):
    """Writes the executions of one rank's events. `histograms` maps the event after a computation
    and the call path of the event before it to a histogram; `sources` are the distances to the
    sources determined for receives from any source.
    """

    def __init__(
        self,
        rank: int,
        trace: FormatTrace,
        events: Sequence[Event],
        histograms: Mapping[tuple[int, str], int],
        sizes_are_tags: bool,
        sources: Sources,
    ) -> None:
        super().__init__(rank, trace)
        self._ranks = trace.ranks
        self._events = events
        self._histograms = histograms
        self._sizes_are_tags = sizes_are_tags
        self._sources = sources
        # The writers of each execution of an event, and the index of the next one.
        self._writers: dict[int, list[_Write]] = {}
        self._places: dict[int, int] = {}
        self._before: Event | None = None
        self._requests = 0
        self._pending: list[int] = []

    def program(self) -> list[Loop | Event]:
        """Return the events of the rank in loops. Raises InputError if the loops do not nest."""
        try:
            return program_of(self._events, self._rank)
        except OverlappingLoopsError as error:
            raise self._error(
                error.args[0], "a loop that does not end where its rank's do"
            ) from None

    def execute(self, event: Event, notes: Notes) -> tuple[int | None, list[str]]:
        """Return the next execution of an event: the number of the histogram of the computation
        before it, or None, and its lines without newlines. Raises InputError if the event contains
        unknown values.
        """
        self._notes = notes
        histogram = None if self._before is None else self._histogram(event, self._before)
        self._before = event
        writers = self._writers.get(id(event))
        if writers is None:
            writers = self._writers[id(event)] = self._writer(event)
        place = self._places.get(id(event), 0)
        self._places[id(event)] = (place + 1) % len(writers)
        writers[place]()
        return histogram, [line.rstrip("\n") for line in self._calls.ready()]

    def state(self, events: Sequence[Event]) -> Hashable:
        """Return the state that determines the next executions of some events."""
        return (
            id(self._before),
            tuple(self._places.get(id(event), 0) for event in events),
            tuple(map(self._calls.number_of, self._pending)),
        )

    def _error(self, event: Event, message: str) -> InputError:
        return InputError(
            f"EVENT{event.number}, rank {self._rank}: {message}", file=self._file, line=event.line
        )

    def _histogram(self, event: Event, before: Event) -> int | None:
        number = self._histograms.get((id(event), before.site))
        if number is None and event.function:
            self._notes.add(
                "a computation without a histogram is left out",
                f"EVENT{event.number}, rank {self._rank}",
            )
        return number

    def _writer(self, event: Event) -> list[_Write]:
        """Return the writers of an event's executions, until its values repeat."""
        values: dict[str, list[int]] = {}
        for key, all_ranks in event.parameters.items():
            if key not in PARAMETERS.values():
                raise self._error(event, f"the parameter {key} is not known")
            own = of_rank(all_ranks, self._rank)
            if own is not None:
                values[key] = own
        found = self._sources.get((self._rank, id(event)))
        if found is not None:
            values["source"] = found
        period = math.lcm(*(len(numbers) for numbers in values.values())) if values else 1
        if period > _MOST_EXECUTIONS:
            raise self._error(event, "its parameters do not repeat in reasonable time")
        return [
            self._execution(event, {key: own[i % len(own)] for key, own in values.items()})
            for i in range(period)
        ]

    def _execution(self, event: Event, values: dict[str, int]) -> _Write:
        function, calls = event.function, self._calls
        if values.get("comm", WORLD) != WORLD:
            raise self._error(event, f"the communicator {values['comm']} is not the world")
        if not function:
            return lambda: None
        if function in ("Init", "Finalize"):
            return lambda: self._end(function)
        if function == "Wait":
            return lambda: self._wait(event)
        nbytes = self._bytes(event, values)
        if (word := collective_word(function)) is not None:
            root = values.get("root", 0)
            words = uniform_collective(word, nbytes, root) or ""
            return lambda: calls.action(words)
        tag = min(nbytes, _MOST_TAG) if self._sizes_are_tags else values.get("tag", 0)
        if function in SENDS:
            peer = self._peer(event, values, "dest")
            return lambda: calls.message(SENDS[function], peer, tag, nbytes)
        if function in ISENDS:
            peer = self._peer(event, values, "dest")
            return lambda: self._post(ISENDS[function], peer, tag, nbytes)
        if function == "Recv":
            peer = self._peer(event, values, "source")
            return lambda: calls.message("recv", peer, tag, nbytes)
        if function == "Irecv":
            peer = self._peer(event, values, "source")
            return lambda: self._post("irecv", peer, tag, nbytes)
        raise self._error(event, f"the MPI call {function} is not known")

    def _bytes(self, event: Event, values: dict[str, int]) -> int:
        if "count" not in values:
            return 0
        size = TYPE_SIZES.get(values.get("type", 0))
        if size is None:
            raise self._error(
                event,
                f"the size of the datatype {values.get('type')} is not in the trace; known are 14 "
                "(MPI_INTEGER) and 16 (MPI_DOUBLE_PRECISION)",
            )
        if values["count"] < 0:
            raise self._error(event, "a negative count")
        return values["count"] * size

    def _peer(self, event: Event, values: dict[str, int], side: str) -> int:
        """Return the peer, which is stored as a distance from the rank itself."""
        if side not in values:
            raise self._error(event, "a message without a peer")
        if side == "source" and values[side] == ANY:
            return ANY_SOURCE
        if not 0 <= values[side] < self._ranks:
            raise self._error(event, f"no rank at a distance of {values[side]}")
        return (self._rank + values[side]) % self._ranks

    def _post(self, word: str, peer: int, tag: int, nbytes: int) -> None:
        self._requests += 1
        self._pending.append(self._requests)
        self._calls.post(word, peer, tag, nbytes, self._requests)

    def _wait(self, event: Event) -> None:
        """Wait for the oldest request: the trace does not identify it."""
        if len(self._pending) > 1:
            self._notes.add(
                "MPI_Wait is assumed to wait for the oldest of several pending requests",
                f"EVENT{event.number}, rank {self._rank}",
            )
        self._calls.complete(self._pending[:1])
        del self._pending[:1]

    def _end(self, function: str) -> None:
        if function == "Finalize":
            self._calls.complete(self._pending)
        self._calls.action(function.lower())


# Line for a call without one, if a computation precedes it.
_SILENT_LINE = "comm_size"
# Maximum plausible number of lines: a damaged trace can claim any number of repetitions.
_MOST_LINES = 1 << 30


@dataclass(slots=True)
class _Part:
    """A part of the program: items of a rule, a histogram before each line, and notes."""

    items: Rule = field(default_factory=list)
    volumes: list[NDArray[np.int64]] = field(default_factory=list)
    notes: list[tuple[Notes, int]] = field(default_factory=list)

    def add(self, other: _Part) -> None:
        self.items += other.items
        self.volumes += other.volumes
        self.notes += other.notes


class RankProgram:
    """Builds the grammar of one rank; a loop is executed only until its state recurs."""

    def __init__(self, rank: int, reader: ScalaTraceRank) -> None:
        self._rank = rank
        self._reader = reader
        self._lines: dict[str, int] = {}
        # Rules by their items, each after those that it refers to.
        self._rules: dict[tuple[tuple[bool, int, int], ...], int] = {}

    def made(self, notes: Notes) -> Program:
        """Return the whole program. Raises InputError if an event contains unknown values."""
        import numpy as np  # slow to load

        whole = self._part(self._reader.program())
        for some, times in whole.notes:
            for note in some:
                notes.add(note.text, note.first, note.count * times)
        last = len(self._rules)
        rules: list[Rule] = [
            [
                (is_rule, last - number if is_rule else number, times)
                for is_rule, number, times in items
            ]
            for items in (*self._rules, whole.items)
        ]
        rules.reverse()
        volumes = np.concatenate([np.empty(0, np.int64), *whole.volumes])
        if not (volumes >= 0).any():
            volumes = volumes[:0]
        return Program(list(self._lines), rules, volumes)

    def _part(self, program: Sequence[Loop | Event]) -> _Part:
        part = _Part()
        for element in program:
            part.add(self._event(element) if isinstance(element, Event) else self._loop(element))
        return part

    def _event(self, event: Event) -> _Part:
        import numpy as np  # slow to load

        notes = Notes()
        histogram, lines = self._reader.execute(event, notes)
        if histogram is not None and not lines:
            lines = [f"{self._rank} {_SILENT_LINE}"]
        part = _Part(notes=[(notes, 1)] if len(notes) else [])
        for line in lines:
            part.items.append((False, self._lines.setdefault(line, len(self._lines)), 1))
        if lines:
            before = -1 if histogram is None else histogram
            part.volumes.append(np.array([before] + [-1] * (len(lines) - 1), np.int64))
        return part

    def _loop(self, loop: Loop) -> _Part:
        events = list(events_in(loop.body))
        bodies: list[_Part] = []
        # First occurrence of each state: from there on everything recurs.
        met: dict[Hashable, int] = {}
        while len(bodies) < loop.times:
            state = self._reader.state(events)
            first = met.setdefault(state, len(bodies))
            if first < len(bodies):
                break
            bodies.append(self._part(loop.body))
        else:
            first = len(bodies)
        made = _Part()
        for body in bodies[:first]:
            made.add(body)
        left = loop.times - first
        if left:
            cycle = _Part()
            for body in bodies[first:]:
                cycle.add(body)
            times, rest = divmod(left, len(bodies) - first)
            made.add(self._repeated(cycle, times))
            for _ in range(rest):
                made.add(self._part(loop.body))
        return made

    def _repeated(self, part: _Part, times: int) -> _Part:
        import numpy as np  # slow to load

        if not part.items:
            return _Part(notes=[(notes, count * times) for notes, count in part.notes])
        if times * sum(map(len, part.volumes)) > _MOST_LINES:
            raise InputError(f"rank {self._rank} makes an implausible number of calls")
        number = self._rules.setdefault(tuple(part.items), len(self._rules))
        return _Part(
            [(True, number, times)],
            [np.tile(np.concatenate(part.volumes), times)],
            [(notes, count * times) for notes, count in part.notes],
        )
