"""The server's answers: pictures, sums, records and messages of a window, and of two runs."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.pictures.colours import COLOURS, MEANINGS
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RecordClasses, RunFile, Window
from tisim.analysis.viewer.alignment import Alignment
from tisim.analysis.viewer.call_path import CallPathView
from tisim.analysis.viewer.call_sites import site_sums
from tisim.analysis.viewer.causes import Causes, rows_of
from tisim.analysis.viewer.critical_path import RunPath
from tisim.analysis.viewer.durations import durations
from tisim.analysis.viewer.findings import RunFindings
from tisim.analysis.viewer.network import RunNetwork
from tisim.analysis.viewer.rank_orders import RankOrders
from tisim.analysis.viewer.search import Search
from tisim.analysis.viewer.state_colours import RECORD_COLOURS, StateColours
from tisim.errors import InputError
from tisim.support.quantities import format_time

if TYPE_CHECKING:
    Row = dict[str, object]

#: Maximum numbers of columns and lanes of a picture, and of rows of an answer.
MAX_COLUMNS = 4096
MAX_LANES = 2048
MAX_ROWS = 5000
#: Maximum call depth used for colours.
MAX_DEPTH = 1000


def number(query: Mapping[str, str], name: str, default: float | None = None) -> float:
    """Return a query parameter that is a finite number."""
    text = query.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} must be a number, not {(text or '')[:40]!r}")
    return value


def count(query: Mapping[str, str], name: str, most: int, default: int | None = None) -> int:
    """Return a query parameter that is an integer from 0 to `most`."""
    text = query.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 12:
        raise InputError(f"{name} must be a whole number, not {(text or '')[:40]!r}")
    value = int(text)
    if value > most:
        raise InputError(f"{name} must be at most {most}")
    return value


def window(run: RunFile, query: Mapping[str, str], orders: RankOrders) -> Window:
    """Return the window of a request: ``begin``, ``end`` (s), ``first`` and ``last`` rank.

    With ``order``, `first` and `last` are positions in an order of `orders`.
    """
    begin, end = number(query, "begin", 0.0), number(query, "end", run.end)
    last = run.ranks - 1
    ranks = count(query, "first", last, 0), count(query, "last", last, last)
    if not begin < end or begin > run.end or end < 0.0:
        raise InputError(f"begin and end must be within 0 to {run.end} s")
    if ranks[0] > ranks[1]:
        raise InputError("first must not be above last")
    name = query.get("order", "rank")
    order = None if name == "rank" else orders.order(name).ranks
    return Window(run, begin, end, *ranks, order)


# Number of parts of the first run whose delays are listed.
_PARTS = 256
_MAX_STEPS = 20
# Minimum size of a listed step, relative to the largest one.
_MIN_STEP = 0.05


class _TwoRunAnswers:
    """Answers about two runs: corresponding times, delays, differences."""

    def __init__(self, first: RunFile, second: RunFile, orders: RankOrders) -> None:
        self._runs = first, second
        self._orders = orders
        self._alignment = Alignment(first, second)
        self.handlers: Mapping[str, Callable[[Mapping[str, str]], Row]] = {
            "match": self._match,
            "delays": self._delays,
            "differences": self._differences,
        }

    def _match(self, query: Mapping[str, str]) -> Row:
        """Convert an interval of the run ``of`` to the corresponding one of the other run."""
        of = query.get("of", "a")
        if of not in ("a", "b"):
            raise InputError(f"of must be a or b, not {of[:40]!r}")
        begin, end = (
            self._alignment.time(number(query, name), to_second=of == "a")
            for name in ("begin", "end")
        )
        return {"begin": begin, "end": end}

    def _delays(self, query: Mapping[str, str]) -> Row:
        """Return the delay of the second run over the time of the first."""
        columns = max(count(query, "columns", MAX_COLUMNS, _PARTS), 2)
        delays = self._alignment.delays(columns + 1)
        return {
            "least": delays.min(axis=0).tolist(),
            "median": np.median(delays, axis=0).tolist(),
            "most": delays.max(axis=0).tolist(),
            "steps": self._steps(),
        }

    def _steps(self) -> list[Row]:
        """Return merged parts of the first run in which the second loses or gains most."""
        steps = np.diff(self._alignment.delays(_PARTS + 1), axis=1)
        median = np.median(steps, axis=0)
        sign = np.where(np.abs(median) > _MIN_STEP * np.abs(median).max(), np.sign(median), 0.0)
        borders = np.flatnonzero(np.diff(np.concatenate(([0.0], sign, [0.0]))))
        width = self._runs[0].end / _PARTS
        parts = [part for part in pairwise(borders.tolist()) if sign[part[0]]]
        changes = [steps[:, begin:end].sum(axis=1) for begin, end in parts]
        found = rows_of(
            begin=[begin * width for begin, _ in parts],
            end=[end * width for _, end in parts],
            seconds=[float(np.median(change)) for change in changes],
            rank=[self._alignment.ranks[int(np.abs(change).argmax())] for change in changes],
        )
        return sorted(found, key=lambda step: -abs(float(str(step["seconds"]))))[:_MAX_STEPS]

    def _differences(self, query: Mapping[str, str]) -> Row:
        """Return seconds by state and call in a window of the first run, and of the same calls."""
        first = window(self._runs[0], query, self._orders)
        begin, end = (self._alignment.time(at, to_second=True) for at in (first.begin, first.end))
        later = {**query, "begin": str(begin), "end": str(max(end, begin + 1e-15))}
        second = window(self._runs[1], later, self._orders)
        sums = [_sums(part) for part in (first, second)]
        keys = sorted({*sums[0], *sums[1]})
        return {
            "a": {"begin": first.begin, "end": first.end},
            "b": {"begin": begin, "end": end},
            "ranks": first.ranks,
            "rows": rows_of(
                state=[state for state, _ in keys],
                kind=[kind for _, kind in keys],
                a=[sums[0].get(key, 0.0) for key in keys],
                b=[sums[1].get(key, 0.0) for key in keys],
            ),
        }


def _sums(part: Window) -> dict[tuple[str, str], float]:
    """Return seconds by names of state and kind: numbers may differ between versions."""
    info = part.run.info
    tile = part.sums(1, np.arange(len(info["keys"]), dtype=np.int32))
    found: dict[tuple[str, str], float] = {}
    for key, seconds in zip(tile.key.tolist(), tile.seconds.tolist(), strict=True):
        state, kind = info["keys"][key]
        name = info["states"][state], info["kinds"][kind]
        found[name] = found.get(name, 0.0) + seconds
    return found


# Queries that may read the platform or the trace.
_LONG = frozenset({"record", "sites", "links", "path", "depth", "order", "findings"})


class Answers:
    """Answers the queries of the page about one run, or two runs of the same program."""

    def __init__(self, runs: Sequence[RunFile]) -> None:
        # Both runs use the order of ranks of the first.
        orders = RankOrders(runs[0], RunNetwork(runs[0]))
        self._of = {name: _RunAnswers(run, orders) for name, run in zip("ab", runs, strict=False)}
        self._of_both = _TwoRunAnswers(runs[0], runs[1], orders).handlers if len(runs) == 2 else {}
        # Requests arrive on several threads. Queries that are slow the first time wait for each
        # other; pictures and sums do not wait for them.
        self._lock = threading.Lock()

    def answer(self, name: str, query: Mapping[str, str]) -> bytes | None:
        """Return the answer to a query, JSON or the bytes of a picture; None if it is unknown.

        ``of`` in the query names the run, ``a`` or ``b``. An `InputError` describes an invalid
        query.
        """
        of = query.get("of", "a")
        if of not in self._of:
            raise InputError(f"no run {of[:40]!r}")
        handler = self._of_both.get(name) or self._of[of].handlers.get(name)
        if handler is None:
            return None
        with self._lock if name in _LONG else nullcontext(), self._of[of].run.reading():
            answer = handler(query)
        if name == "run" and isinstance(answer, dict):
            answer["runs"] = len(self._of)
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


class _RunAnswers:
    """Answers the page's queries about one run."""

    def __init__(self, run: RunFile, orders: RankOrders) -> None:
        self.run = run
        self._orders = orders
        self._causes = Causes(run)
        self._network = RunNetwork(run)
        sites = self._causes.sites
        self._colours = StateColours(run, sites)
        call_paths, path = CallPathView(run, sites), RunPath(run, self._causes)
        found = RunFindings(run, self._network, self._causes)
        self.handlers: Mapping[str, Callable[[Mapping[str, str]], Row | bytes]] = {
            "run": self._run,
            "tile": self._tile,
            "statistics": self._statistics,
            "record": self._record,
            "state": lambda query: self._causes.state(
                count(query, "rank", run.ranks - 1), number(query, "time")
            ),
            "messages": self._messages,
            "links": self._links,
            "order": self._order,
            "search": self._search,
            "findings": lambda query: found.all(),
            "sites": lambda query: site_sums(window(run, query, orders), sites),
            "durations": lambda query: durations(window(run, query, orders)),
            "path": lambda query: path.within(window(run, query, orders)),
            "depth": lambda query: call_paths.within(
                window(run, query, orders), count(query, "rank", run.ranks - 1)
            ),
        }

    def _run(self, query: Mapping[str, str]) -> Row:
        info = self.run.info
        return {
            "title": info["title"],
            "file": self.run.path.name,
            "ranks": info["ranks"],
            "end": info["end"],
            "hosts": info["hosts"],
            "hostOf": info["host_of"],
            "lanes": info.get("lanes"),
            "states": [
                {
                    "name": name,
                    "colour": COLOURS.get(name, "#888888"),
                    "meaning": MEANINGS.get(name, ""),
                    "wait": name in WAITS,
                }
                for name in info["states"]
            ],
            "kinds": info["kinds"],
            "keys": info["keys"],
            "records": info["records"],
            "orders": self._orders.names(),
            "sites": self._causes.sites.are_known,
        }

    def _classes(self, query: Mapping[str, str]) -> NDArray[np.int32]:
        """Return the class of each key: its state, or its kind."""
        by = query.get("by", "state")
        keys = np.array(self.run.info["keys"], np.int32).reshape(-1, 2)
        if by == "key":
            return np.arange(len(keys), dtype=np.int32)
        if by not in ("state", "kind"):
            known = ", ".join(("state", "kind", "key", *RECORD_COLOURS))
            raise InputError(f"by must be one of {known}, not {by[:40]!r}")
        return np.ascontiguousarray(keys[:, 0 if by == "state" else 1])

    def _tile(self, query: Mapping[str, str]) -> bytes:
        """Return cells in the format read by `page/tile.js`."""
        part = window(self.run, query, self._orders)
        columns = max(count(query, "columns", MAX_COLUMNS), 1)
        lanes = max(min(count(query, "lanes", MAX_LANES), part.ranks), 1)
        by, note, legend = query.get("by", "state"), None, None
        classes: NDArray[np.int32] | RecordClasses
        if by in RECORD_COLOURS:
            found = self._colours.classes(part, by, count(query, "depth", MAX_DEPTH, 0))
            if isinstance(found, str):
                by, note, classes = "state", found, self._classes({})
            else:
                legend = [{"name": state.name, "colour": state.colour} for state in found[0]]
                classes = found[1]
        else:
            classes = self._classes(query)
        tile = part.tile(columns, lanes, classes)
        if not len(tile.key):
            note = self._why_empty(part)
        width = (part.end - part.begin) / columns
        ranks = np.bincount(np.arange(part.ranks) * lanes // part.ranks, minlength=lanes)
        whole = np.maximum(width * ranks[tile.lane], np.finfo(float).tiny)
        seconds = np.nan_to_num(tile.seconds.astype(np.float64))  # damaged files have any numbers
        share = np.clip(np.rint(255 * seconds / whole), 0, 255).astype(np.uint8)
        seen = (tile.longest >= width).astype(np.uint8)
        level = part.level(columns, lanes, is_exact=False)
        head: Row = {"cells": len(share), "columns": columns, "lanes": lanes}
        head |= {"begin": part.begin, "end": part.end, "first": part.first, "last": part.last}
        head |= {"level": None if level is None or legend else level["parts"]}
        head |= {"by": by, "note": note, "legend": legend}
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 4)
        pieces = [
            np.array([len(text)], "<u4").tobytes(),
            text,
            tile.column.astype("<u2").tobytes(),
            tile.lane.astype("<u2").tobytes(),
            tile.key.astype(np.uint8).tobytes(),
            share.tobytes(),
            seen.tobytes(),
        ]
        return b"".join(pieces)

    def _why_empty(self, part: Window) -> str:
        ranks = np.arange(self.run.ranks)
        last = format_time(float(self._orders.ends[part.holds(ranks)].max()), 6)
        return f"Nothing happens here: the last rank shown ended at {last}."

    def _statistics(self, query: Mapping[str, str]) -> Row:
        """Return sums over the window by state and kind of action, and by lane and state."""
        part = window(self.run, query, self._orders)
        keys = self.run.info["keys"]
        tile = part.sums(1, np.arange(len(keys), dtype=np.int32))
        by_key = rows_of(
            state=[keys[key][0] for key in tile.key],
            kind=[keys[key][1] for key in tile.key],
            seconds=tile.seconds.tolist(),
            count=tile.count.tolist(),
            longest=tile.longest.tolist(),
        )
        lanes = min(part.ranks, count(query, "lanes", MAX_LANES, 256))
        states = np.array([state for state, _ in keys], np.int32)
        of_lane = part.sums(lanes, states)
        first = part.first + -(-np.arange(lanes + 1) * part.ranks // lanes)
        columns = first[of_lane.lane], first[of_lane.lane + 1] - 1, of_lane.key
        sums = of_lane.seconds, of_lane.longest
        rows = [*zip(*(column.tolist() for column in (*columns, *sums)), strict=True)]
        return {"seconds": (part.end - part.begin) * part.ranks, "keys": by_key, "lanes": rows}

    def _record(self, query: Mapping[str, str]) -> Row:
        """Return all details of a rank's state at a time."""
        rank = count(query, "rank", self.run.ranks - 1)
        found = self._causes.details(rank, number(query, "time"))
        message, others = found["message"], found["messages"]
        if message is None and isinstance(others, list) and len(others) == 1:
            message = found["message"] = others[0]
        found["route"] = self._network.route_of(message) if isinstance(message, dict) else None
        return found

    def _order(self, query: Mapping[str, str]) -> Row:
        order = self._orders.order(query.get("name", "rank"))
        return {"ranks": order.ranks.tolist(), "groups": [list(group) for group in order.groups]}

    def _links(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        is_drawn = query.get("picture") == "1"
        return self._network.used(part.begin, part.end, is_drawn=is_drawn)

    def _messages(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        cells = None
        if "columns" in query:
            columns = max(count(query, "columns", MAX_COLUMNS), 1)
            cells = columns, max(count(query, "lanes", MAX_LANES), 1)
        return self._causes.messages(part, count(query, "most", MAX_ROWS, 500), cells)

    def _search(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        return Search(self.run, query.get("q", "")).found(part, count(query, "most", MAX_ROWS, 200))
