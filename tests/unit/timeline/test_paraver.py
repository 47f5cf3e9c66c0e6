"""Timelines for Paraver, read back and compared with the recorded events."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING
from tisim.analysis.timeline.formats import paraver

# MPI names of trace actions, where they differ.
CALLS = {"reducescatter": "MPI_Reduce_scatter", "exscan": "MPI_Scan"}
NO_CALLS = ("nop", "compute", "sleep")


class ParaverTrace:
    """The three files of a trace; asserts the requirements of the format."""

    def __init__(self, path: Path) -> None:
        header, *lines = path.read_text().splitlines()
        match = re.fullmatch(
            r"#Paraver \(\d\d/\d\d/\d{4} at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\((.*)\)",
            header,
        )
        assert match
        self.end = int(match[1])
        self.cpus_of_node = [int(count) for count in match[3].split(",")]
        assert len(self.cpus_of_node) == int(match[2])
        self.tasks = int(match[4])
        self.nodes = [int(task.split(":")[1]) for task in match[5].split(",")]
        assert len(self.nodes) == self.tasks
        self.states: list[list[tuple[int, int, int]]] = [[] for _ in range(self.tasks)]
        self.events: list[list[tuple[int, int, int]]] = [[] for _ in range(self.tasks)]
        self.messages: list[tuple[int, ...]] = []
        self.cpus: dict[int, int] = {}
        last = 0
        for line in lines:
            record, *numbers = map(int, line.split(":"))
            rank, rest = self._place(numbers[:4]), numbers[4:]
            assert last <= rest[0] <= self.end
            last = rest[0]
            if record == 1:
                start, end, state = rest
                assert start < end <= self.end
                self.states[rank].append((start, end, state))
            elif record == 2:
                time, *pairs = rest
                events = zip(pairs[::2], pairs[1::2], strict=True)
                self.events[rank] += [(time, kind, value) for kind, value in events]
            else:
                assert record == 3
                sent, started, *place, received, arrived, nbytes, tag = rest
                other = self._place(place)
                self.messages.append((rank, other, nbytes, tag, sent, started, received, arrived))
        self._read_labels(path.with_suffix(".pcf"))
        self._read_rows(path.with_suffix(".row"))

    def _place(self, numbers: list[int]) -> int:
        cpu, application, task, thread = numbers
        assert (application, thread) == (1, 1)
        assert self.cpus.setdefault(task - 1, cpu) == cpu
        return task - 1

    def _read_labels(self, path: Path) -> None:
        self.state_names: dict[int, str] = {}
        self.event_names: dict[int, str] = {}
        self.values: dict[int, dict[int, str]] = {}
        section, kind = "", 0
        for line in path.read_text().splitlines():
            if re.fullmatch("[A-Z_]+", line):
                section = line
            elif section == "STATES" and line:
                number, name = line.split(None, 1)
                self.state_names[int(number)] = name
            elif section == "EVENT_TYPE" and line:
                _, number, name = line.split(None, 2)
                kind = int(number)
                self.event_names[kind] = name
            elif section == "VALUES" and line:
                number, name = line.split(None, 1)
                values = self.values.setdefault(kind, {})
                assert int(number) not in values
                values[int(number)] = name

    def _read_rows(self, path: Path) -> None:
        self.rows: dict[str, list[str]] = {}
        lines = iter(path.read_text().splitlines())
        for line in lines:
            if line:
                _, level, _, size = line.split()
                self.rows[level] = [next(lines) for _ in range(int(size))]

    def calls(self, rank: int) -> list[tuple[int, int, str]]:
        """Return begin, end and name of each MPI call: events of one type never overlap."""
        found, begin, kind, name = [], -1, -1, ""
        for time, of, value in self.events[rank]:
            if not self.event_names[of].startswith("MPI"):
                continue
            if value == 0:
                assert of == kind
                found.append((begin, time, name))
                kind = -1
            else:
                assert kind == -1
                begin, kind, name = time, of, self.values[of][value]
        assert kind == -1
        return found

    def spans(self, rank: int, label: str) -> list[tuple[int, int, str]]:
        """Return begin, end and value of the events with a label."""
        found, begin, name = [], -1, ""
        (kind,) = (number for number, text in self.event_names.items() if text == label)
        for time, of, value in self.events[rank]:
            if of == kind and value == 0:
                found.append((begin, time, name))
            elif of == kind:
                begin, name = time, self.values[kind][value]
        return found


def nanoseconds(seconds: float) -> int:
    return math.floor(seconds * 1e9 + 0.5)


def check_states(result: tisim.Result, trace: ParaverTrace) -> None:
    """Check that states tile the time of each rank, and that computation is Running."""
    for rank, states in enumerate(trace.states):
        bounds = [0, *(end for _, end, _ in states)]
        assert [start for start, _, _ in states] == bounds[:-1]
        assert bounds[-1] == nanoseconds(result.finish[rank])
        rows = result.states[result.states["rank"] == rank]
        spans = [(nanoseconds(r.start), nanoseconds(r.end), r.state) for r in rows.itertuples()]
        spans = [span for span in spans if span[0] < span[1]]
        assert [span[:2] for span in spans] == [state[:2] for state in states]
        for (_, _, name), (_, _, state) in zip(spans, states, strict=True):
            assert (name == "compute") == (trace.state_names[state] == "Running")


def check_events(result: tisim.Result, trace: ParaverTrace) -> None:
    """Check that each MPI call and each wait state has a pair of events."""
    for rank in range(trace.tasks):
        actions = result.timeline[result.timeline["rank"] == rank]
        assert trace.calls(rank) == [
            (nanoseconds(a.start), nanoseconds(a.end), CALLS.get(a.kind, f"MPI_{a.kind.title()}"))
            for a in actions.itertuples()
            if a.kind not in NO_CALLS
        ]
        waits = result.states[(result.states["rank"] == rank) & (result.states.cause >= 0)]
        spans = [(nanoseconds(w.start), nanoseconds(w.end)) for w in waits.itertuples()]
        shown = [span[0] < span[1] for span in spans]
        names = [(*span, name) for span, name in zip(spans, waits.state, strict=True)]
        causes = [(*span, f"rank {c}") for span, c in zip(spans, waits.cause, strict=True)]
        for label, expected in (("Wait state", names), ("Waits for rank", causes)):
            assert trace.spans(rank, label) == [
                span for span, long in zip(expected, shown, strict=True) if long
            ]


def check_messages(result: tisim.Result, trace: ParaverTrace) -> None:
    messages = result.messages[~result.messages.collective]
    assert sorted(trace.messages) == sorted(
        (m.source, m.destination, m.bytes, m.tag, *map(nanoseconds, times))
        for m in messages.itertuples()
        for times in [(m.posted, m.started, m.received, m.arrived)]
    )


def check(result: tisim.Result, trace: ParaverTrace) -> None:
    """Check a trace against the result that it was recorded from."""
    assert trace.end == nanoseconds(result.simulated_time)
    check_states(result, trace)
    check_events(result, trace)
    check_messages(result, trace)


def recorded(trace: Path, folder: Path, **options: Any) -> tuple[tisim.Result, ParaverTrace]:
    result = tisim.replay(
        trace, platform=GRAPHENE, event_log=True, timeline=folder / "run.prv", **options
    )
    return result, ParaverTrace(folder / "run.prv")


@pytest.mark.parametrize("name", ["lu.S.4", "ft.S.16"])
def test_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    check(*recorded(nas_traces / name, tmp_path))


def test_nodes_processors_and_rows(tmp_path: Path) -> None:
    hosts = ["graphene-7.nancy.grid5000.fr", "graphene-3.nancy.grid5000.fr"]
    _, trace = recorded(RING, tmp_path, hosts=hosts)
    assert trace.cpus_of_node == [2, 2]
    assert trace.nodes == [1, 2, 1, 2]
    assert trace.cpus == {0: 1, 2: 2, 1: 3, 3: 4}
    assert trace.rows["NODE"] == hosts
    assert trace.rows["CPU"] == [f"{host}.{i}" for host in hosts for i in (1, 2)]
    assert trace.rows["THREAD"] == [f"rank {rank}" for rank in range(4)]


def test_records_are_sorted_whatever_the_window(
    tmp_path: Path, nas_traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records too late for the window are sorted at the end."""
    (tmp_path / "wide").mkdir()
    recorded(nas_traces / "lu.S.4", tmp_path / "wide")
    monkeypatch.setattr(paraver, "_WINDOW", (20, 1, 20))
    monkeypatch.setattr(paraver, "_LINES", 500)
    check(*recorded(nas_traces / "lu.S.4", tmp_path))
    narrow, wide = ((tmp_path / place / "run.prv").read_text() for place in (".", "wide"))
    assert sorted(narrow.splitlines()) == sorted(wide.splitlines())
