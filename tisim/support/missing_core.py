"""Stands in for the compiled core where it is not installed, so that the SimPy kernel can run.

It has the few numbers that schedules of collectives are made of; calling anything else says how to
get the core.
"""

from __future__ import annotations

from enum import IntEnum

from tisim.errors import MissingCoreError

#: A receive that takes a message from any rank.
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
    """A stage of the making of a communicator."""

    NONE = 0
    COLORS = 1
    GROUPS = 2
    NUMBER = 3
    PARTS = 4
    TRANSFER = 5


class ScheduleError(Exception):
    """A schedule that cannot be carried out."""


def file_size_bounds() -> list[int]:
    """Without files, there are no classes of their sizes."""
    return []


class _Absent:
    """Something of the core: it can be named but not used."""

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
