"""Reading of GOAL schedules, the input of LogGOPSim."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tisim import _core
from tisim.errors import InputError
from tisim.support.reading import read_input

_Path = str | os.PathLike[str]


@contextlib.contextmanager
def goal_errors(path: _Path) -> Iterator[None]:
    """Turn the core's errors about a schedule into an `InputError`."""
    try:
        yield
    except ValueError as error:
        message, _, line = str(error).rpartition("\n")
        raise InputError(message, file=path, line=int(line) or None) from None


def read_goal(path: _Path) -> _core.GoalSchedule:
    """Read a schedule. Raises `InputError` with the line of an error."""
    with goal_errors(path):
        return _core.read_goal(read_input(path, "this GOAL schedule", any_length=True))
