"""The calls of a measured run, their times, and the send that matches each receive.

MPI matches messages in the order in which they are sent and received, whatever the machine.
Therefore a replay on any platform tells which calls match; its times are not used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import kind_names, names_of_kinds
from tisim.errors import InputError
from tisim.traces import Trace

_COLUMNS = {"rank": "i4", "start": "f8", "end": "f8", "line": "i8"}


@dataclass(frozen=True)
class MeasuredCalls:
    """Calls of a rank in the order of their lines; several calls of one line are merged.

    Times are seconds on a clock shared by all ranks.
    """

    line: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    @classmethod
    def of_lines(
        cls, line: NDArray[np.int64], start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> MeasuredCalls:
        """Return the calls of a rank from all measurements of its lines."""
        order = np.argsort(line, kind="stable")
        line, start, end = line[order], start[order], end[order]
        if not len(line):
            return cls(line, start, end)
        first = np.flatnonzero(np.append(True, line[1:] != line[:-1]))
        return cls(line[first], np.minimum.reduceat(start, first), np.maximum.reduceat(end, first))


def read_calls(path: str | os.PathLike[str], ranks: int) -> Iterator[tuple[int, MeasuredCalls]]:
    """Yield the calls of each rank from a table written by ``tisim execute --timeline``.

    The CSV file has the columns ``rank``, ``start``, ``end`` (s) and ``line``; any other file
    raises an `InputError`.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path, usecols=[*_COLUMNS], dtype=_COLUMNS)
    except (OSError, ValueError) as error:
        raise InputError(
            f"is not a table of calls with the columns {', '.join(_COLUMNS)}: {error}", file=path
        ) from None
    table = table.sort_values("rank", kind="stable", ignore_index=True)
    borders = np.searchsorted(table["rank"].to_numpy(), np.arange(ranks + 1))
    for rank in range(ranks):
        of_rank = table.iloc[borders[rank] : borders[rank + 1]]
        columns = (of_rank[name].to_numpy() for name in ("line", "start", "end"))
        yield rank, MeasuredCalls.of_lines(*columns)


_SENDS = names_of_kinds("send", "exchange")
_RECEIVES = names_of_kinds("receive", "exchange")
# Sends do not wait for receives; calls take time, so that those of a rank are ordered.
_OPTIONS = {
    "smpi/async-small-thresh": "0",
    "smpi/send-is-detached-thresh": str(1 << 60),
    "smpi/os": "0:1e-7:0",
    "smpi/ois": "0:1e-7:0",
    "smpi/or": "0:1e-7:0",
}


@dataclass(frozen=True)
class Actions:
    """The actions of all ranks, rank by rank, and their messages.

    `first` contains the index of each rank's first row, and the number of `rows`. `messages` are
    those whose two actions are known: the rows `send` and `receive`. `unmatched` is the number of
    other messages, between pairs of ranks with different numbers of calls. `start` and `end` are
    the seconds of each action in the real run, NaN until they are known.
    """

    rows: NDArray[np.void]
    kinds: NDArray[np.str_]
    first: NDArray[np.intp]
    messages: NDArray[np.void]
    send: NDArray[np.intp]
    receive: NDArray[np.intp]
    unmatched: int
    start: NDArray[np.float64]
    end: NDArray[np.float64]


def actions_of(trace: Trace) -> Actions:
    """Return the actions of a trace and their messages, from a replay of the trace."""
    from tisim.platform import new
    from tisim.simulation.replay import replay

    # Receives from any source take the recorded source, if known.
    sources = "matched" if trace.core.has_matched_sources else "any"
    result = replay(
        trace,
        platform=new.cluster(trace.ranks, bandwidth="1Tbps", latency="1us", speed="1Gf"),
        config={**_OPTIONS, "tisim/sources": sources},
        event_log=True,
    )
    log = result.event_log
    assert log is not None
    rows = log.store.read("actions")
    rows = rows[np.lexsort((rows["start"], rows["line"], rows["rank"]))]
    first = np.searchsorted(rows["rank"], np.arange(trace.ranks + 1))
    sent = log.store.read("messages")
    sent = sent[(sent["collective"] == 0) & (sent["received"] >= 0)]
    kinds = np.array(kind_names())[rows["kind"]]
    ends = sent["source"], sent["destination"]
    send = _matched(rows, np.isin(kinds, [*_SENDS]), ends, sent["sent"])
    receive = _matched(rows, np.isin(kinds, [*_RECEIVES]), ends[::-1], sent["received"])
    known = (send >= 0) & (receive >= 0)
    messages = sent[known], send[known], receive[known], int((~known).sum())
    times = (np.full(len(rows), np.nan) for _ in range(2))
    return Actions(rows, kinds, first, *messages, *times)


def _matched(
    rows: NDArray[np.void],
    wanted: NDArray[np.bool_],
    ends: tuple[NDArray[np.int32], NDArray[np.int32]],
    posted: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Return the row of one end of each message, -1 if unknown. `ends`: this end, and the other.

    Messages of a pair of ranks are matched by order. The rest, of receives from any source and of
    calls that send to one rank and receive from another, are matched by order per rank.
    """
    found = np.full(len(posted), -1, np.intp)
    ranks = int(rows["rank"].max(initial=0)) + 1
    left = np.flatnonzero(wanted)
    by_pair = left[rows["peer"][left] >= 0]
    pairs = rows["rank"][by_pair].astype(np.int64) * ranks + rows["peer"][by_pair]
    _count_off(found, by_pair, pairs, ends[0].astype(np.int64) * ranks + ends[1], posted)
    left = left[~np.isin(left, found)]
    _count_off(found, left, rows["rank"][left].astype(np.int64), ends[0].astype(np.int64), posted)
    return found


def _count_off(
    found: NDArray[np.intp],
    places: NDArray[np.intp],
    keys: NDArray[np.int64],
    message_keys: NDArray[np.int64],
    posted: NDArray[np.float64],
) -> None:
    """Assign rows to unassigned messages, for keys with as many messages as rows."""
    missing = np.flatnonzero(found < 0)
    missing = missing[np.lexsort((posted[missing], message_keys[missing]))]
    places, keys = (column[np.argsort(keys, kind="stable")] for column in (places, keys))
    counts = [
        dict(zip(*np.unique(side, return_counts=True), strict=True))
        for side in (keys, message_keys[missing])
    ]
    same = [key for key, count in counts[0].items() if counts[1].get(key) == count]
    chosen = missing[np.isin(message_keys[missing], same)]
    found[chosen] = places[np.isin(keys, same)]
