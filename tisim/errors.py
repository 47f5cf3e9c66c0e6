"""Errors shown to users, each with its location, cause and remedy."""

from __future__ import annotations

import os
from collections.abc import Mapping


class TisimError(Exception):
    """An error that tisim raises deliberately; its message is written for the user."""


class InputError(TisimError):
    """A trace, platform, deployment or option is invalid.

    Parameters
    ----------
    message
        Cause and remedy, without the location.
    file
        File that caused the error, if any.
    line
        Line in that file, counted from 1, if known.

    Notes
    -----
    ``str(error)`` is ``file:line: message``, without unknown parts.
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
    """The compiled core is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the compiled core of tisim is missing; run `make build` in a checkout; elsewhere "
            "install a C++20 compiler, then `pip install --force-reinstall --no-deps "
            "--no-cache-dir tisim`"
        )


class SimulationError(TisimError):
    """A running simulation cannot continue, for example because of a deadlock."""


class DiskFullError(SimulationError):
    """A write exceeds the free space of a disk or file system.

    Parameters
    ----------
    message
        Report of the write and of the state of all other ranks.
    details
        Contents of the attribute `details`.

    Attributes
    ----------
    details
        ``simulated_time`` (seconds), ``rank``, ``call``, ``file`` (being written), ``trace`` and
        ``line`` (of the call; None if unknown), ``disk`` (name, with its host), ``mount``; in
        bytes: ``capacity``, ``used``, ``offset``, ``bytes`` (size of the write) and ``wanted``
        (the part of the write that takes up space).
    """

    def __init__(self, message: str, details: Mapping[str, object]) -> None:
        super().__init__(message)
        self.details = dict(details)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.details)


class ExecutionError(TisimError):
    """An execution on a real MPI library started but did not finish."""


class ReplayInterrupted(KeyboardInterrupt):
    """Ctrl-C during a replay; ``str(error)`` reports the progress.

    Attributes
    ----------
    simulated_time
        Simulated time reached, in seconds.
    actions
        Number of actions begun.
    fraction
        Fraction of the traces replayed, from 0 to 1.
    """

    def __init__(
        self, message: str, *, simulated_time: float, actions: int, fraction: float
    ) -> None:
        super().__init__(message)
        self.simulated_time = simulated_time
        self.actions = actions
        self.fraction = fraction


class ResourceOffError(SimulationError):
    """A SimPy process computes on a host, or transfers over a link, that is off."""


def _input_error(
    kind: type[InputError], message: str, file: str | None, line: int | None
) -> InputError:
    """Rebuild an error that another process raised (its arguments are keyword-only)."""
    return kind(message, file=file, line=line)
