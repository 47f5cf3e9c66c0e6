"""Limits of a recording: some ranks, so much memory, parts of at most some size."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tisim.errors import InputError

#: Bytes of memory that recording may take of a rank, at most and at least.
MOST_MEMORY = 64 << 20
LEAST_MEMORY = 64 << 10

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Limits:
    """Recorded part of a run. Raises InputError when the ranks are not such a list, or a number
    is out of its range.
    """

    #: The ranks that are recorded, ``"0-3,7"``; None: all.
    ranks: str | None = None
    #: Bytes that recording may take of each rank; None: the default of the trace library, 1 MiB.
    memory: int | None = None
    #: Bytes that all parts may take; None: any number.
    max_size: int | None = None

    def __post_init__(self) -> None:
        if self.ranks is not None:
            rank_ranges(self.ranks)
        if self.memory is not None and not LEAST_MEMORY <= self.memory <= MOST_MEMORY:
            raise InputError(
                f"the memory of a rank has to be between {LEAST_MEMORY:,} and {MOST_MEMORY:,} "
                f"bytes, not {self.memory:,}"
            )
        if self.max_size is not None and self.max_size <= 0:
            raise InputError(f"parts of {self.max_size:,} bytes cannot be recorded")

    def variables(self) -> dict[str, str]:
        """The environment that tells the recorder."""
        values = {
            "TISIM_RECORD_RANKS": self.ranks,
            "TISIM_RECORD_MEMORY": self.memory,
            "TISIM_RECORD_MAX_SIZE": self.max_size,
        }
        return {name: str(value) for name, value in values.items() if value is not None}


def rank_ranges(text: str) -> list[range]:
    """The ranges of ranks in a list such as ``"0-3,7"``. Raises InputError when it is no
    such list.
    """
    found = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise InputError(f"{text!r} is not a list of ranks; write them as 0-3,7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"the ranks {item} are in the wrong order")
        found.append(range(first, last + 1))
    return found
