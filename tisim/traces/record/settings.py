"""The user's settings of a recording, and how the recorder is told."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tisim.errors import InputError
from tisim.traces.record.limits import Limits

Io: TypeAlias = Literal["none", "mpi", "posix", "both"]


@dataclass(frozen=True)
class Settings:
    """Options of a recording. Raises InputError when there is to be a timeline
    without times.
    """

    #: The counter of computations: ``perf``, ``register``, ``qemu``, ``time`` or ``auto``; then,
    #: with commas, what is counted beside it (`tisim.traces.record.counters.choose_counters`).
    counter: str = "auto"
    #: For the counter `time`: units per second of processor time.
    reference_speed: float = 1e9
    failed_tests: bool = False
    #: Computation between two failed tests of the same requests is polling, and in no volume, if it
    #: is at most so long (in units of the counter); 0: nothing is polling.
    longest_poll: int = 1000
    #: True if processes that the program spawns are ranks of the trace.
    spawned: bool = False
    #: True if calls say where in the program they are made.
    call_sites: bool = False
    #: True if calls have all arguments of their MPI functions.
    arguments: bool = False
    sample: bool = False
    #: True if calls say how long they took.
    times: bool = False
    #: Where to write when each call began and ended, ``.csv``, ``.parquet`` or ``.tir``; needs
    #: `times`.
    timeline: str | os.PathLike[str] | None = None
    #: Recorded file accesses: the calls of MPI-IO (``mpi``); those of POSIX and of C's standard
    #: I/O, also those by which MPI-IO works (``posix``); both, but of MPI-IO only its own calls
    #: (``both``); or ``none``.
    io: Io = "none"
    #: The directory on each host for its parts, which the ranks send to rank 0; None: one that all
    #: hosts share.
    gather: str | None = None
    #: The part of the run that is recorded; all of it by default.
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.timeline is not None and not self.times:
            raise InputError("a timeline says when something happened, which needs times: --times")
        if self.spawned and (self.arguments or self.call_sites):
            raise InputError(
                "with --spawn ranks write text, which has no room for --arguments all and "
                "--call-sites"
            )
        if self.gather is not None and (self.spawned or self.sample or self.timeline):
            raise InputError(
                "--gather collects calls alone, without --spawn, --sample and --timeline"
            )

    @property
    def records_posix(self) -> bool:
        """True if calls of POSIX are recorded."""
        return self.io in ("posix", "both")

    def variables(self) -> dict[str, str]:
        """The environment that tells the recorder, but for the counters."""
        asked = {
            "TISIM_RECORD_TIMES": self.times,
            "TISIM_RECORD_TIMELINE": self.timeline is not None,
            "TISIM_RECORD_CALL_SITES": self.call_sites,
            "TISIM_RECORD_ARGUMENTS": self.arguments,
            "TISIM_RECORD_SAMPLE": self.sample,
            "TISIM_RECORD_SPAWN": self.spawned,
        }
        return {
            "TISIM_RECORD_SPEED": repr(self.reference_speed),
            "TISIM_RECORD_TESTS": "all" if self.failed_tests else "successful",
            "TISIM_RECORD_LONGEST_POLL": str(self.longest_poll),
            "TISIM_RECORD_IO": self.io,
            **{name: "1" for name, wanted in asked.items() if wanted},
            **self.limits.variables(),
        }
