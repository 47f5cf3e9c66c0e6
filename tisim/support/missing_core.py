"""Substitute for the compiled core if it is not installed, so that the SimPy kernel can run.

It has the few constants that schedules of collectives need; calling anything else raises an error
that explains how to install the core.
"""

from __future__ import annotations

from enum import IntEnum

from tisim.errors import MissingCoreError

#: Wildcard source: a receive matches a message from any rank.
ANY_SOURCE = -555
#: No rank: messages to it and from it do nothing.
PROC_NULL = -666


class StepCode(IntEnum):
    """The action of a row of a schedule."""

    SEND = 0
    SSEND = 1
    ISEND = 2
    RECV = 3
    IRECV = 4
    WAIT = 5
    WAITALL = 6
    SENDRECV = 7
    RECV_HALF = 8
    COMPUTE = 9
    FILE_READ = 10
    FILE_WRITE = 11
    FILE_IREAD = 12
    FILE_IWRITE = 13
    FILE_OFFSET = 14
    FILE_OWN = 15


class Stage(IntEnum):
    """A stage of the creation of a communicator."""

    NONE = 0
    COLORS = 1
    GROUPS = 2
    NUMBER = 3
    PARTS = 4
    TRANSFER = 5


class ScheduleError(Exception):
    """A schedule is invalid."""


def file_size_bounds() -> list[int]:
    """Return no size classes: the SimPy kernel has no files."""
    return []


class _Absent:
    """A placeholder for a name of the core: it can be referenced but not called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self._name}.{name}")

    def __call__(self, *_: object, **__: object) -> object:
        raise MissingCoreError

    def __iter__(self) -> object:
        return iter(())


def __getattr__(name: str) -> object:
    if name.startswith("__") or name == "VERIFIES":
        raise AttributeError(name)
    return _Absent(name)
