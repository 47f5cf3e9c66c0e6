"""The user's settings of a recording, and their form for the recorder."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tisim.errors import InputError

Io: TypeAlias = Literal["none", "mpi", "posix", "both"]
# Maximum and minimum memory for recording one rank, in bytes.
_MOST_MEMORY = 64 << 20
_LEAST_MEMORY = 64 << 10
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Settings:
    """Options of a recording. Raises InputError when two of them exclude each other, the ranks are
    not a list such as ``"0-3,7"``, or a number is out of range.
    """

    #: The counter of computations, one of `tisim.traces.record.counters.COUNTERS`, followed by
    #: comma-separated additional counters (`tisim.traces.record.counters.choose_counters`).
    counter: str = "auto"
    #: For the counters `time` and `elapsed`: units per second.
    reference_speed: float = 1e9
    #: For these: whether the first computation of a rank includes the time of MPI_Init.
    with_init: bool = False
    failed_tests: bool = False
    #: Computation between two failed tests of the same requests is polling, and not in any volume,
    #: if it is at most this long (in units of the counter); 0 disables this.
    longest_poll: int = 1000
    #: True if processes spawned by the program are ranks of the trace.
    spawned: bool = False
    #: True if calls include their location in the program.
    call_sites: bool = False
    #: True if calls include all arguments of their MPI functions.
    arguments: bool = False
    sample: bool = False
    #: True if calls include their duration.
    times: bool = False
    #: File for the begin and end of each call, ``.csv``, ``.parquet`` or ``.tir``; needs
    #: `times`.
    timeline: str | os.PathLike[str] | None = None
    #: Recorded file accesses: MPI-IO calls (``mpi``); calls of POSIX and of C's standard I/O,
    #: including those made by MPI-IO (``posix``); both, with the POSIX calls made by MPI-IO beneath
    #: its own (``both``); or ``none``.
    io: Io = "none"
    #: A directory on each host for its parts, which the ranks send to rank 0; None for one shared
    #: by all hosts.
    gather: str | None = None
    #: The recorded ranks, ``"0-3,7"``; None for all.
    ranks: str | None = None
    #: Memory for recording each rank, in bytes; None for the trace library's default, 1 MiB.
    memory: int | None = None
    #: Maximum total size of the parts in bytes; None for no limit.
    max_size: int | None = None

    def __post_init__(self) -> None:
        if self.timeline is not None and not self.times:
            raise InputError("--timeline needs --times")
        if self.spawned and (self.arguments or self.call_sites):
            raise InputError("--spawn cannot be combined with --arguments all or --call-sites")
        if self.gather is not None and (self.spawned or self.sample or self.timeline):
            raise InputError("--gather cannot be combined with --spawn, --sample or --timeline")
        if self.ranks is not None:
            _check_ranks(self.ranks)
        if self.memory is not None and not _LEAST_MEMORY <= self.memory <= _MOST_MEMORY:
            raise InputError(
                f"the memory of a rank must be between {_LEAST_MEMORY:,} and {_MOST_MEMORY:,} "
                f"bytes, not {self.memory:,}"
            )
        if self.max_size is not None and self.max_size <= 0:
            raise InputError(f"parts of {self.max_size:,} bytes cannot be recorded")

    def variables(self) -> dict[str, str]:
        """Return the environment variables for the recorder, except those for counters."""
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
            raise InputError(f"{text!r} is not a list of ranks such as 0-3,7")
        if int(match[2] or match[1]) < int(match[1]):
            raise InputError(f"the ranks {item} are in the wrong order")
