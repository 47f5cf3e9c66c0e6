"""GOAL schedules as a format that can be imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.goal.binary import MAGIC, BinarySchedule
from tisim.traces.importers.goal.operations import ANY, COMPUTE, Operation
from tisim.traces.importers.goal.sequence import CyclicScheduleError
from tisim.traces.importers.goal.sequence import Sequence as OperationSequence
from tisim.traces.importers.goal.text import TextSchedule
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes

_BEGINS = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\s+\d+", re.DOTALL)
_MOST_TAG = 2**31 - 1


class GoalImporter(Importer):
    """Reads the schedules that LogGOPSim simulates, as text and binary."""

    name = "goal"
    title = "GOAL schedules, which LogGOPSim simulates"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(MAGIC) or _BEGINS.match(head) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1 or files[0].is_dir():
            raise InputError("a GOAL schedule is one file; name that", file=files[0])
        if options.counter is not None:
            raise InputError("GOAL has no hardware counters; use --speed", file=files[0])
        return _GoalTrace(files[0], options, notes)


class _GoalTrace(ForeignTrace):
    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        with file.open("rb") as stream:
            is_binary = stream.read(len(MAGIC)) == MAGIC
        self._schedule = BinarySchedule(file) if is_binary else TextSchedule(file)
        self._options = options
        self._notes = notes

    @property
    def ranks(self) -> int:
        return self._schedule.ranks

    def lines(self, rank: int) -> Iterator[str]:
        operations = self._schedule.operations(rank)
        self._check(rank, operations)
        try:
            yield from OperationSequence(rank, operations, self._options, self._notes).lines()
        except CyclicScheduleError:
            raise InputError(
                f"operations of rank {rank} require one another, so that none can begin",
                file=self._schedule.path,
            ) from None

    def _check(self, rank: int, operations: list[Operation]) -> None:
        """Refuse what a sequence of calls cannot say."""
        cpu: int | None = None
        for operation in operations:
            if operation.kind == COMPUTE:
                if cpu is not None and operation.cpu != cpu:
                    raise self._error(
                        rank,
                        operation,
                        f"computes on the processors {cpu} and {operation.cpu} at once, but a rank "
                        "of a trace computes on one",
                    )
                cpu = operation.cpu
                continue
            if operation.peer != ANY and operation.peer >= self.ranks:
                raise self._error(rank, operation, f"there is no rank {operation.peer}")
            if operation.tag != ANY and operation.tag > _MOST_TAG:
                raise self._error(rank, operation, f"the tag {operation.tag} is above 2^31 - 1")

    def _error(self, rank: int, operation: Operation, message: str) -> InputError:
        return InputError(f"rank {rank}, {operation.place}: {message}", file=self._schedule.path)
