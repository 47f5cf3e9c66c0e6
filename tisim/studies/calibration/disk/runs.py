"""What a program has measured of a disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: What a disk does, in the words of fio and IOR.
DIRECTIONS: Final = ("read", "write")


@dataclass(frozen=True)
class DiskRun:
    """What jobs that ran side by side read, or wrote, together.

    Attributes
    ----------
    direction
        One of `DIRECTIONS`.
    bandwidth
        Of all jobs together, in bytes/s.
    block
        Size of a call, as the program was told, such as ``1M``; empty: it was not.
    jobs
        How many ran.
    mixed
        Whether they also did the other.
    cached
        Whether the bytes may have been in the page cache.
    name
        Of the first job.
    behind
        The part of the calls, at most, that no fsync waited for, where only some did.
    """

    direction: str
    bandwidth: float
    block: str
    jobs: int
    mixed: bool
    cached: bool
    name: str
    behind: float = 0.0


class FailedRunError(Exception):
    """A program says that what it measured has failed."""


def as_mapping(value: object) -> Mapping[str, object]:
    """An object of JSON.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def as_sequence(value: object) -> Sequence[object]:
    """A list of JSON.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(value, list):
        raise TypeError
    return value
