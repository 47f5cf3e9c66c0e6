"""The counters of computations, and which of them work on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.record.events import FLOPS, NAMED, events_of, obstacle

#: Counters for volumes.
COUNTERS = ("auto", "perf", "register", "qemu", "time", "elapsed", "cold")
#: Those that measure time.
TIMES = ("time", "elapsed", "cold")
# A symbol in programs linked by `tisim cc`.
COUNTED_SYMBOL = b"tisim_counted_elsewhere"


@dataclass(frozen=True)
class ChosenCounters:
    """The counters of a recording."""

    #: The counter for the volumes of computations.
    volumes: str
    #: Why it was chosen; empty if it was requested.
    reason: str
    #: Additional counters, by name: their specification for the recorder.
    further: dict[str, str]

    def variables(self) -> dict[str, str]:
        """Return the environment variables for the recorder."""
        further = ",".join(f"{name}={what}" for name, what in self.further.items())
        return {
            "TISIM_RECORD_COUNTER": self.volumes,
            **({"TISIM_RECORD_FURTHER_COUNTERS": further} if further else {}),
        }


def choose_counters(asked: str, program: Path | None) -> ChosenCounters:
    """Choose the counters. `asked` is a comma-separated list of names. The first is one of
    `COUNTERS`; ``auto`` is `register` if the program counts itself, otherwise `perf` if it works,
    otherwise `time`. The others are ``time``, ``flops``, events of
    `tisim.traces.record.events.NAMED`, or a processor-specific event such as ``r01c7``. Raises
    InputError for an unknown counter, or when a requested one does not work here.
    """
    first, *others = asked.split(",")
    if first not in COUNTERS:
        raise InputError(
            f"--counter {asked}: the first counter measures the volumes and must be one of "
            f"{', '.join(COUNTERS)}, not {first!r}"
        )
    volumes, reason = _choose(first, program)
    further = {name: _further(name, asked) for name in others}
    if len(further) < len(others) or volumes in further:
        raise InputError(f"--counter {asked}: a counter occurs twice")
    if further and volumes == "qemu":
        raise InputError(f"--counter {asked}: QEMU does not support further counters")
    return ChosenCounters(volumes, reason, further)


def _further(name: str, asked: str) -> str:
    """Return the recorder's specification of an additional counter."""
    if name == "time":
        return name
    events = events_of(name)
    if not events:
        raise InputError(
            f"--counter {asked}: unknown further counter {name!r}; known are time, "
            f"{', '.join((FLOPS, *NAMED))}, and processor events such as r01c7"
        )
    for event in events:
        reason = obstacle(event)
        if reason:
            raise InputError(f"--counter {asked}: {name} is not available here: {reason}")
    return "+".join(map(str, events))


def _choose(asked: str, program: Path | None) -> tuple[str, str]:
    """Return the counter of volumes and the reason for it."""
    if asked in (*TIMES, "qemu"):
        return asked, ""
    if asked == "perf":
        reason = perf_obstacle()
        if reason:
            raise InputError(f"--counter perf does not work here: {reason}; use --counter auto")
        return "perf", ""
    counts_itself = program is not None and is_counting(program)
    if asked == "register":
        if program is not None and not counts_itself:
            raise InputError(
                "--counter register needs a program compiled and linked by tisim cc, tisim c++ or "
                "tisim fc",
                file=program,
            )
        return "register", ""
    if counts_itself:
        return "register", "the program counts its instructions itself"
    reason = perf_obstacle()
    if not reason:
        return "perf", "the processor counts instructions"
    return "time", f"no other counter works here: {reason}"


def is_counting(program: Path) -> bool:
    """Return whether a program counts its instructions itself."""
    return COUNTED_SYMBOL in program.read_bytes()


def perf_obstacle() -> str:
    """Return why the processor's instruction counter cannot be read; empty if it can."""
    if os.environ.get("TISIM_RECORD_SOFTWARE_EVENT"):
        return ""
    return obstacle(NAMED["instructions"])
