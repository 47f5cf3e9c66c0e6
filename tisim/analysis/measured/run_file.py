"""Writes measured runs as run files, which the viewer and comparisons read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.measured.calls import Actions, MeasuredCalls, actions_of
from tisim.analysis.measured.waits import Waits, waits_of
from tisim.analysis.timeline.columns import STATES, kind_names
from tisim.analysis.timeline.run_file.schema import SUFFIX
from tisim.analysis.timeline.run_file.writer import RunDescription, RunFileWriter, row_types
from tisim.errors import InputError
from tisim.traces import Trace

# Host name used for all ranks of a measured run.
_HOST = "an unrecorded host"


@dataclass(frozen=True)
class MeasuredRun:
    """Number of calls with a time, and of messages omitted because an end is unknown."""

    calls: int
    unmatched: int


def is_run_file(path: str | os.PathLike[str] | None) -> bool:
    """Return True if a timeline is to be a run file."""
    return path is not None and Path(path).suffix == SUFFIX


def write_measured_run(
    trace: Trace, calls: Iterable[tuple[int, MeasuredCalls]], path: str | os.PathLike[str]
) -> MeasuredRun:
    """Write a run file of a real run, from the actions of its trace and the times of its calls.

    The file appears when it is complete; an `InputError` is raised if no call has a time.
    """
    writer = RunFileWriter(Path(path), trace.ranks)
    try:
        actions = actions_of(trace)
        matched = sum(_place(actions, rank, timed) for rank, timed in calls)
        if not matched:
            raise InputError("the trace contains no times of calls", file=trace.name)
        zero = float(np.nanmin(actions.start))
        for rank in range(trace.ranks):
            _fill(actions, slice(actions.first[rank], actions.first[rank + 1]), zero)
        _write(writer, trace, actions, waits_of(actions))
        writer.commit()
    except BaseException:
        writer.discard()
        raise
    return MeasuredRun(matched, actions.unmatched)


def _place(actions: Actions, rank: int, calls: MeasuredCalls) -> int:
    """Assign the times of calls to the actions of a rank; return the number assigned."""
    first, last = actions.first[rank], actions.first[rank + 1]
    line = actions.rows["line"][first:last].astype(np.int64)
    place = np.searchsorted(line, calls.line)
    known = place < len(line)
    known[known] = line[place[known]] == calls.line[known]
    actions.start[first + place[known]] = calls.start[known]
    actions.end[first + place[known]] = calls.end[known]
    return int(known.sum())


def _fill(actions: Actions, part: slice, zero: float) -> None:
    """Fill in the times of a rank's actions that were not measured, in place.

    A computation lasts from the previous call to the next one. Other actions take no time. Time 0
    is the first call of all ranks.
    """
    own, until = actions.start[part], actions.end[part]
    own -= zero
    until -= zero
    # A call starts after the end of the previous one.
    known = np.flatnonzero(~np.isnan(own))
    until[known] = np.maximum.accumulate(np.maximum(until[known], own[known]))
    own[known[1:]] = np.maximum(own[known[1:]], until[known[:-1]])
    missing = np.isnan(own)
    ended = np.maximum.accumulate(np.where(missing, 0.0, until))
    following = np.where(missing, np.inf, own)
    following = np.minimum.accumulate(following[::-1])[::-1]
    following = np.where(np.isinf(following), ended, following)
    computes = missing & (actions.kinds[part] == "compute")
    # The first of several consecutive computations gets all of the time.
    again = computes & np.append(False, missing[:-1] & computes[:-1])
    own[missing] = ended[missing]
    until[missing] = ended[missing]
    longer = computes & ~again
    until[longer] = following[longer]
    own[again] = until[again] = following[again]


def _write(writer: RunFileWriter, trace: Trace, actions: Actions, waits: Waits) -> None:
    types, start, end = row_types(), actions.start, actions.end
    rows = actions.rows.copy()
    rows["start"], rows["end"] = start, end
    states = _states(actions, waits, types["states"])
    messages = np.zeros(len(actions.messages), types["messages"])
    for name in ("source", "destination", "bytes", "tag"):
        messages[name] = actions.messages[name]
    messages["sent"] = messages["started"] = start[actions.send]
    messages["received"] = start[actions.receive]
    messages["arrived"] = np.nan_to_num(waits.arrived, nan=-1.0)
    for name, table, by in (
        ("states", states, "end"),
        ("actions", rows, "end"),
        ("messages", messages, "arrived"),
    ):
        writer.add(name, table[np.argsort(table[by], kind="stable")].tobytes())
    writer.drain(True)
    writer.finish(
        RunDescription(
            title=f"{Path(trace.name).name}, measured",
            ranks=trace.ranks,
            end=float(end.max()),
            hosts=[_HOST],
            host_of=[0] * trace.ranks,
            trace=str(trace.name),
            is_measured=True,
        )
    )


def _states(actions: Actions, waits: Waits, row_type: np.dtype[np.void]) -> NDArray[np.void]:
    """Return each rank's time without gaps: before each action, its wait, and its remainder."""
    start, end = actions.start, actions.end
    count = len(start)
    before = np.append(0.0, end[:-1])
    before[actions.first[:-1][actions.first[:-1] < count]] = 0.0
    until = np.where(np.isnan(waits.until), start, waits.until)
    parts = np.zeros((count, 3), row_type)
    for name, value in (
        ("rank", actions.rows["rank"]),
        ("line", actions.rows["line"]),
        ("kind", actions.rows["kind"]),
        ("bytes", waits.bytes),
        ("peer", waits.peer),
    ):
        parts[name] = value[:, None]
    parts["start"] = np.stack((before, start, until), axis=1)
    parts["end"] = np.stack((start, until, end), axis=1)
    computing = np.full(count, STATES.index("compute"), np.uint8)
    parts["state"] = np.stack((computing, waits.state, waits.rest), axis=1)
    parts["cause"] = -1
    parts["cause"][:, 1] = waits.cause
    # The time between two calls belongs to no action, and wait states to no message.
    parts["kind"][:, 0] = kind_names().index("compute")
    parts["peer"][:, :2] = -1
    parts["bytes"][:, :2] = -1
    # A transfer starts when the other side has called, or at the start of the call.
    parts["started"] = -1.0
    parts["started"][:, 2] = until
    parts["receives"][:, 2] = waits.state != STATES.index("late receiver")
    parts["by_peer"][:, 2] = until > start
    flat = parts.reshape(-1)
    kept: NDArray[np.void] = flat[flat["end"] > flat["start"]]
    return kept
