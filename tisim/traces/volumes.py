"""The unit of a trace's computations, which a recorded trace gives in a comment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tisim import _core
from tisim.errors import InputError

_PACKED = b"\x89TIT"
_COUNTER = "# counter: "
# In bytes, for text files: recorders write the comment at the beginning.
_HEAD = 4096
_TIME = re.compile(r"(?:time, seconds of processor time|elapsed, seconds) times ([^ ,]+)")
_COLD = "with cold caches"
#: The counter of a trace whose times are predicted from other traces, not measured.
PREDICTED_TIME = "time, seconds of processor time times 1e+09 (predicted)"
#: The unit of volumes in traces without a counter.
UNKNOWN_UNIT = "flops"


@dataclass(frozen=True)
class Volumes:
    """The unit of volumes.

    Attributes
    ----------
    counter
        The recorder's description.
    unit
        Name of the unit: ``instructions``, ``ns``.
    per_second
        Units per second of the recording machine for times; else None.
    """

    counter: str
    unit: str
    per_second: float | None

    @property
    def is_cold(self) -> bool:
        """True for times of computations measured with cold caches."""
        return self.counter.endswith(_COLD)

    @classmethod
    def of_counter(cls, counter: str) -> Volumes:
        """Parse the recorder's description of a counter."""
        time = _TIME.match(counter)
        if time is not None:
            rate = float(time[1])
            return cls(counter, "ns" if rate == 1e9 else f"units of 1/{rate:g} s", rate)
        if "nanoseconds" in counter:
            return cls(counter, "ns", 1e9)
        return cls(counter, "instructions" if "instructions" in counter else UNKNOWN_UNIT, None)


def volumes_of(*files: str | os.PathLike[str]) -> Volumes | None:
    """Return the unit of a trace's volumes; None if the trace does not give it.

    `files` are candidates for a packed trace or the file of a rank; the first readable one counts.
    """
    for file in files:
        try:
            with Path(file).open("rb") as source:
                head = source.read(_HEAD)
            packed = head.startswith(_PACKED)
            lines = (
                _core.lines_without_numbers(os.fsencode(file))
                if packed
                else head.decode().splitlines()
            )
        except (OSError, UnicodeDecodeError, InputError):
            continue
        for line in lines:
            if line.startswith(_COUNTER):
                return Volumes.of_counter(line.removeprefix(_COUNTER))
        return None
    return None


def unit_of(*files: str | os.PathLike[str]) -> str:
    """Return the name of a trace's unit of volumes; see `volumes_of`."""
    volumes = volumes_of(*files)
    return UNKNOWN_UNIT if volumes is None else volumes.unit
