"""Executing a graph on a machine: equal GPUs once, each kernel and collective in its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tisim import _core
from tisim.errors import InputError, SimulationError
from tisim.gpu.step_graph import COLLECTIVES, KERNELS, Graph, Node

if TYPE_CHECKING:
    from tisim.gpu.step_machine import Meeting, StepMachine

Colours = npt.NDArray[np.int64]

#: What a GPU does, as the core counts it: a kernel alone, a kernel beside communication,
#: communication alone, waiting for peers, nothing.
OCCUPATIONS = ("compute", "overlapped", "exposed", "waiting", "idle")
# Kinds of nodes, as the core numbers them.
_KINDS = ("compute", "meet", "record", "wait", "host", "synchronize", "repeat", "delay")
# Lines of the programs of all GPUs that differ.
_MOST_ROWS = 10_000_000
# Events between two looks at the clock and for Ctrl-C.
_EVENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class Span:
    """A kernel or a communication of a lane; dates in seconds."""

    lane: int
    stream: str
    node: Node
    arrival: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StepResult:
    """When each GPU has ended, and what it did until then.

    Attributes
    ----------
    seconds
        The time of the step.
    lane_of
        By rank: its lane; ranks of a lane do the same at the same time.
    first_ranks
        By lane: its first rank.
    ends
        By lane: seconds.
    occupations
        By lane: seconds of each of `OCCUPATIONS`, until the end of the step.
    launched
        Nodes that were executed, those of a lane once.
    spans
        What was logged.
    """

    seconds: float
    lane_of: Colours
    first_ranks: list[int]
    ends: npt.NDArray[np.float64]
    occupations: npt.NDArray[np.float64]
    launched: int
    spans: list[Span]

    @property
    def ranks_of_lane(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.lane_of, minlength=len(self.ends))


def run_step(
    graph: Graph,
    machine: StepMachine,
    *,
    logs: bool = False,
    merge: bool = True,
    progress: Callable[[float], None] | None = None,
) -> StepResult:
    """Execute a graph.

    Parameters
    ----------
    logs
        Keep when each node began and ended.
    merge
        Execute ranks once that do the same at the same time; the result is the same without.
    progress
        Is told the simulated time now and then.

    Raises
    ------
    InputError
        Where communication does not fit together.
    SimulationError
        Where GPUs wait for each other in a circle.
    """
    machine = machine.of_ranks(graph.ranks)
    lane_of = _equal_ranks(graph, machine) if merge else np.arange(graph.ranks)
    tables = _Tables(graph, machine, lane_of)
    run = tables.core_run(logs)
    more = True
    while more:
        more, wrong = run.run(_EVENTS)
        if wrong:
            raise tables.mismatch(wrong[0], wrong[1])
        if progress is not None:
            progress(run.now)
    if not run.is_done:
        raise SimulationError(tables.deadlock(run.now, run.standing()))
    rows = run.lanes().reshape(-1, 1 + len(OCCUPATIONS))
    seconds = float(rows[:, 0].max())
    occupations = rows[:, 1:].copy()
    occupations[:, -1] += seconds - rows[:, 0]
    spans = [tables.span(row) for row in run.spans().reshape(-1, 5)] if logs else []
    ends = rows[:, 0].copy()
    return StepResult(seconds, lane_of, tables.first_rank, ends, occupations, run.launched, spans)


def _nodes_of(graph: Graph, nodes: list[Node], seen: dict[str, None]) -> list[Node]:
    """All nodes of a program and of its blocks, each once; adds the blocks to `seen`."""
    found = list(nodes)
    for node in nodes:
        if node.word == "do" and node.name not in seen:
            found += _nodes_of(graph, graph.blocks[node.name], seen)
            seen[node.name] = None
    return found


def _members(graph: Graph, name: str, rank: int) -> range:
    size, stride = graph.communicators[name]
    first = rank - rank // stride % size * stride
    return range(first, min(first + size * stride, graph.ranks), stride)


def _equal_ranks(graph: Graph, machine: StepMachine) -> Colours:
    """Number ranks such that those with a number do the same at the same time.

    They have the same program, their groups lie on nodes in the same way and have members of the
    same numbers, and so have their peers. The coarsest such numbering is found by refinement.
    """
    ranks = np.arange(graph.ranks)
    colour = np.zeros(graph.ranks, dtype=np.int64)
    used: dict[str, npt.NDArray[np.bool_]] = {}
    offsets: dict[int, npt.NDArray[np.bool_]] = {}
    for number, (first, last, nodes) in enumerate(graph.programs):
        colour[first : last + 1] = number
        for node in _nodes_of(graph, nodes, {}):
            if node.word in COLLECTIVES:
                used.setdefault(node.name, np.zeros(graph.ranks, bool))[first : last + 1] = True
            elif node.word in ("send", "receive"):
                offset = int(node.numbers[0])
                offsets.setdefault(offset, np.zeros(graph.ranks, bool))[first : last + 1] = True
    node_of = ranks // machine.hardware.gpus
    groups = []
    for name, users in used.items():
        size, stride = graph.communicators[name]
        heads = ranks - ranks // stride % size * stride
        firsts = np.unique(heads[users])
        members = firsts[:, None] + stride * np.arange(size)[None, :]
        inside = members < graph.ranks
        members = np.where(inside, members, 0)
        group = np.searchsorted(firsts, heads)
        group = np.where(users, group, 0)
        # A group's shape: how many of it are on each of its nodes.
        shape = np.where(inside, node_of[members] - node_of[firsts][:, None], -1)
        _, shape_of = np.unique(shape, axis=0, return_inverse=True)
        colour = _joined(colour, np.where(users, shape_of.reshape(-1)[group], -1))
        groups.append((users, group, members, inside))
    for offset, users in offsets.items():
        peers = (ranks + offset) % graph.ranks
        colour = _joined(colour, np.where(users, node_of[peers] == node_of, -1))
    random = np.random.default_rng(0)
    while True:
        count = int(colour.max()) + 1
        weights = random.integers(1, 1 << 62, count, dtype=np.int64)
        finer = colour
        for users, group, members, inside in groups:
            sums = np.where(inside, weights[colour[members]], 0).sum(axis=1)
            finer = _joined(finer, np.where(users, sums[group], 0))
        for offset, users in offsets.items():
            peers = (ranks + offset) % graph.ranks
            finer = _joined(finer, np.where(users, colour[peers], -1))
        if int(finer.max()) + 1 == count:
            return colour
        colour = finer


def _joined(first: Colours, second: npt.NDArray[np.generic]) -> Colours:
    """Number the pairs of two numberings."""
    _, second_index = np.unique(second, return_inverse=True)
    pairs = first * (int(second_index.max()) + 1) + second_index
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


class _Tables:
    """A graph as the core takes it: a program for each lane, with times in place of work."""

    def __init__(self, graph: Graph, machine: StepMachine, lane_of: Colours) -> None:
        self.graph, self.machine, self.lane_of = graph, machine, lane_of
        self.rows: list[tuple[int, int, int, int, float, float]] = []
        self.nodes: list[Node] = []  # beside `rows`
        self.block_ends: list[int] = []
        self.lane_blocks: list[int] = []
        self.calls: dict[tuple[str, float, Meeting], int] = {}  # word, bytes
        self.known: dict[tuple[str, float, tuple[int, ...]], int] = {}  # calls by ranks
        self.meetings: dict[tuple[object, ...], int] = {}
        self.parties: list[int] = []
        self.times: dict[Node, tuple[float, float]] = {}
        self.users: dict[tuple[int, object], str] = {}  # streams of events and of groups
        named = [node for _, _, nodes in graph.programs for node in nodes]
        named += [node for nodes in graph.blocks.values() for node in nodes]
        self.streams = {
            name: i
            for i, name in enumerate(dict.fromkeys(node.stream for node in named if node.stream))
        } or {"": 0}
        self.events = {
            name: i
            for i, name in enumerate(
                dict.fromkeys(node.name for node in named if node.word in ("record", "wait"))
            )
        }
        _, firsts = np.unique(lane_of, return_index=True)
        self.first_rank = [int(rank) for rank in firsts]
        for rank in self.first_rank:
            self._add_lane(rank)

    def _add_lane(self, rank: int) -> None:
        program = next(nodes for first, last, nodes in self.graph.programs if first <= rank <= last)
        blocks: dict[str, None] = {}
        _nodes_of(self.graph, program, blocks)
        numbers: dict[str, int] = {}
        for name in blocks:
            self._add_block(rank, self.graph.blocks[name], numbers)
            numbers[name] = len(self.block_ends) - 1
        self._add_block(rank, program, numbers)
        self.lane_blocks.append(len(self.block_ends) - 1)

    def _add_block(self, rank: int, nodes: list[Node], numbers: dict[str, int]) -> None:
        for node in nodes:
            self.rows.append(self._row(rank, node, numbers))
            self.nodes.append(node)
        if len(self.rows) > _MOST_ROWS:
            raise InputError(
                f"{len(self.first_rank):,} GPUs differ, and their programs have more than "
                f"{_MOST_ROWS:,} lines; equal GPUs are executed once if their groups lie on nodes "
                "in the same way",
                file=self.graph.file,
            )
        self.block_ends.append(len(self.rows))

    def _row(
        self, rank: int, node: Node, numbers: dict[str, int]
    ) -> tuple[int, int, int, int, float, float]:
        stream = self.streams.get(node.stream, 0)
        if node.word in KERNELS:
            if node not in self.times:
                self.times[node] = self.machine.kernel_times(node, self.graph.dtype)
            return (0, stream, 0, 0, *self.times[node])
        if node.word in ("record", "wait"):
            if node.word == "record":
                self._check_stream(rank, node.name, node, "an event is recorded by one stream")
            return (_KINDS.index(node.word), stream, self.events[node.name], 0, 0.0, 0.0)
        if node.word == "host":
            return (4, 0, 0, 0, node.numbers[0], 0.0)
        if node.word == "delay":
            return (7, stream, 0, 0, node.numbers[0], 0.0)
        if node.word == "synchronize":
            return (5, stream, 0, 0, 0.0, 0.0)
        if node.word == "do":
            return (6, 0, numbers[node.name], int(node.numbers[0]), 0.0, 0.0)
        meeting, call = (
            self._message(rank, node)
            if node.word in ("send", "receive")
            else (self._collective(rank, node))
        )
        role = node.word if node.word in ("send", "receive") else ""
        self._check_stream(
            rank,
            (meeting, role),
            node,
            (
                "the same ranks communicate on two streams, so that the order of their calls is "
                "open; give each stream a communicator"
            ),
        )
        return (1, stream, meeting, call, 0.0, 0.0)

    def _check_stream(self, rank: int, what: object, node: Node, message: str) -> None:
        if self.users.setdefault((rank, what), node.stream) != node.stream:
            raise InputError(message, file=self.graph.file, line=node.line)

    def _collective(self, rank: int, node: Node) -> tuple[int, int]:
        members = _members(self.graph, node.name, rank)
        lanes = sorted({int(self.lane_of[member]) for member in members})
        return (
            self._meeting((node.name, *lanes), len(lanes)),
            self._call(node.word, node.numbers[0], tuple(members)),
        )

    def _message(self, rank: int, node: Node) -> tuple[int, int]:
        offset = int(node.numbers[0])
        peer = (rank + offset) % self.graph.ranks
        if peer == rank:
            raise InputError("a rank sends to itself", file=self.graph.file, line=node.line)
        ends = (rank, peer) if node.word == "send" else (peer, rank)
        lanes = [int(self.lane_of[end]) for end in ends]
        forward = (offset if node.word == "send" else -offset) % self.graph.ranks
        return (
            self._meeting((forward, *node.numbers[2:], *lanes), 2),
            self._call("send", node.numbers[1], ends),
        )

    def _meeting(self, key: tuple[object, ...], parties: int) -> int:
        if key not in self.meetings:
            self.meetings[key] = len(self.parties)
            self.parties.append(parties)
        return self.meetings[key]

    def _call(self, word: str, nbytes: float, ranks: tuple[int, ...]) -> int:
        key = (word, nbytes, ranks)
        if key not in self.known:
            meeting = self.machine.communication(word, nbytes, ranks)
            self.known[key] = self.calls.setdefault((word, nbytes, meeting), len(self.calls))
        return self.known[key]

    def core_run(self, logs: bool) -> _core.GraphRun:
        columns = list(zip(*self.rows, strict=True))
        kinds, streams, targets, counts = (np.array(c, dtype=np.int32) for c in columns[:4])
        arithmetic, memory = (np.array(c, dtype=np.float64) for c in columns[4:])
        rows = [(m.seconds, m.sms, m.memory) for _, _, m in self.calls]
        seconds, sms, traffic = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
        return _core.GraphRun(
            kinds,
            streams,
            targets,
            counts,
            arithmetic,
            memory,
            np.array(self.block_ends, dtype=np.int32),
            np.array(self.lane_blocks, dtype=np.int32),
            seconds,
            sms,
            traffic,
            np.array(self.parties, dtype=np.int32),
            len(self.streams),
            len(self.events),
            self.machine.launch,
            logs,
        )

    def span(self, row: npt.NDArray[np.float64]) -> Span:
        lane, stream = divmod(int(row[0]), len(self.streams))
        name = list(self.streams)[stream]
        return Span(
            lane, name, self.nodes[int(row[1])], float(row[2]), float(row[3]), float(row[4])
        )

    def mismatch(self, first: int, second: int) -> InputError:
        one, two = self.nodes[first], self.nodes[second]
        group = f"communicator {two.name}" if two.name else "sender and receiver"
        return InputError(
            f"{group}: {_shown(one)} of line {one.line} meets {_shown(two)}; all of a group call "
            "the same in the same order",
            file=self.graph.file,
            line=two.line,
        )

    def deadlock(self, now: float, standing: list[tuple[int, int]]) -> str:
        lines = [f"{self.graph.file}: no GPU can go on at {now:.6g} s; they wait in a circle:"]
        names = list(self.streams)
        for stream, index in standing[:8]:
            lane, number = divmod(stream, len(names))
            node = self.nodes[index]
            lines.append(
                f"  rank {self.first_rank[lane]}, stream {names[number]}: {_shown(node)} of line "
                f"{node.line}"
            )
        if len(standing) > 8:
            lines.append(f"  and {len(standing) - 8} streams more")
        return "\n".join(lines)


def _shown(node: Node) -> str:
    rest = " ".join(f"{number:g}" for number in node.numbers)
    return " ".join(part for part in (node.word, node.name, rest) if part)
