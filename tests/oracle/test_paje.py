"""Timelines in the Paje format equal those that SimGrid writes for the same replay."""

from __future__ import annotations

import math
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, write_ranks


@dataclass
class PajeState:
    """A state of a container, from the line that pushed it to the one that popped it."""

    container: str
    value: str
    start: float
    end: float
    depth: int


@dataclass
class PajeLink:
    """An arrow between two containers; `end` is NaN if it never arrives."""

    key: str
    value: str
    source: str
    start: float
    destination: str = ""
    end: float = float("nan")


@dataclass
class PajeTrace:
    """The content of a trace, by names instead of aliases."""

    states: list[PajeState] = field(default_factory=list)
    links: dict[str, PajeLink] = field(default_factory=dict)
    #: Creation and destruction times of each container, by name.
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Kind of each type, by name (container, state or link), and its parent type.
    types: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Colour of each value of a state, by name.
    colours: dict[str, str] = field(default_factory=dict)


class _Reader:
    def __init__(self) -> None:
        self.trace = PajeTrace()
        # Names by alias: containers may have the same names as types and values.
        self._containers = {"0": "0"}
        self._types = {"0": "0"}
        self._events: dict[str, tuple[str, list[str]]] = {}
        self._open: dict[str, list[tuple[str, float]]] = {}
        self._time = 0.0

    def define(self, lines: list[str]) -> None:
        _, name, number = lines[0].split()
        self._events[number] = (name, [line.split()[1] for line in lines[1:]])

    def event(self, line: str) -> None:
        number, *words = shlex.split(line)
        name, fields = self._events[number]
        values = dict(zip(fields, words, strict=True))
        if "Time" in values:
            time = float(values["Time"])
            assert time >= self._time, f"time goes back: {line}"
            self._time = time
        named = {key: self._name(key, value) for key, value in values.items()}
        if "Alias" in values:
            kind = self._containers if name == "PajeCreateContainer" else self._types
            assert values["Alias"] not in kind, line
            kind[values["Alias"]] = values["Name"]
        getattr(self, name.removeprefix("Paje"))(values, named)

    def _name(self, key: str, value: str) -> str:
        if key in ("Container", "StartContainer", "EndContainer"):
            return self._containers[value]
        if key in ("Type", "StartContainerType", "EndContainerType"):
            return self._types[value]
        return self._types.get(value, value) if key == "Value" else value

    def DefineContainerType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        self.trace.types[named["Name"]] = ("container", named["Type"])

    def DefineStateType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        self.trace.types[named["Name"]] = ("state", named["Type"])

    def DefineLinkType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        ends = (named["Type"], named["StartContainerType"], named["EndContainerType"])
        self.trace.types[named["Name"]] = ("link", " ".join(ends))

    def DefineEntityValue(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert named["Type"] in self.trace.types
        self.trace.colours[named["Name"]] = values["Color"]

    def CreateContainer(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert self.trace.types[named["Type"]][0] == "container"
        self.trace.lives[named["Name"]] = (float(values["Time"]), float("nan"))
        self._open[named["Name"]] = []

    def DestroyContainer(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        name = self._containers[values["Name"]]
        begin, _ = self.trace.lives[name]
        self.trace.lives[name] = (begin, float(values["Time"]))
        assert not self._open.pop(name)

    def PushState(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert named["Value"] in self.trace.colours
        self._open[named["Container"]].append((named["Value"], float(values["Time"])))

    def PopState(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        where = named["Container"]
        value, start = self._open[where].pop()
        depth = len(self._open[where])
        self.trace.states.append(PajeState(where, value, start, float(values["Time"]), depth))

    def StartLink(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert values["Key"] not in self.trace.links
        self.trace.links[values["Key"]] = PajeLink(
            values["Key"], named["Value"], named["StartContainer"], float(values["Time"])
        )

    def EndLink(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        link = self.trace.links[values["Key"]]
        assert not link.destination
        link.destination, link.end = named["EndContainer"], float(values["Time"])


def read_paje(path: Path) -> PajeTrace:
    """Read a trace and assert the requirements of the format."""
    reader = _Reader()
    definition: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("%EndEventDef"):
            reader.define(definition)
            definition = []
        elif line.startswith("%"):
            definition.append(line)
        elif line and not line.startswith("#"):
            reader.event(line)
    return reader.trace


pytestmark = pytest.mark.oracle

RANKS = 4

# SimGrid writes microseconds, tisim nanoseconds.
DIGITS = 0.51e-6


def replays(folder: Path, programs: Sequence[Sequence[str]]) -> tuple[PajeTrace, PajeTrace]:
    """Return the timelines of SimGrid and tisim for a program, a list of actions per rank."""
    traces = write_ranks(folder / "traces", *(("init", *own, "finalize") for own in programs))
    return replays_of(traces, folder)


def replays_of(traces: Path, folder: Path) -> tuple[PajeTrace, PajeTrace]:
    """Return the timelines of SimGrid and tisim for a directory of traces; files go to `folder`."""
    ranks = len(list(traces.glob("rank-*.txt")))
    (folder / "index").write_text("".join(f"{traces}/rank-{r}.txt\n" for r in range(ranks)))
    hosts = [f"graphene-{rank}.nancy.grid5000.fr" for rank in range(ranks)]
    (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    command = ["smpirun", "-np", str(ranks), "-platform", GRAPHENE]
    command += ["-hostfile", folder / "hosts", "-trace", "-trace-file", folder / "simgrid.trace"]
    command += ["--cfg=network/optim:Full", "-replay", folder / "index"]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    tisim.replay(traces, platform=GRAPHENE, hosts=hosts, timeline=folder / "tisim.trace")
    return read_paje(folder / "simgrid.trace"), read_paje(folder / "tisim.trace")


def by_container(states: Sequence[PajeState]) -> dict[str, list[PajeState]]:
    found = defaultdict(list)
    for state in states:
        found[state.container].append(state)
    return found


def same_time(theirs: float, ours: float) -> bool:
    return math.isnan(theirs) == math.isnan(ours) and not abs(theirs - ours) > DIGITS


def assert_same_states(theirs: PajeTrace, ours: PajeTrace) -> None:
    expected, found = by_container(theirs.states), by_container(ours.states)
    assert expected.keys() == found.keys()
    for container, of_rank in expected.items():
        for state, own in zip(of_rank, found[container], strict=True):
            assert (own.value, own.depth) == (state.value, state.depth)
            assert same_time(state.start, own.start), (state, own)
            assert same_time(state.end, own.end), (state, own)
    assert {name: ours.colours[name] for name in theirs.colours} == theirs.colours


def assert_same_containers(theirs: PajeTrace, ours: PajeTrace) -> None:
    assert theirs.lives.keys() == ours.lives.keys()
    for name, life in theirs.lives.items():
        assert all(map(same_time, life, ours.lives[name])), name
    assert ours.types == {name: theirs.types[name] for name in ours.types}


def assert_same_links(theirs: PajeTrace, ours: PajeTrace) -> None:
    def ordered(trace: PajeTrace) -> list[PajeLink]:
        return sorted(trace.links.values(), key=lambda k: (k.key.split("_")[:3], round(k.start, 6)))

    for link, own in zip(ordered(theirs), ordered(ours), strict=True):
        ends = (link.source, link.destination, link.value, link.key.split("_")[:3])
        assert (own.source, own.destination, own.value, own.key.split("_")[:3]) == ends
        assert same_time(link.start, own.start), (link, own)
        assert same_time(link.end, own.end), (link, own)


def check(folder: Path, programs: Sequence[Sequence[str]]) -> None:
    assert_same(*replays(folder, programs))


def assert_same(theirs: PajeTrace, ours: PajeTrace) -> None:
    assert_same_containers(theirs, ours)
    assert_same_states(theirs, ours)
    assert_same_links(theirs, ours)


def ring(rank: int, size: int) -> list[str]:
    """Return blocking, non-blocking and combined calls with neighbours, eager and rendezvous."""
    after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    return [
        f"compute {1e5 * (rank + 1)}",
        f"irecv {before} 7 {size}",
        f"isend {after} 7 {size}",
        f"compute {3e5 * (RANKS - rank)}",
        f"wait {before} {rank} 7",
        f"wait {rank} {after} 7",
        f"sendRecv {size} {after} {size} {before} 6 6",
        f"sendRecv 10 {rank} 10 {rank} 6 6",
        f"irecv {before} 0 {size}",
        f"isend {after} 0 {size}",
        "waitall",
        *([f"send {after} 3 {size}"] if rank % 2 else [f"recv {before} 3 {size}"]),
        *([f"recv {before} 3 {size}"] if rank % 2 else [f"send {after} 3 {size}"]),
    ]


@pytest.mark.parametrize("size", [0, 10, 1420, 40000, 70000, 1_000_000])
def test_point_to_point(tmp_path: Path, size: int) -> None:
    check(tmp_path, [ring(rank, size) for rank in range(RANKS)])


COLLECTIVES = (
    "barrier",
    "bcast 1000 1 6",
    "bcast 300000",
    "reduce 5000 1e6 2 6",
    "allreduce 4000 2e5 6",
    "alltoall 3000 3000 6 6",
    "alltoallv 100 1 2 3 4 100 {r} {r} {r} {r}",
    "gather 100 100 1 6 6",
    "allgather 100 100 6 6",
    "gatherv 100 100 100 100 100 1 6 6",
    "allgatherv 50 50 50 50 50 6 6",
    "scatter 100 100 1 6 6",
    "scatterv 10 20 30 40 {n} 1 6 6",
    "reducescatter 100 200 300 400 1e5 6",
    "scan 1000 1e4 6",
    "exscan 1000 1e4 6",
)


@pytest.mark.parametrize("call", COLLECTIVES)
def test_collectives(tmp_path: Path, call: str) -> None:
    programs = [
        [f"compute {1e5 * (rank + 1)}", call.format(r=rank + 1, n=10 * (rank + 1)), "compute 2e5"]
        for rank in range(RANKS)
    ]
    check(tmp_path, programs)


def test_what_is_no_state(tmp_path: Path) -> None:
    """Computations, sleeps, and calls without anything to wait for.

    SimGrid does not end an arrow when a test completes a receive; tisim does.
    """
    theirs, ours = replays(
        tmp_path,
        [
            ["comm_size 2", "compute 1e6", "sleep 0.25", "isend 1 0 100", "waitall", "waitall"],
            ["irecv 0 0 100", "sleep 1", "test 0 1 0", "wait 0 1 0", "waitall"],
        ],
    )
    assert_same_containers(theirs, ours)
    assert_same_states(theirs, ours)
    (unended,), (ended,) = theirs.links.values(), ours.links.values()
    assert math.isnan(unended.end)
    assert ended.end == pytest.approx(1.0001, rel=1e-2)


def test_requests_that_nobody_waits_for(tmp_path: Path) -> None:
    """They end with their ranks; SimGrid does not end their arrows, tisim does."""
    theirs, ours = replays(
        tmp_path, [["isend 1 0 1000000", "compute 1e5"], ["irecv 0 0 1000000", "compute 1e5"]]
    )
    assert_same_containers(theirs, ours)
    assert_same_states(theirs, ours)
    (unended,), (ended,) = theirs.links.values(), ours.links.values()
    assert same_time(unended.start, ended.start)
    assert math.isnan(unended.end)
    assert same_time(theirs.lives["rank-1"][1], ended.end)


@pytest.mark.parametrize("name", ["ft.S.16", "ep.S.16"])
def test_a_nas_benchmark(tmp_path: Path, nas_traces: Path, name: str) -> None:
    assert_same(*replays_of(nas_traces / name, tmp_path))
