"""The results of an execution of a trace."""

from __future__ import annotations

import statistics
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tisim.traces import Kind
from tisim.traces.script import name_of_instruction


@dataclass(frozen=True)
class Repetition:
    """One execution of a trace, from the common start of all ranks."""

    ends: tuple[float, ...]  # when each rank had ended, in seconds after the start
    late: float  # by how much the rank that began last missed the start, in seconds
    # Seconds of processors that all ranks used together. Ranks that spin use theirs.
    processor_time: float

    @property
    def time(self) -> float:
        """When the last rank had ended, in seconds."""
        return max(self.ends)


@dataclass(frozen=True)
class Execution:
    """A trace that was executed on a real MPI."""

    trace: str  # what the user called it
    mpi: str  # the MPI library: ``Open MPI 4.1.4``
    command: tuple[str, ...]  # what has started the ranks
    compute: str  # what stood for computations: ``sleep``, ``spin``, ``instructions`` or ``none``
    speed: float  # so many units of computation took a second
    repetitions: tuple[Repetition, ...]  # in their order; warm-ups are not among them
    clock_error: float  # by how much the clocks of the ranks may differ, in seconds; 0 on one host
    memory: int  # of the messages of the rank that needs most, in bytes

    @property
    def times(self) -> tuple[float, ...]:
        """The time of each repetition, in seconds."""
        return tuple(repetition.time for repetition in self.repetitions)

    @property
    def median(self) -> float:
        """The median time, in seconds."""
        return statistics.median(self.times)

    def to_dict(self) -> Mapping[str, object]:
        """Everything, for JSON; times in seconds."""
        return {
            "trace": self.trace,
            "ranks": len(self.repetitions[0].ends),
            "mpi": self.mpi,
            "command": [*self.command],
            "compute": self.compute,
            "speed": self.speed,
            "median": self.median,
            "smallest": min(self.times),
            "largest": max(self.times),
            "clock_error": self.clock_error,
            "memory": self.memory,
            "repetitions": [
                {
                    "time": run.time,
                    "late": run.late,
                    "processor_time": run.processor_time,
                    "ends": [*run.ends],
                }
                for run in self.repetitions
            ],
        }


_STATE = struct.Struct("=iiq")


class Report:
    """The files that an execution leaves in its directory, read again and again.

    `values` are numbers that rank 0 has told, by name; `steps` grows when something has happened.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._position = 0
        self.repetitions: list[Repetition] = []
        self.values: dict[str, float] = {}
        self.steps = 0
        self.done = False

    def read(self) -> None:
        """Read what has been written since the last time."""
        try:
            with (self._directory / "results").open("rb") as file:
                file.seek(self._position)
                text = file.read()
        except FileNotFoundError:
            return
        whole, newline, _ = text.rpartition(b"\n")
        self._position += len(whole) + len(newline)
        for line in whole.decode().splitlines():
            self._take(line.split())

    def error(self) -> str | None:
        """Why the executor has given up, if it has."""
        try:
            return (self._directory / "error").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def states(self, ranks: int) -> list[tuple[int, str, int]]:
        """The present or last action of ranks: rank, action and line of the trace."""
        states = []
        for rank in range(ranks):
            try:
                data = (self._directory / f"state-{rank}").read_bytes()
            except FileNotFoundError:
                continue
            if len(data) == _STATE.size:
                kind, operation, line = _STATE.unpack(data)
                if kind != Kind.END:
                    states.append((rank, name_of_instruction(kind, operation), line))
        return states

    def _take(self, words: list[str]) -> None:
        self.steps += 1
        if words[0] == "repetition":
            ends = tuple(float(word) for word in words[7:])
            self.repetitions.append(Repetition(ends, float(words[3]), float(words[5])))
        elif words[0] == "done":
            self.done = True
        elif len(words) == 2:
            self.values[words[0]] = float(words[1])
