"""The user's settings of a recording, and how the recorder is told."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tisim.errors import InputError

Io: TypeAlias = Literal["none", "mpi", "posix", "both"]
# Bytes of memory that recording may take of a rank, at most and at least.
_MOST_MEMORY = 64 << 20
_LEAST_MEMORY = 64 << 10
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Settings:
    """Options of a recording. Raises InputError when two of them exclude each other, the ranks are
    not a list such as ``"0-3,7"``, or a number is out of its range.
    """

    #: The counter of computations, one of `tisim.traces.record.counters.COUNTERS`; then,
    #: with commas, what is counted beside it (`tisim.traces.record.counters.choose_counters`).
    counter: str = "auto"
    #: For the counters `time` and `elapsed`: units per second.
    reference_speed: float = 1e9
    #: For these: the first computation of a rank has the time of MPI_Init, too.
    with_init: bool = False
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
    #: The ranks that are recorded, ``"0-3,7"``; None: all.
    ranks: str | None = None
    #: Bytes that recording may take of each rank; None: the default of the trace library, 1 MiB.
    memory: int | None = None
    #: Bytes that all parts may take; None: any number.
    max_size: int | None = None

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
        if self.ranks is not None:
            _check_ranks(self.ranks)
        if self.memory is not None and not _LEAST_MEMORY <= self.memory <= _MOST_MEMORY:
            raise InputError(
                f"the memory of a rank has to be between {_LEAST_MEMORY:,} and {_MOST_MEMORY:,} "
                f"bytes, not {self.memory:,}"
            )
        if self.max_size is not None and self.max_size <= 0:
            raise InputError(f"parts of {self.max_size:,} bytes cannot be recorded")

    def variables(self) -> dict[str, str]:
        """The environment that tells the recorder, but for the counters."""
        asked = {
            "TISIM_RECORD_INIT": self.with_init,
            "TISIM_RECORD_TIMES": self.times,
            "TISIM_RECORD_TIMELINE": self.timeline is not None,
            "TISIM_RECORD_CALL_SITES": self.call_sites,
            "TISIM_RECORD_ARGUMENTS": self.arguments,
            "TISIM_RECORD_SAMPLE": self.sample,
            "TISIM_RECORD_SPAWN": self.spawned,
        }
        limits = {
            "TISIM_RECORD_RANKS": self.ranks,
            "TISIM_RECORD_MEMORY": self.memory,
            "TISIM_RECORD_MAX_SIZE": self.max_size,
        }
        return {
            "TISIM_RECORD_SPEED": repr(self.reference_speed),
            "TISIM_RECORD_TESTS": "all" if self.failed_tests else "successful",
            "TISIM_RECORD_LONGEST_POLL": str(self.longest_poll),
            "TISIM_RECORD_IO": self.io,
            **{name: "1" for name, wanted in asked.items() if wanted},
            **{name: str(limit) for name, limit in limits.items() if limit is not None},
        }


def _check_ranks(text: str) -> None:
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise InputError(f"{text!r} is not a list of ranks; write them as 0-3,7")
        if int(match[2] or match[1]) < int(match[1]):
            raise InputError(f"the ranks {item} are in the wrong order")
