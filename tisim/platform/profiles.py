"""Profiles: changes of a speed, bandwidth, latency or state over time.

The text format is SimGrid's: lines ``date value`` in order of dates, ``PERIODICITY p`` (the
pattern repeats every p seconds), ``LOOPAFTER d`` (it repeats d seconds after its last date),
comments after ``#`` or ``%``.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tisim.errors import InputError
from tisim.support.reading import read_text

#: Quantities that profiles change: the speed of a host (as fractions of the declared speed), the
#: bandwidth (bytes/s) or latency (s) of a link, or the state of either (on if the value is > 0).
SPEED, BANDWIDTH, LATENCY, STATE = range(4)

#: The kinds of ``<trace_connect>``: whether the resource is a link, and the affected quantity.
KINDS: Final = {
    "SPEED": (False, SPEED),
    "HOST_AVAIL": (False, STATE),
    "BANDWIDTH": (True, BANDWIDTH),
    "LATENCY": (True, LATENCY),
    "LINK_AVAIL": (True, STATE),
}

#: Minimum seconds between two rounds: with more frequent changes a simulation would stall.
MIN_PERIOD: Final = 1e-6

_STOCHASTIC: Final = re.compile("STOCHASTIC|DET|NORM|NORMAL|GAUSS|GAUSSIAN|EXP.*|UNIF.*")


@dataclass(frozen=True, slots=True)
class Profile:
    """A list of changes, optionally periodic.

    `times`: dates of the changes in the first round, in seconds, non-decreasing. `values`: values
    of the quantity from these dates on. `period`: seconds between the starts of two rounds; None if
    there is only one round.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    period: float | None = None


@dataclass(frozen=True, slots=True)
class ResourceProfile:
    """A profile of one resource: `what` is one of SPEED, BANDWIDTH, LATENCY, STATE."""

    is_link: bool
    index: int
    what: int
    profile: Profile


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profile from a file of its own.

    Raises an `InputError` if the file cannot be read or is not a profile.
    """
    file = os.fspath(path)
    return parse_profile(read_text(file, "this profile"), file=file, line=1)


def profile_from_changes(changes: Mapping[float, float], period: float | None) -> Profile:
    """Return a profile given in Python: the value at each date, and seconds between two rounds.

    Raises an `InputError` if there is no change, a date or a value is not a number, or dates
    decrease.
    """
    try:
        values = tuple(float(value) for value in changes.values())
        times = tuple(float(date) for date in changes)
        seconds = None if period is None else float(period)
    except (TypeError, ValueError):
        raise InputError(
            f"a profile must have numbers at dates in seconds, not {changes!r}"
        ) from None
    if not times:
        raise InputError("a profile must have at least one date")
    for before, date in itertools.pairwise((0.0, *times)):
        _check_date(before, date)
    for value in values:
        if not 0 <= value < math.inf:
            raise InputError(f"a value of a profile must be finite and not negative, not {value:g}")
    if seconds is not None and seconds <= 0:
        seconds = None
    return Profile(times, values, _round(times[-1], seconds, None))


def _check_date(before: float, date: float) -> None:
    if not before <= date < math.inf:
        raise InputError(
            f"dates of a profile must start at 0 or later and not decrease, but {date:g} does not"
        )


def parse_profile(
    text: str,
    period: float | None = None,
    *,
    loop_after: bool = False,
    file: str | None = None,
    line: int = 1,
) -> Profile:
    """Read a profile from its text.

    `text`: the lines. `period`: value of the ``periodicity`` attribute, seconds between two rounds;
    None or 0: one round. `loop_after`: treat `period` as the time after the last date, as SimGrid
    did before version 3.13. `file`, `line`: start of the text, for error messages.
    """
    times: list[float] = []
    values: list[float] = []
    period = period if period and period > 0 else None
    pause: float | None = None
    if loop_after:
        period, pause = None, period
    place = line
    try:
        for number, raw in enumerate(text.splitlines(), line):
            place, words = number, raw.split()
            if not words or words[0][0] in "#%":
                continue
            if _STOCHASTIC.fullmatch(words[0]):
                raise InputError(
                    "randomly drawn profiles are not supported; write the dates and values"
                )
            if words[0] == "PERIODICITY":
                period = _number(words)
            elif words[0] == "LOOPAFTER":
                pause = _number(words)
            else:
                date, value = _event(words)
                _check_date(times[-1] if times else 0.0, date)
                times.append(date)
                values.append(value)
        place = line  # errors from here on concern the whole profile
        if not times:
            raise InputError("the profile has no line 'date value'")
        return Profile(tuple(times), tuple(values), _round(times[-1], period, pause))
    except InputError as error:
        raise InputError(error.message, file=file, line=place) from None


def _number(words: list[str]) -> float:
    try:
        return float(words[1])
    except (IndexError, ValueError):
        raise InputError(f"{words[0]} needs a number of seconds") from None


def _event(words: list[str]) -> tuple[float, float]:
    try:
        return float(words[0]), float(words[1])
    except (IndexError, ValueError):
        raise InputError(
            f"a line of a profile must be 'date value', not {' '.join(words)!r}"
        ) from None


def _round(last: float, period: float | None, pause: float | None) -> float | None:
    """Return the seconds from the start of one round to the start of the next."""
    if period is not None and pause is not None:
        raise InputError("a profile can have PERIODICITY or LOOPAFTER, not both")
    if pause is not None:
        period = last + pause
    if period is None:
        return None
    if period < last or period <= 0:
        raise InputError(f"a profile cannot repeat every {period:g} s: its last date is {last:g} s")
    if period < MIN_PERIOD or period == math.inf:
        raise InputError(
            f"a profile cannot repeat every {period:g} s; the minimum is {MIN_PERIOD:g} s"
        )
    return period
