"""What the server answers: pictures, sums, records and messages of a window."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RecordClasses, RunFile
from tisim.analysis.view.causes import Causes
from tisim.analysis.view.comparison import Comparison
from tisim.analysis.view.depth import CallPathView
from tisim.analysis.view.network import RunNetwork
from tisim.analysis.view.path import RunPath
from tisim.analysis.view.questions import (
    MOST_COLUMNS,
    MOST_DEPTH,
    MOST_LANES,
    MOST_ROWS,
    count,
    number,
    window,
)
from tisim.analysis.view.rank_orders import RankOrders
from tisim.analysis.view.search import Search
from tisim.analysis.view.site_sums import site_sums
from tisim.analysis.view.state_colours import RECORD_COLOURS, StateColours
from tisim.analysis.viz.colours import COLOURS, MEANINGS
from tisim.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = dict[str, object]


# Questions that may read the platform or the trace.
_LONG = frozenset({"record", "sites", "links", "path", "depth", "order"})


class Answers:
    """Answers what the page asks of one run, or of two beside each other.

    Parameters
    ----------
    runs
        The runs.

    Raises
    ------
    InputError
        When two runs cannot be aligned.
    """

    def __init__(self, runs: Sequence[RunFile]) -> None:
        # Two runs have the same order of ranks, which the first one gives.
        orders = RankOrders(runs[0], RunNetwork(runs[0]))
        self._of = {name: _RunAnswers(run, orders) for name, run in zip("ab", runs, strict=False)}
        self._of_both = Comparison(runs[0], runs[1], orders).questions if len(runs) == 2 else {}
        # Requests come on several threads. Pictures and sums wait for no question that takes long
        # when it is asked for the first time; those wait for each other.
        self._lock = threading.Lock()

    def answer(self, name: str, query: Mapping[str, str]) -> bytes | None:
        """The answer to a question, JSON or the bytes of a picture; None: there is none.

        ``of`` in the query says of which run: ``a`` or ``b``.

        Raises
        ------
        InputError
            When the query makes no sense.
        """
        of = query.get("of", "a")
        if of not in self._of:
            raise InputError(f"there is no run {of[:40]!r}")
        question = self._of_both.get(name) or self._of[of].questions.get(name)
        if question is None:
            return None
        with self._lock if name in _LONG else nullcontext():
            answer = question(query)
        if name == "run" and isinstance(answer, dict):
            answer["runs"] = len(self._of)
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


class _RunAnswers:
    """Answers what the page asks of a run."""

    def __init__(self, run: RunFile, orders: RankOrders) -> None:
        self.run = run
        self._orders = orders
        self._causes = Causes(run)
        self._colours = StateColours(run, self._causes.sites)
        self._call_paths = CallPathView(run, self._causes.sites)
        self._network = RunNetwork(run)
        self._path = RunPath(run)
        self.questions: Mapping[str, Callable[[Mapping[str, str]], Row | bytes]] = {
            "run": self._run,
            "tile": self._tile,
            "statistics": self._statistics,
            "record": self._record,
            "messages": self._messages,
            "search": self._search,
            "sites": self._sites,
            "links": self._links,
            "path": self._path_of,
            "order": self._order,
            "depth": self._depth,
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
        """The class of each key: its state, or its kind."""
        import numpy as np

        by = query.get("by", "state")
        keys = np.array(self.run.info["keys"], np.int32).reshape(-1, 2)
        if by == "key":
            return np.arange(len(keys), dtype=np.int32)
        if by not in ("state", "kind"):
            known = ", ".join(("state", "kind", "key", *RECORD_COLOURS))
            raise InputError(f"by is one of {known}, not {by[:40]!r}")
        return np.ascontiguousarray(keys[:, 0 if by == "state" else 1])

    def _tile(self, query: Mapping[str, str]) -> bytes:
        """Cells: see `page/tile.js`, which reads them."""
        import numpy as np

        part = window(self.run, query, self._orders)
        columns = max(count(query, "columns", MOST_COLUMNS), 1)
        lanes = max(min(count(query, "lanes", MOST_LANES), part.ranks), 1)
        by, note, legend = query.get("by", "state"), None, None
        classes: NDArray[np.int32] | RecordClasses
        if by in RECORD_COLOURS:
            found = self._colours.classes(part, by, count(query, "depth", MOST_DEPTH, 0))
            if isinstance(found, str):
                by, note, classes = "state", found, self._classes({})
            else:
                legend = [{"name": one.name, "colour": one.colour} for one in found[0]]
                classes = found[1]
        else:
            classes = self._classes(query)
        tile = part.tile(columns, lanes, classes)
        width = (part.end - part.begin) / columns
        ranks = np.bincount(np.arange(part.ranks) * lanes // part.ranks, minlength=lanes)
        whole = np.maximum(width * ranks[tile.lane], np.finfo(float).tiny)
        share = np.clip(np.rint(255 * tile.seconds / whole), 0, 255).astype(np.uint8)
        seen = (tile.longest >= width).astype(np.uint8)
        level = part.level(columns, lanes, is_exact=False)
        head = {
            "cells": len(share),
            "columns": columns,
            "lanes": lanes,
            "begin": part.begin,
            "end": part.end,
            "first": part.first,
            "last": part.last,
            "level": None if level is None or legend else level["parts"],
            "by": by,
            "note": note,
            "legend": legend,
        }
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

    def _statistics(self, query: Mapping[str, str]) -> Row:
        """Sums over the window by state and kind of action, and by lane and state."""
        import numpy as np

        part = window(self.run, query, self._orders)
        keys = self.run.info["keys"]
        tile = part.sums(1, np.arange(len(keys), dtype=np.int32))
        by_key = [
            {
                "state": keys[key][0],
                "kind": keys[key][1],
                "seconds": float(seconds),
                "count": int(number_),
                "longest": float(longest),
            }
            for key, seconds, longest, number_ in zip(
                tile.key.tolist(), tile.seconds, tile.longest, tile.count, strict=True
            )
        ]
        lanes = min(part.ranks, count(query, "lanes", MOST_LANES, 256))
        states = np.array([state for state, _ in keys], np.int32)
        of_lane = part.sums(lanes, states)
        first = part.first + -(-np.arange(lanes + 1) * part.ranks // lanes)
        rows = [
            [int(first[lane]), int(first[lane + 1]) - 1, int(state), float(seconds), float(longest)]
            for lane, state, seconds, longest in zip(
                of_lane.lane, of_lane.key, of_lane.seconds, of_lane.longest, strict=True
            )
        ]
        return {"seconds": (part.end - part.begin) * part.ranks, "keys": by_key, "lanes": rows}

    def _sites(self, query: Mapping[str, str]) -> Row:
        return site_sums(window(self.run, query, self._orders), self._causes.sites)

    def _record(self, query: Mapping[str, str]) -> Row:
        """All that is known of what a rank does at a time."""
        rank = count(query, "rank", self.run.ranks - 1)
        found = self._causes.details(rank, number(query, "time"))
        message, others = found["message"], found["messages"]
        if message is None and isinstance(others, list) and len(others) == 1:
            message = found["message"] = others[0]
        found["route"] = self._network.route_of(message) if isinstance(message, dict) else None
        return found

    def _order(self, query: Mapping[str, str]) -> Row:
        order = self._orders.order(query.get("name", "rank"))
        return {"ranks": order.ranks.tolist(), "groups": [list(one) for one in order.groups]}

    def _depth(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        return self._call_paths.within(part, count(query, "rank", self.run.ranks - 1))

    def _links(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        return self._network.used(part.begin, part.end)

    def _path_of(self, query: Mapping[str, str]) -> Row:
        return self._path.within(window(self.run, query, self._orders))

    def _messages(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        cells = None
        if "columns" in query:
            columns = max(count(query, "columns", MOST_COLUMNS), 1)
            cells = columns, max(count(query, "lanes", MOST_LANES), 1)
        return self._causes.messages(part, count(query, "most", MOST_ROWS, 500), cells)

    def _search(self, query: Mapping[str, str]) -> Row:
        part = window(self.run, query, self._orders)
        return Search(self.run, query.get("q", "")).found(
            part, count(query, "most", MOST_ROWS, 200)
        )
