"""The trace of one rank as a grammar, with the loops that ScalaTrace has found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.scalatrace.events import Event
from tisim.traces.importers.scalatrace.program import Loop, events_in
from tisim.traces.importers.scalatrace.rank_reader import RankReader
from tisim.traces.program import Program, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Stands for a call that has no line of its own, where a computation ends with it.
_SILENT_LINE = "comm_size"
# A damaged trace can claim any number of repetitions.
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
    """Makes the grammar of one rank, executing a loop only until it goes on as it did before.

    Parameters
    ----------
    rank
        The rank.
    reader
        Executes its events.
    """

    def __init__(self, rank: int, reader: RankReader) -> None:
        self._rank = rank
        self._reader = reader
        self._lines: dict[str, int] = {}
        # Rules by their items, each after those that it names.
        self._rules: dict[tuple[tuple[bool, int, int], ...], int] = {}

    def made(self, notes: Notes) -> Program:
        """The whole program.

        Parameters
        ----------
        notes
            Takes what is guessed.

        Raises
        ------
        InputError
            If an event says what is not known.
        """
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
        # When a state was met first: from there on everything returns.
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
            raise InputError(f"rank {self._rank} makes more calls than are believed")
        number = self._rules.setdefault(tuple(part.items), len(self._rules))
        return _Part(
            [(True, number, times)],
            [np.tile(np.concatenate(part.volumes), times)],
            [(notes, count * times) for notes, count in part.notes],
        )
