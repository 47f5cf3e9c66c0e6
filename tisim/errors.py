"""Errors that a user can meet, each with its place, its cause and its remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping


class TisimError(Exception):
    """An error that tisim raises on purpose; its text is meant for the user."""


class InputError(TisimError):
    """A trace, platform, deployment or option that cannot be used.

    Parameters
    ----------
    message
        What is wrong and what to do about it, without the place.
    file
        The file at fault, when there is one.
    line
        The line in that file, counted from 1, when it is known.

    Notes
    -----
    ``str(error)`` is ``file:line: message``, without the parts that are not known.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | os.PathLike[str] | None = None,
        line: int | None = None,
    ) -> None:
        self.message = message
        self.file = None if file is None else os.fspath(file)
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _input_error, (type(self), self.message, self.file, self.line)


class MissingCoreError(TisimError, ImportError):
    """The compiled core, which is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the compiled core of tisim is missing; run `make build` in a checkout; elsewhere "
            "install a C++20 compiler, then `pip install --force-reinstall --no-deps "
            "--no-cache-dir tisim`"
        )


class SimulationError(TisimError):
    """A simulation that started and cannot go on, such as a deadlock."""


class DiskFullError(SimulationError):
    """A write that a disk or file system has no room for.

    Parameters
    ----------
    message
        The report: the write, and what all other ranks do.
    details
        The attributes below, by their names.

    Attributes
    ----------
    details
        ``simulated_time`` (seconds), ``rank``, ``call``, ``file`` (that is written), ``trace`` and
        ``line`` (of the call; None: not known), ``disk`` (its name, with its host), ``mount``,
        ``capacity``, ``used``, ``offset``, ``bytes`` (of the write) and ``wanted`` (those of them
        that take room), all in bytes.
    """

    def __init__(self, message: str, details: Mapping[str, object]) -> None:
        super().__init__(message)
        self.details = dict(details)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.details)


class ExecutionError(TisimError):
    """An execution on a real MPI library that began and did not come to its end."""


class ReplayInterrupted(KeyboardInterrupt):
    """Ctrl-C while a trace was being replayed; ``str(error)`` says how far it was.

    Attributes
    ----------
    simulated_time
        The simulated time that was reached, in seconds.
    actions
        How many actions had begun.
    fraction
        The part of the traces that this is, from 0 to 1.
    """

    def __init__(
        self, message: str, *, simulated_time: float, actions: int, fraction: float
    ) -> None:
        super().__init__(message)
        self.simulated_time = simulated_time
        self.actions = actions
        self.fraction = fraction


class ResourceOffError(SimulationError):
    """A computation or transfer of a SimPy process on a host or link that is off."""


def _input_error(
    kind: type[InputError], message: str, file: str | None, line: int | None
) -> InputError:
    """Rebuild an error that another process raised (its arguments are keyword-only)."""
    return kind(message, file=file, line=line)
