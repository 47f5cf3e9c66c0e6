"""What an execution of a trace has given."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Repetition:
    """One execution of a trace, from the common start of all ranks.

    Attributes
    ----------
    ends
        When each rank had ended, in seconds after the start.
    late
        By how much the rank that began last missed the start, in seconds.
    processor_time
        Seconds of processors that all ranks used together. Ranks that spin use theirs.
    """

    ends: tuple[float, ...]
    late: float
    processor_time: float

    @property
    def time(self) -> float:
        """When the last rank had ended, in seconds."""
        return max(self.ends)


@dataclass(frozen=True)
class Execution:
    """A trace that was executed on a real MPI.

    Attributes
    ----------
    trace
        What the user called it.
    mpi
        The MPI library: ``Open MPI 4.1.4``.
    command
        What has started the ranks.
    compute
        What stood for computations: ``sleep``, ``spin``, ``instructions`` or ``none``.
    speed
        So many units of computation took a second.
    repetitions
        In their order; warm-ups are not among them.
    clock_error
        By how much the clocks of the ranks may differ, in seconds; 0 on one host.
    memory
        Of the messages of the rank that needs most, in bytes.
    """

    trace: str
    mpi: str
    command: tuple[str, ...]
    compute: str
    speed: float
    repetitions: tuple[Repetition, ...]
    clock_error: float
    memory: int

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
                    "time": one.time,
                    "late": one.late,
                    "processor_time": one.processor_time,
                    "ends": [*one.ends],
                }
                for one in self.repetitions
            ],
        }
