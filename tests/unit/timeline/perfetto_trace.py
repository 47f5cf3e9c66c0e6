"""Reads timelines for Perfetto with its own descriptors; compares them with what was recorded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tisim

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


@dataclass
class Slice:
    name: str
    category: str
    start: int
    depth: int
    end: int = -1
    notes: dict[str, float] = field(default_factory=dict)
    flows: list[int] = field(default_factory=list)
    flow_ends: list[int] = field(default_factory=list)


def known_fields_only(message: Any) -> bool:
    """True if the descriptors know every field, of all messages inside too."""
    from google.protobuf.message import Message
    from google.protobuf.unknown_fields import UnknownFieldSet

    if len(UnknownFieldSet(message)):
        return False
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            inside = [value] if isinstance(value, Message) else value
            if not all(known_fields_only(one) for one in inside):
                return False
    return True


class Decoded:
    """A trace, every packet of it."""

    def __init__(self, path: Path) -> None:
        trace = trace_pb2.Trace()
        trace.ParseFromString(path.read_bytes())
        assert known_fields_only(trace)
        self.tracks: dict[int, Any] = {}
        self.slices: dict[int, list[Slice]] = {}
        self.counters: dict[int, list[tuple[int, float]]] = {}
        self._open: dict[int, list[Slice]] = {}
        self._names: dict[str, dict[int, str]] = {}
        events = []
        for number, packet in enumerate(trace.packet):
            assert packet.trusted_packet_sequence_id == 1
            what = packet.WhichOneof("data")
            if number == 0:
                assert packet.sequence_flags == trace_pb2.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
                self._intern(packet.interned_data)
            elif what == "track_descriptor":
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            else:
                assert what == "track_event"
                assert packet.sequence_flags == trace_pb2.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
                events.append((packet.timestamp, packet.track_event))
        # As Trace Processor does: by time, and those of one time as they stand in the file.
        for time, event in sorted(events, key=lambda event: event[0]):
            self._event(time, event)
        assert not any(self._open.values())

    def _intern(self, data: Any) -> None:
        for kind in ("event_categories", "event_names", "debug_annotation_names"):
            self._names[kind] = {entry.iid: entry.name for entry in getattr(data, kind)}
            assert len(self._names[kind]) == len(getattr(data, kind))

    def _event(self, time: int, event: Any) -> None:
        track = event.track_uuid
        assert track in self.tracks
        stack = self._open.setdefault(track, [])
        notes = {}
        for note in event.debug_annotations:
            value = getattr(note, note.WhichOneof("value"))
            notes[self._names["debug_annotation_names"][note.name_iid]] = value
        if event.type == event.TYPE_SLICE_BEGIN:
            (category,) = event.category_iids
            name = self._names["event_names"][event.name_iid]
            category = self._names["event_categories"][category]
            stack.append(Slice(name, category, time, len(stack)))
            self.slices.setdefault(track, []).append(stack[-1])
        elif event.type == event.TYPE_SLICE_END:
            stack[-1].end = time
        else:
            assert event.type == event.TYPE_COUNTER
            self.counters.setdefault(track, []).append((time, event.double_counter_value))
            return
        stack[-1].notes.update(notes)
        stack[-1].flows += event.flow_ids
        stack[-1].flow_ends += event.terminating_flow_ids
        if event.type == event.TYPE_SLICE_END:
            stack.pop()

    def of_parent(self, name: str) -> list[int]:
        """The tracks under the one of that name, in the order in which they are shown."""
        (parent,) = (
            track
            for track in self.tracks.values()
            if name in (track.name, track.process.process_name)
        )
        assert parent.child_ordering == parent.EXPLICIT
        under = [track for track in self.tracks.values() if track.parent_uuid == parent.uuid]
        under.sort(key=lambda track: track.sibling_order_rank)
        assert [track.sibling_order_rank for track in under] == list(range(len(under)))
        return [track.uuid for track in under]

    def ranks(self) -> list[list[Slice]]:
        title = next(t.process.process_name for t in self.tracks.values() if t.HasField("process"))
        return [self.slices.get(track, []) for track in self.of_parent(title)]


def nanoseconds(seconds: float) -> int:
    return math.floor(seconds * 1e9 + 0.5)


def ns(seconds: pd.Series) -> pd.Series:
    return np.floor(seconds * 1e9 + 0.5)


def check_actions(result: tisim.Result, decoded: Decoded) -> None:
    """Each action is a slice of its rank, at its time, with what is known of it.

    One that does nothing is shown if it takes time or requests end with it.
    """
    for rank, slices in enumerate(decoded.ranks()):
        actions = result.timeline[result.timeline["rank"] == rank]
        shown = actions[(actions.kind != "nop") | (ns(actions.end) > ns(actions.start))]
        outer = [one for one in slices if one.depth == 0]
        outer = [one for one in outer if one.name != "nop" or one.start < one.end]
        assert len(outer) == len(shown)
        for one, action in zip(outer, shown.itertuples(), strict=True):
            assert (one.name, one.notes["line"]) == (action.kind, action.line)
            assert one.start == nanoseconds(action.start)
            assert one.end == nanoseconds(action.end)
            assert one.notes.get("bytes", -1) == action.bytes
            assert one.notes.get("peer", -1) == action.peer
            assert one.notes.get("volume", 0) == action.volume
            assert one.category == ("computation" if action.kind == "compute" else "MPI")


def check_waits(result: tisim.Result, decoded: Decoded) -> None:
    """Each wait state is a slice inside the call that waits."""
    for rank, slices in enumerate(decoded.ranks()):
        states = result.states
        waits = states[(states["rank"] == rank) & (states.cause >= 0)]
        found = [one for one in slices if one.category == "wait state"]
        assert [(one.name, one.start, one.end, one.notes["waits for rank"]) for one in found] == [
            (wait.state, nanoseconds(wait.start), nanoseconds(wait.end), wait.cause)
            for wait in waits.itertuples()
        ]
        assert all(one.depth > 0 for one in found)


def arrows(decoded: Decoded) -> Iterator[tuple[int, Slice, int, Slice]]:
    """Source, its slice, destination, its slice; each arrow has two ends."""
    begins, ends = {}, {}
    for rank, slices in enumerate(decoded.ranks()):
        for one in slices:
            for arrow in one.flows:
                assert arrow not in begins
                begins[arrow] = (rank, one)
            for arrow in one.flow_ends:
                assert arrow not in ends
                ends[arrow] = (rank, one)
    assert begins.keys() == ends.keys()
    assert 0 not in begins
    for arrow, begin in begins.items():
        yield (*begin, *ends[arrow])


def check_messages(result: tisim.Result, decoded: Decoded) -> None:
    """Each message is an arrow from the slice that sends it to that which receives it."""
    found: dict[tuple[int, int, bool], list[tuple[int, int]]] = defaultdict(list)
    for source, sends, destination, receives in arrows(decoded):
        key = (source, destination, sends.category == "part of a collective")
        found[key].append((sends.start, receives.end))
    groups = result.messages.groupby(["source", "destination", "collective"])
    assert found.keys() == set(groups.groups)
    for key, messages in groups:
        # In a slice that sends, the message is posted; one that receives ends after it arrived.
        posted = sorted(map(nanoseconds, messages["posted"]))
        arrived = sorted(map(nanoseconds, messages["arrived"]))
        starts, ends = (sorted(times) for times in zip(*found[key], strict=True))
        assert all(start <= time for start, time in zip(starts, posted, strict=True))
        assert all(end >= time for end, time in zip(ends, arrived, strict=True))


def check_nesting(decoded: Decoded) -> None:
    """Slices lie within those that they are in; parts of collectives in collectives."""
    for slices in decoded.ranks():
        stack: list[Slice] = []
        for one in slices:
            del stack[one.depth :]
            if stack:
                assert stack[-1].start <= one.start <= one.end <= stack[-1].end
            if one.category == "part of a collective":
                assert stack[-1].category == "MPI"
            stack.append(one)


def check_load(result: tisim.Result, decoded: Decoded) -> None:
    """The counters are the mean utilisation of the most loaded links, in percent."""
    links = result.links
    places = links.most_loaded(100)
    if not len(places):
        assert not decoded.counters
        return
    tracks = decoded.of_parent("link load")
    assert [decoded.tracks[t].name for t in tracks] == [links.names[p] for p in places]
    for track, place in zip(tracks, places, strict=True):
        assert decoded.tracks[track].counter.unit_name == "%"
        points = decoded.counters[track]
        times = np.array([time for time, _ in points]) / 1e9
        assert points[-1] == (nanoseconds(links.end), 0.0)
        values = np.array([value for _, value in points])
        middles = (links.times + np.minimum(links.times + links.width, links.end)) / 2
        at = np.searchsorted(times, middles, side="right") - 1
        assert values[at] == pytest.approx(100 * links.utilisation[place], rel=1e-12)


def check(result: tisim.Result, decoded: Decoded) -> None:
    """The result is one that was recorded."""
    check_actions(result, decoded)
    check_waits(result, decoded)
    check_messages(result, decoded)
    check_nesting(decoded)
    check_load(result, decoded)
