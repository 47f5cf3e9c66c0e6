"""GOAL schedules, the input of LogGOPSim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim import _core
from tisim.errors import InputError
from tisim.support.reading import is_goal
from tisim.traces.goal import goal_errors, read_goal
from tisim.traces.importers.format import FormatTrace, only_file
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes

# Maximum number of bytes of lines generated at once.
_PIECE = 1 << 18


class GoalImporter(Importer):
    """Reads LogGOPSim's schedules, text and binary."""

    name = "goal"
    title = "GOAL schedules, which LogGOPSim simulates"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return is_goal(head)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        file = only_file(files, "a GOAL schedule must be one file")
        if options.counter is not None:
            raise InputError("GOAL has no hardware counters; use --speed", file=file)
        return GoalTrace(file, options, notes)


class GoalTrace(FormatTrace):
    """The schedule of a file."""

    has_times = False

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(file, options, notes)
        self._schedule = read_goal(file)
        self.ranks = self._schedule.ranks

    def lines(self, rank: int) -> Iterator[str]:
        speed = self.options.volume_of(1.0) if self._schedule.computes(rank) else 0.0
        with goal_errors(self.file):
            sequence = _core.GoalSequence(self._schedule, rank, speed)
            while piece := sequence.take(_PIECE):
                yield piece.decode()
        if sequence.open_waits:
            self.notes.add(
                "the schedule leaves open which of several messages ends first; the trace waits in "
                "its order",
                f"rank {rank}, {self._schedule.place(rank, sequence.first_open)}",
                sequence.open_waits,
            )
