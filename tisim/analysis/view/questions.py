"""What the page asks for, read from the query of a request and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.view.rank_orders import RankOrders
from tisim.errors import InputError

#: The most columns and lanes of a picture, and the most rows of an answer.
MOST_COLUMNS = 4096
MOST_LANES = 2048
MOST_ROWS = 5000
#: The deepest function that states are coloured by.
MOST_DEPTH = 1000


def number(query: Mapping[str, str], name: str, default: float | None = None) -> float:
    """A finite number."""
    text = query.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} is a number, not {(text or '')[:40]!r}")
    return value


def count(query: Mapping[str, str], name: str, most: int, default: int | None = None) -> int:
    """A whole number from 0 to `most`."""
    text = query.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 12:
        raise InputError(f"{name} is a whole number, not {(text or '')[:40]!r}")
    value = int(text)
    if value > most:
        raise InputError(f"{name} is at most {most}")
    return value


def window(run: RunFile, query: Mapping[str, str], orders: RankOrders) -> Window:
    """The window of a request: ``begin``, ``end`` (s), ``first`` and ``last`` rank.

    With ``order``, `first` and `last` are positions in an order of `orders`.
    """
    begin, end = number(query, "begin", 0.0), number(query, "end", run.end)
    last = run.ranks - 1
    ranks = count(query, "first", last, 0), count(query, "last", last, last)
    if not begin < end or begin > run.end or end < 0.0:
        raise InputError(f"begin and end are a part of 0 to {run.end} s")
    if ranks[0] > ranks[1]:
        raise InputError("first is at most last")
    name = query.get("order", "rank")
    order = None if name == "rank" else orders.order(name).ranks
    return Window(run, begin, end, *ranks, order)
