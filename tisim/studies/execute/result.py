"""Results of the execution of a trace."""

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
    """One execution of a trace, starting at the common start of all ranks."""

    ends: tuple[float, ...]  # end of each rank, in seconds after the start
    late: float  # delay of the last rank to start, in seconds
    # Processor seconds used by all ranks together, including spinning.
    processor_time: float

    @property
    def time(self) -> float:
        """End of the last rank, in seconds."""
        return max(self.ends)


@dataclass(frozen=True)
class Execution:
    """Execution of a trace on a real MPI."""

    trace: str  # its name as given by the user
    mpi: str  # the MPI library: ``Open MPI 4.1.4``
    command: tuple[str, ...]  # command that started the ranks
    compute: str  # substitute for computations: ``sleep``, ``spin``, ``instructions`` or ``none``
    speed: float  # units of computation per second
    repetitions: tuple[Repetition, ...]  # in order, without warm-ups
    clock_error: float  # maximum difference of the ranks' clocks, in seconds; 0 on one host
    memory: int  # of messages, on the rank that needs most, in bytes

    @property
    def times(self) -> tuple[float, ...]:
        """The time of each repetition, in seconds."""
        return tuple(repetition.time for repetition in self.repetitions)

    @property
    def median(self) -> float:
        """The median time, in seconds."""
        return statistics.median(self.times)

    def to_dict(self) -> Mapping[str, object]:
        """Return all results for JSON; times in seconds."""
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
    """Files of a running execution, read repeatedly.

    `values` are numbers reported by rank 0, by name; `steps` increases with every event.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._position = 0
        self.repetitions: list[Repetition] = []
        self.values: dict[str, float] = {}
        self.steps = 0
        self.done = False

    def read(self) -> None:
        """Read the output written since the last call."""
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
        """Return the error of the executor, if any."""
        try:
            return (self._directory / "error").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def states(self, ranks: int) -> list[tuple[int, str, int]]:
        """Return the current or last action of ranks: rank, action and line of the trace."""
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
