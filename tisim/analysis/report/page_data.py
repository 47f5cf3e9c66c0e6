"""The data embedded in a report's page for its charts."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tisim.analysis.pictures.colours import COLOURS
from tisim.analysis.pictures.gantt import Lanes, longest_waits_first
from tisim.analysis.timeline.columns import STATES, kind_names
from tisim.errors import InputError
from tisim.support.quantities import format_time

if TYPE_CHECKING:
    from tisim.analysis.result import Result
    from tisim.analysis.timeline.event_log import EventLog
    from tisim.analysis.timeline.outliers import Outlier

#: Average number of states per rank in a typical part; up to twice as many are shown whole.
TYPICAL_STATES = 60
# Bins per typical part, which starts at a bin, and maximum number of bins of the whole run.
_TYPICAL_STEPS = 4
_MAX_TYPICAL_STEPS = 1 << 14


def typical_part(
    log: EventLog, least: float = 0.0, most: int = TYPICAL_STATES
) -> tuple[float, float]:
    """Return begin and end, in seconds, of the part whose shares of states are most like the run's.

    It lasts at least `least` seconds, and long enough for about `most` states per rank on average.

    The earliest one wins ties. Shares are those of all ranks together; their distance is the sum
    of absolute differences.
    """
    end = log.run.end
    states = log.store.count("states") / log.run.ranks
    if states <= 2 * most or 2 * least >= end:
        return 0.0, end
    bins = min(int(_TYPICAL_STEPS * states / most), _MAX_TYPICAL_STEPS)
    if least > 0.0:
        bins = min(bins, int(_TYPICAL_STEPS * end / least))
    together = np.zeros(log.run.ranks, np.int32)
    seconds = log.seconds_by_state(together, 1, bins)[0].astype(np.float64)
    sums = np.concatenate([np.zeros((1, seconds.shape[1])), np.cumsum(seconds, axis=0)])
    parts = sums[_TYPICAL_STEPS:] - sums[:-_TYPICAL_STEPS]
    tiny = np.finfo(float).tiny
    shares = parts / np.maximum(parts.sum(axis=1, keepdims=True), tiny)
    whole = sums[-1] / max(float(sums[-1].sum()), tiny)
    first = int(np.abs(shares - whole).sum(axis=1).round(6).argmin())
    return end * first / bins, end * (first + _TYPICAL_STEPS) / bins


# Maximum content of a page, to keep it small: ranks with a lane each, or else lanes; all states,
# or else cells of shares; messages, turns of the critical path, links. With more ranks, the page
# also contains shares of smaller groups in longer bins, and fewer states of the detailed part.
_RANKS, _LANES = 128, 64
_STATES, _STATES_OF_MANY = 100_000, 40_000
_CELLS, _CELLS_OF_MANY, _FINER_CELLS = 200_000, 120_000, 80_000
# Minimum number of bins of smaller groups, and of states per rank in a part with all states.
_MIN_FINER_BINS, _MIN_STATES = 40, 8
_MESSAGES = 15_000
_TURNS = 15_000
_LINKS = 40
# Minimum number of share bins in the part shown first.
_MIN_BINS = 100
# Number of rows of the event log processed at once.
_ROWS_AT_ONCE = 1 << 20
# Outliers are labelled if the waits that they cause reach this fraction of the worst one's.
_LABELLED = 0.1
#: Maximum number of rows and columns of the matrix.
BLOCKS = 100


def page_data(result: Result, part: tuple[float, float]) -> str:
    """Return all data needed by the scripts of a report, as JSON that can be embedded in HTML.

    `part`: begin and end of the chart's initial window, in seconds.
    """
    log = result.require_event_log()
    room = Resolution(log)
    used = used_states(log)
    begin, end = part
    data = {
        "end": log.run.end or 1.0,
        "typical": [begin, end] if end > begin else [0.0, 1.0],
        "states": [{"name": STATES[number], "colour": COLOURS[STATES[number]]} for number in used],
        "kinds": kind_names(),
        "ranks": log.run.ranks,
        "lanes": {"count": room.lanes.count, "size": room.lanes.size},
        "gantt": _all_states(log, used) if room.is_exact else _shares(log, room),
        "detail": _detail(log, used, begin, end, room.most_states) if room.has_detail else None,
        "messages": _messages(log),
        "outliers": [
            {"rank": event.rank, "begin": event.start, "end": event.end, "text": _label(event)}
            for event in log.outliers
            if event.waited >= _LABELLED * log.outliers[0].waited
        ],
        "path": _path(log),
        "matrix": _matrix(log),
        "links": _links(log),
    }
    return json.dumps(data).replace("<", "\\u003c")


class Resolution:
    """The resolution that fits in a page.

    Attributes
    ----------
    lanes, bins
        Of the chart: lanes of ranks, and time bins of shares.
    finer
        Groups smaller than the lanes, whose shares the page also contains; None if it does not.
    is_exact
        True if every state of every rank fits; `most_states` is the limit.
    has_detail
        True if every state of only the typical part fits.
    """

    def __init__(self, log: EventLog) -> None:
        ranks = log.run.ranks
        self.lanes = Lanes.at_most(ranks, _RANKS if ranks <= _RANKS else _LANES)
        is_single = self.lanes.size == 1
        self.bins = max(500, (_CELLS if is_single else _CELLS_OF_MANY) // self.lanes.count)
        finer = Lanes.at_most(ranks, _FINER_CELLS // _MIN_FINER_BINS)
        self.finer = finer if finer.size < self.lanes.size else None
        self.finer_bins = _FINER_CELLS // finer.count
        self.most_states = _STATES if is_single else _STATES_OF_MANY
        self.is_exact = log.store.count("states") <= self.most_states
        self.has_detail = not self.is_exact and self.most_states >= 2 * _MIN_STATES * ranks


def used_states(log: EventLog) -> list[int]:
    """Return the states that occur, by index."""
    sums = log.breakdown.by_rank.sum().to_numpy()
    used: list[int] = np.nonzero(sums)[0].tolist()
    return used


def _label(one: Outlier) -> str:
    """Return the label of an outlier in the chart."""
    usual = format_time(one.usual, 3)
    return f"rank {one.rank} computes for {format_time(one.seconds, 3)}, usually {usual}"


def _packed(values: ArrayLike, kind: str) -> dict[str, str]:
    """Encode an array as text: little-endian, compressed, in base 64."""
    raw = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"type": kind, "data": base64.b64encode(zlib.compress(raw, 9)).decode()}


def _lanes(lanes: Lanes) -> dict[str, object]:
    labels = [lanes.label(lane) for lane in range(lanes.count)]
    return {"count": lanes.count, "size": lanes.size, "labels": labels}


def _all_states(log: EventLog, used: list[int]) -> dict[str, object]:
    return {"mode": "exact", **_packed_states(log, log.store.read("states"), used)}


def chosen_part(log: EventLog, begin: float | None, end: float | None) -> tuple[float, float]:
    """Return the interval to show first; `first_part` if neither end is given."""
    if begin is None and end is None:
        return first_part(log)
    whole = log.run.end
    first, last = begin or 0.0, whole if end is None else min(end, whole)
    if not 0.0 <= first < last:
        raise InputError(f"the simulation lasts from 0 to {whole:.9g} s; show a part of that")
    return first, last


def first_part(log: EventLog) -> tuple[float, float]:
    """Return the interval that a page shows first; lanes of many ranks have wide columns."""
    room = Resolution(log)
    if room.is_exact or room.has_detail:
        # Ranks have more states in some parts than on average.
        return typical_part(log, 0.0, min(TYPICAL_STATES, room.most_states // (2 * log.run.ranks)))
    return typical_part(log, _MIN_BINS * log.run.end / room.bins)


def _detail(log: EventLog, used: list[int], begin: float, end: float, most: int) -> object:
    """Return every state of the typical part and around it, for small moves and zooms."""
    around = end - begin
    low, high = max(begin - around, 0.0), min(end + around, log.run.end)
    found = _states_between(log, low, high)
    if len(found) > most:
        low, high = begin, end
        found = _states_between(log, low, high)
    if len(found) > most:
        return None
    starts = np.full(log.run.ranks, high)
    np.minimum.at(starts, found["rank"], found["start"])
    states = {**_packed_states(log, found, used), "from": _packed(starts, "f8")}
    return {"begin": low, "end": high, "states": states}


def _states_between(log: EventLog, low: float, high: float) -> NDArray[np.void]:
    rows = log.store.read("states")
    parts = []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[first : first + _ROWS_AT_ONCE]
        parts.append(block[(block["end"] >= low) & (block["start"] <= high)])
    return np.concatenate(parts)


def _packed_states(log: EventLog, rows: NDArray[np.void], used: list[int]) -> dict[str, object]:
    """Encode states by rank and time; those of a rank are contiguous."""
    order = np.argsort(rows["rank"], kind="stable")
    place = np.zeros(len(STATES), dtype=np.uint8)
    place[used] = np.arange(len(used))
    ranks = np.arange(log.run.ranks + 1)
    return {
        "first": _packed(np.searchsorted(rows["rank"][order], ranks), "i4"),
        "end": _packed(rows["end"][order], "f8"),
        "state": _packed(place[rows["state"][order]], "u1"),
        "kind": _packed(rows["kind"][order], "u1"),
        "cause": _packed(rows["cause"][order], "i4"),
    }


def _shares(log: EventLog, room: Resolution) -> dict[str, object]:
    """Return the shares of states in the groups of the lanes, and in smaller ones."""
    levels = [_shares_of(log, room.lanes, room.bins)]
    if room.finer is not None:
        levels.append(_shares_of(log, room.finer, room.finer_bins))
    return {"mode": "shares", "levels": levels}


def _shares_of(log: EventLog, lanes: Lanes, bins: int) -> dict[str, object]:
    seconds = log.seconds_by_state(lanes.groups, lanes.count, bins)[:, :, used_states(log)]
    room = lanes.sizes[:, None, None] * log.run.end / bins
    parts = np.rint(255 * np.clip(seconds / room, 0, 1))
    share = _packed(np.moveaxis(parts, 2, 0), "u1")
    return {"count": lanes.count, "size": lanes.size, "bins": bins, "share": share}


def _messages(log: EventLog) -> dict[str, object]:
    """Return the messages that have arrived, the longest-awaited first, up to a limit."""
    rows = log.store.read("messages")
    count = len(rows)
    rows = longest_waits_first(rows, _MESSAGES)
    return {
        "count": count,
        "part": min(1.0, _MESSAGES / max(count, 1)),
        "source": _packed(rows["source"], "i4"),
        "destination": _packed(rows["destination"], "i4"),
        "started": _packed(rows["started"], "f8"),
        "arrived": _packed(rows["arrived"], "f8"),
    }


def _path(log: EventLog) -> dict[str, object]:
    """Return the critical path as times and ranks, without detail finer than `merged` seconds."""
    time, rank, merged = log.critical_path.turns(_TURNS)
    return {"merged": merged, "time": _packed(time, "f8"), "rank": _packed(rank, "i4")}


def _matrix(log: EventLog) -> dict[str, object]:
    lanes = Lanes.at_most(log.run.ranks, BLOCKS)
    matrix = log.matrix
    source, destination = (
        matrix[name].to_numpy() // lanes.size for name in ("source", "destination")
    )
    sums = np.zeros((2, lanes.count, lanes.count))
    for number, name in enumerate(("bytes", "messages")):
        np.add.at(sums[number], (source, destination), matrix[name].to_numpy())
    return {
        "lanes": _lanes(lanes),
        "bytes": _packed(sums[0], "f8"),
        "messages": _packed(sums[1], "f8"),
    }


def _links(log: EventLog) -> dict[str, object]:
    links = log.links
    chosen = links.most_loaded(_LINKS)
    use = links.utilisation[chosen]
    return {
        "names": [links.names[place] for place in chosen],
        "bins": len(links.times),
        "width": links.width,
        "most": float(np.max(use, initial=1.0)),  # above 100 % on links that are not shared
        "use": _packed(use, "f4"),
    }
