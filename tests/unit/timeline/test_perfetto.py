"""Timelines for Perfetto, read with Perfetto's own descriptors and compared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tisim
from tests.support import GRAPHENE, LU, RING, write_ranks
from tisim.analysis.timeline.formats import perfetto
from tisim.errors import InputError

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
    """Return True if the descriptors define every field, including nested messages."""
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
    """A decoded trace with all its packets."""

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
        # As in Trace Processor: by time, then in the order of the file.
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
        """Return the child tracks of the named track, in display order."""
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
    """Check that each action is a slice of its rank, with its time and its details.

    An action without effect is shown if it takes time or completes requests.
    """
    for rank, slices in enumerate(decoded.ranks()):
        actions = result.timeline[result.timeline["rank"] == rank]
        shown = actions[(actions.kind != "nop") | (ns(actions.end) > ns(actions.start))]
        outer = [span for span in slices if span.depth == 0]
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
    """Check that each wait state is a slice inside the waiting call."""
    for rank, slices in enumerate(decoded.ranks()):
        states = result.states
        waits = states[(states["rank"] == rank) & (states.cause >= 0)]
        found = [span for span in slices if span.category == "wait state"]
        assert [
            (script.name, script.start, script.end, script.notes["waits for rank"])
            for script in found
        ] == [
            (wait.state, nanoseconds(wait.start), nanoseconds(wait.end), wait.cause)
            for wait in waits.itertuples()
        ]
        assert all(script.depth > 0 for script in found)


def arrows(decoded: Decoded) -> Iterator[tuple[int, Slice, int, Slice]]:
    """Yield source, its slice, destination, its slice; each arrow has two ends."""
    begins, ends = {}, {}
    for rank, slices in enumerate(decoded.ranks()):
        for span in slices:
            for arrow in span.flows:
                assert arrow not in begins
                begins[arrow] = (rank, span)
            for arrow in span.flow_ends:
                assert arrow not in ends
                ends[arrow] = (rank, span)
    assert begins.keys() == ends.keys()
    assert 0 not in begins
    for arrow, begin in begins.items():
        yield (*begin, *ends[arrow])


def check_messages(result: tisim.Result, decoded: Decoded) -> None:
    """Check that each message is an arrow from the sending slice to the receiving one."""
    found: dict[tuple[int, int, bool], list[tuple[int, int]]] = defaultdict(list)
    for source, sends, destination, receives in arrows(decoded):
        key = (source, destination, sends.category == "part of a collective")
        found[key].append((sends.start, receives.end))
    groups = result.messages.groupby(["source", "destination", "collective"])
    assert found.keys() == set(groups.groups)
    for key, messages in groups:
        # A message is posted within its sending slice; the receiving slice ends after its arrival.
        posted = sorted(map(nanoseconds, messages["posted"]))
        arrived = sorted(map(nanoseconds, messages["arrived"]))
        starts, ends = (sorted(times) for times in zip(*found[key], strict=True))
        assert all(start <= time for start, time in zip(starts, posted, strict=True))
        assert all(end >= time for end, time in zip(ends, arrived, strict=True))


def check_nesting(decoded: Decoded) -> None:
    """Check that slices are within their parents, and parts of collectives in collectives."""
    for slices in decoded.ranks():
        stack: list[Slice] = []
        for span in slices:
            del stack[span.depth :]
            if stack:
                assert stack[-1].start <= span.start <= span.end <= stack[-1].end
            if span.category == "part of a collective":
                assert stack[-1].category == "MPI"
            stack.append(span)


def check_load(result: tisim.Result, decoded: Decoded) -> None:
    """Check that counters are the mean utilisation of the most loaded links, in percent."""
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
    """Check a trace against the result that it was recorded from."""
    check_actions(result, decoded)
    check_waits(result, decoded)
    check_messages(result, decoded)
    check_nesting(decoded)
    check_load(result, decoded)


def recorded(trace: Path, folder: Path, **options: Any) -> tuple[tisim.Result, Decoded]:
    file = folder / "run.perfetto-trace"
    result = tisim.replay(trace, platform=GRAPHENE, event_log=True, timeline=file, **options)
    return result, Decoded(file)


@pytest.mark.parametrize("name", ["lu.S.4", "ft.S.16"])
def test_all_of_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    check(*recorded(nas_traces / name, tmp_path))


def test_calls_that_wait_for_several_messages_or_for_none(tmp_path: Path) -> None:
    both = "barrier;allreduce 1000 1e5 6"
    texts = [
        "init;isend 1 0 100000;isend 1 1 10;sendRecv 70000 1 70000 1 6 6;waitall;waitall;"
        f"compute 1e7;isend 1 0 500000;{both};finalize",
        "init;irecv 0 0 100000;irecv 0 1 10;sendRecv 70000 0 70000 0 6 6;waitall;"
        f"irecv 0 0 500000;{both};finalize",
        f"compute 1e3;{both}",
    ]
    result, decoded = recorded(write_ranks(tmp_path / "traces", *texts), tmp_path)
    check(result, decoded)
    # The end of a rank waits for pending operations, and shows it.
    outer = [[span for span in slices if span.depth == 0] for slices in decoded.ranks()]
    assert [slices[-1].name for slices in outer] == ["nop", "nop", "allreduce"]
    assert outer[1][-1].start < outer[1][-1].end
    assert [one.name for one in outer[2]] == ["compute", "barrier", "allreduce"]


def test_tracks_are_named_after_ranks_and_hosts(tmp_path: Path) -> None:
    hosts = ["graphene-7.nancy.grid5000.fr", "graphene-3.nancy.grid5000.fr"]
    _, decoded = recorded(RING, tmp_path, hosts=hosts)
    names = [decoded.tracks[track].name for track in decoded.of_parent("ring.4 on graphene.xml")]
    assert names == [f"rank {rank} on {hosts[rank % 2]}" for rank in range(4)]


@pytest.mark.usefixtures("restored_registry")
def test_messages_of_a_custom_action_that_is_one_slice_are_no_arrows(
    tmp_path: Path,
) -> None:
    @tisim.action("exchange")
    def exchange(rank: Any, nbytes: str) -> Generator[Any, Any, Any]:
        yield rank.isend(1 - rank.number, int(nbytes))
        yield rank.recv(1 - rank.number, int(nbytes))
        yield rank.barrier()
        yield rank.waitall()

    programs = [["exchange 100000", f"sendRecv 10 {1 - rank} 10 {1 - rank} 6 6"] for rank in (0, 1)]
    result, decoded = recorded(write_ranks(tmp_path / "traces", *programs), tmp_path)
    assert [
        [span.name for span in slices if span.depth == 0] for slices in decoded.ranks()
    ] == 2 * [["custom", "sendrecv"]]
    check_nesting(decoded)
    between = sorted((a, sends.name, b, receives.name) for a, sends, b, receives in arrows(decoded))
    assert [arrow for arrow in between if arrow[1] == "sendrecv"] == [
        (0, "sendrecv", 1, "sendrecv"),
        (1, "sendrecv", 0, "sendrecv"),
    ]
    assert len(between) == len(result.messages) - 2


BEGIN, END = 0.0385002, 0.0402003


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Decoded:
    path = tmp_path_factory.mktemp("whole") / "run.perfetto-trace"
    tisim.replay(LU, platform=GRAPHENE, timeline=path)
    return Decoded(path)


def told(span: Slice) -> tuple[object, ...]:
    return span.name, span.category, span.start, span.end, span.depth, sorted(span.notes.items())


def reaching_into(slices: list[Slice], begin: float, end: float) -> Iterator[Slice]:
    """Yield the slices of calls that overlap an interval, with their nested slices."""
    is_shown = False
    for span in slices:
        if span.depth == 0:
            is_shown = (span.end > begin or span.start >= begin) and span.start <= end
        if is_shown:
            yield span


def test_a_part_has_the_calls_that_reach_into_it(whole: Decoded, tmp_path: Path) -> None:
    path = tmp_path / "part.perfetto-trace"
    tisim.replay(LU, platform=GRAPHENE, timeline=path, timeline_part=(BEGIN, END))
    part = Decoded(path)
    assert len(part.ranks()) == 4
    for shown, every in zip(part.ranks(), whole.ranks(), strict=True):
        wanted = [*map(told, reaching_into(every, 1e9 * BEGIN, 1e9 * END))]
        assert 50 < len(wanted) < len(every) / 10
        assert [*map(told, shown)] == wanted
    begun = {flow for rank in part.ranks() for one in rank for flow in one.flows}
    ended = {flow for rank in part.ranks() for one in rank for flow in one.flow_ends}
    assert ended and ended <= begun
    times = [time for track in part.counters.values() for time, _ in track]
    assert times and max(times) <= 1e9 * END and min(times) > 1e9 * (BEGIN - 0.001)


def test_a_part_outside_of_the_run_ends_with_a_message(tmp_path: Path) -> None:
    path = tmp_path / "part.perfetto-trace"
    with pytest.raises(InputError, match=r"lasts from 0 to 0\.079.* s; show a part of that"):
        tisim.replay(LU, platform=GRAPHENE, timeline=path, timeline_part=(1.0, 2.0))
    assert not [*tmp_path.iterdir()]
    with pytest.raises(InputError, match="always contains the whole run;"):
        tisim.replay(LU, platform=GRAPHENE, timeline=tmp_path / "a.csv", timeline_part=(0.0, 2.0))


def test_large_files_lose_their_shortest_slices(
    whole: Decoded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfetto, "_LIMIT", 1_000_000)
    path = tmp_path / "run.perfetto-trace"
    result = tisim.replay(LU, platform=GRAPHENE, timeline=path)
    assert [*tmp_path.iterdir()] == [path]
    thin = Decoded(path)
    (track,) = (one for one in thin.tracks.values() if "are left out" in one.name)
    (_, shortest), _ = thin.counters[track.uuid]
    (warning,) = result.warnings
    assert track.name in warning and "--begin and --end show a part in full" in warning
    kept = 0
    for shown, every in zip(thin.ranks(), whole.ranks(), strict=True):
        wanted = [one for one in every if one.end - one.start >= shortest]
        assert [told(one)[:4] for one in shown] == [told(one)[:4] for one in wanted]
        kept += len(shown)
    assert 1000 < kept < sum(map(len, whole.ranks())) / 2
