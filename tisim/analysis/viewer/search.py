"""Search: ``MPI_Allreduce rank 31``, ``wait > 1ms and rank in 100..200``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import Block
from tisim.errors import InputError
from tisim.support.quantities import parse_time

if TYPE_CHECKING:
    Test = Callable[[Block], NDArray[np.bool_]]

# Subjects of conditions.
_NUMBERS = ("rank", "cause", "peer", "bytes", "line")
_TIMES = ("wait", "time", "start", "end")
_NAMES = ("call", "state")
_HOST = "host"
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|!=|<|>|=|\bin\b)\s*(.+?)\s*")
_RANGE = re.compile(r"(\d{1,18})\s*\.\.\s*(\d{1,18})")
_RANKS = re.compile(r"ranks?\s+(\d{1,18})(?:\s*(?:\.\.|-|\bto\b)\s*(\d{1,18}))?(?=\s|$)", re.I)
_EXAMPLE = "such as: MPI_Allreduce, rank 31, wait > 1ms and rank in 100..200"
_MAX_SEARCH_LENGTH = 500
_SHOWN_HOSTS = 3


class Search:
    """States that satisfy all conditions of a text, joined by ``and``.

    Words alone are conditions, too: the name of a call (``MPI_Allreduce``), a state or a host, and
    ``rank 31`` or ``ranks 3 to 5``; several may follow one another.
    A condition refers to ``wait`` (seconds of a wait state), ``time`` (of any state), ``start``,
    ``end``, ``rank``, ``cause``, ``peer``, ``bytes``, ``line``, ``call``, ``state`` or ``host`` (a
    name or a pattern such as ``node-1*``); it has one of ``< <= > >= = !=`` and a value, or ``in``
    and a range such as ``1..9``. An `InputError` names the condition that cannot be parsed.
    """

    def __init__(self, run: RunFile, text: str) -> None:
        if len(text) > _MAX_SEARCH_LENGTH:
            raise InputError(f"a search may have at most {_MAX_SEARCH_LENGTH} characters")
        self._run = run
        parts = re.split(r"\s+and\s+", text.strip(), flags=re.IGNORECASE) if text.strip() else []
        self._tests = [test for part in parts for test in self._tests_of(part)]

    def found(self, window: Window, most: int) -> dict[str, object]:
        """Return up to `most` states of a window that satisfy the conditions, the longest first."""
        table = self._run.states
        best = table.empty()
        matches, seconds = 0, 0.0
        for block in table.overlapping(window.begin, window.end):
            rows = window.rows_of(table.read(block))
            fits = np.ones(len(rows), bool)
            for test in self._tests:
                fits &= test(rows)
            rows = rows.rows(fits)
            matches += len(rows)
            seconds += float(_duration(rows).sum())
            best = Block.joined([best, rows])
            best = best.rows(np.argsort(-_duration(best), kind="stable")[:most])
        return {"matches": matches, "seconds": seconds, "states": self._run.states_of(best)}

    def _tests_of(self, text: str) -> list[Test]:
        parsed = _CONDITION.fullmatch(text)
        return [*self._of_words(text.strip())] if parsed is None else [self._test(parsed)]

    def _of_words(self, text: str) -> Iterator[Test]:
        """Yield the tests of words without an operator; the longest match of a name counts."""
        while text:
            ranks = _RANKS.match(text)
            if ranks is not None:
                yield self._counted("rank", "in", f"{ranks[1]}..{ranks[2] or ranks[1]}")
                text = text[ranks.end() :].strip()
                continue
            for end in [*(space.start() for space in re.finditer(r"\s+", text)), len(text)][::-1]:
                test = self._of_name(text[:end].strip("'\""))
                if test is not None:
                    yield test
                    text = text[end:].strip()
                    break
            else:
                raise InputError(f"{text[:60]!r} is not a condition {_EXAMPLE}. {self._names()}")

    def _of_name(self, name: str) -> Test | None:
        """Return the test for a name alone: a state, a call, or a host; None if it is none."""
        if not name:
            return None
        if name.lower() in map(str.lower, self._run.info["states"]):
            return self._named("state", "=", name)
        if name.lower().removeprefix("mpi_") in map(str.lower, self._run.info["kinds"]):
            return self._named("call", "=", name)
        hosts = self._run.info["hosts"]
        # The first component of a host name is sufficient.
        for pattern in (name, f"{name}.*"):
            if any(fnmatchcase(host, pattern) for host in hosts):
                return self._on_hosts("=", pattern)
        return None

    def _names(self) -> str:
        """Return a sentence with the calls and states of the run."""
        keys, info = self._run.info["keys"], self._run.info
        states = {info["states"][state] for state, _ in keys}
        kinds = {info["kinds"][kind] for _, kind in keys}
        return f"This run has the calls {_list_of(kinds)} and the states {_list_of(states)}"

    def _test(self, parsed: re.Match[str]) -> Test:
        name, sign, value = parsed[1].lower(), parsed[2], parsed[3]
        if name in _NAMES:
            return self._named(name, sign, value)
        if name == _HOST:
            return self._on_hosts(sign, value)
        if name in _TIMES:
            return self._timed(name, sign, value)
        if name in _NUMBERS:
            return self._counted(name, sign, value)
        known = ", ".join((*_TIMES, *_NUMBERS, *_NAMES, _HOST))
        raise InputError(f"cannot search for {name!r}; known are {known}")

    def _named(self, name: str, sign: str, value: str) -> Test:
        names = self._run.info["kinds" if name == "call" else "states"]
        column = "kind" if name == "call" else "state"
        wanted = value.strip("'\"").lower().removeprefix("mpi_")
        places = [place for place, known in enumerate(names) if known.lower() == wanted]
        if sign not in ("=", "!="):
            raise InputError(f"{name} must be compared with = or !=, not {sign}")
        if not places:
            raise InputError(f"this run has no {name} {value!r}; it has {_list_of(names)}")
        return lambda rows: np.isin(rows.numbers(column), places) == (sign == "=")

    def _on_hosts(self, sign: str, value: str) -> Test:
        """Return a test for states of ranks on hosts whose names match a pattern."""
        if sign not in ("=", "!="):
            raise InputError(f"host must be compared with = or !=, not {sign}")
        hosts, pattern = self._run.info["hosts"], value.strip("'\"")
        places = [place for place, name in enumerate(hosts) if fnmatchcase(name, pattern)]
        if not places:
            some = ", ".join(hosts[:_SHOWN_HOSTS])
            raise InputError(f"no rank of this run is on a host {value!r}; hosts are {some}, ...")
        chosen = np.isin(np.array(self._run.info["host_of"]), places)
        return lambda rows: chosen[rows.numbers("rank")] == (sign == "=")

    def _timed(self, name: str, sign: str, value: str) -> Test:
        bound = parse_time(value) if sign != "in" else 0.0
        ends = [parse_time(end.strip()) for end in value.split("..")] if sign == "in" else []
        if sign == "in" and len(ends) != 2:
            raise InputError(f"in needs a range such as 1ms..2ms, not {value!r}")
        waits = [self._run.info["states"].index(state) for state in WAITS]

        def test(rows: Block) -> NDArray[np.bool_]:
            seconds = rows.reals(name) if name in ("start", "end") else _duration(rows)
            fits = _compared(seconds, sign, bound) if not ends else _between(seconds, *ends)
            return fits & np.isin(rows.numbers("state"), waits) if name == "wait" else fits

        return test

    def _counted(self, name: str, sign: str, value: str) -> Test:
        if sign == "in":
            ends = _RANGE.fullmatch(value)
            if ends is None:
                raise InputError(f"in needs a range such as 100..200, not {value!r}")
            low, high = float(ends[1]), float(ends[2])
            return lambda rows: _between(rows.numbers(name).astype(float), low, high)
        if not re.fullmatch(r"\d{1,18}", value):
            raise InputError(f"{name} must be a whole number, not {value!r}")
        bound = float(value)
        return lambda rows: _compared(rows.numbers(name).astype(float), sign, bound)


def _duration(rows: Block) -> NDArray[np.float64]:
    return rows.reals("end") - rows.reals("start")


def _between(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    return (values >= low) & (values <= high)


def _compared(values: NDArray[np.float64], sign: str, bound: float) -> NDArray[np.bool_]:
    compare = {
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
        "=": np.equal,
        "!=": np.not_equal,
    }[sign]
    fits: NDArray[np.bool_] = compare(values, bound)
    return fits


def _list_of(names: Iterable[str]) -> str:
    return ", ".join(sorted({name for name in names if name}))
