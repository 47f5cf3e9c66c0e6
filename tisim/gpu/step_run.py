"""Execute a graph on a machine: identical GPUs once, each kernel and collective with its time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tisim import _core
from tisim.analysis.timeline.streams import OCCUPATIONS, Span
from tisim.errors import InputError, SimulationError
from tisim.gpu.step_graph import KERNELS, Graph, Node
from tisim.gpu.step_traffic import (
    Colours,
    MeetingKey,
    Traffic,
    calls_of,
    equal_ranks_and_loads,
    nodes_and_links,
    nodes_of,
)

if TYPE_CHECKING:
    from tisim.gpu.step_machine import CommunicationPhase, StepMachine

# Kinds of nodes, in the core's numbering.
_KINDS = ("compute", "meet", "record", "wait", "host", "synchronize", "repeat", "delay")
# Maximum number of lines of the programs of all distinct GPUs.
_MAX_ROWS = 10_000_000
# Events between two checks of the clock and for Ctrl-C.
_EVENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class StepResult:
    """End of each GPU, and its activity until then.

    Attributes
    ----------
    seconds
        Duration of the step.
    lane_of
        By rank: its lane; ranks of a lane do the same at the same time.
    first_ranks
        By lane: its first rank.
    ends
        By lane: seconds.
    occupations
        By lane: seconds of each of `OCCUPATIONS`, until the end of the step.
    launched
        Number of executed nodes; those of a lane count once.
    spans
        Logged activities.
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

    @property
    def mean_occupations(self) -> npt.NDArray[np.float64]:
        """Seconds of each of `OCCUPATIONS`, averaged over ranks."""
        return np.average(self.occupations, axis=0, weights=self.ranks_of_lane)


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
        Record when each node began and ended.
    merge
        Execute ranks that do the same at the same time only once; this does not change the result.
    progress
        Called with the simulated time from time to time.

    Raises
    ------
    InputError
        If communication does not match.
    SimulationError
        If GPUs deadlock.
    """
    if not graph.programs:
        raise InputError(
            "rank 0 has no program; graphs with only blocks are for 'tisim replay --graph'",
            file=graph.file,
        )
    machine = machine.with_ranks(graph.ranks)
    calls, nodes = calls_of(graph), nodes_and_links(machine.hardware)
    if merge:
        traffic, lane_of, loads = equal_ranks_and_loads(calls, nodes)
    else:
        traffic, lane_of = Traffic(calls, nodes), np.arange(graph.ranks)
        loads = [*traffic.loads(lane_of, merge=False)]
    core_graph = CoreGraph(graph, machine, lane_of)
    core_graph.share_links(traffic, loads)
    run = _core.GraphRun(core_graph.core_programs(*core_graph.call_rows()), logs)
    more = True
    while more:
        more, wrong = run.run(_EVENTS)
        if wrong:
            raise core_graph.mismatch(wrong[0], wrong[1])
        if progress is not None:
            progress(run.now)
    if not run.is_done:
        raise SimulationError(core_graph.deadlock(run.now, run.current_nodes()))
    rows = run.lanes().reshape(-1, 1 + len(OCCUPATIONS))
    seconds = float(rows[:, 0].max())
    occupations = rows[:, 1:].copy()
    occupations[:, -1] += seconds - rows[:, 0]
    spans = [core_graph.span(row) for row in run.spans().reshape(-1, 5)] if logs else []
    ends = rows[:, 0].copy()
    return StepResult(
        seconds, lane_of, core_graph.first_rank, ends, occupations, run.launched, spans
    )


def _members(graph: Graph, name: str, rank: int) -> range:
    size, stride = graph.communicators[name]
    first = rank - rank // stride % size * stride
    return range(first, min(first + size * stride, graph.ranks), stride)


@dataclass(frozen=True, slots=True)
class _Use:
    """A link that a meeting loads, with a multiple of its channels.

    Attributes
    ----------
    pattern
        Pattern of the calls that load it; empty: all calls, and None: NVLinks.
    """

    link: int
    pattern: str | None
    times: float

    def channels(self, call: CommunicationPhase) -> float:
        if self.pattern is None:
            return self.times * call.within
        return self.times * call.between if self.pattern in ("", call.pattern) else 0.0


class CoreGraph:
    """A graph in the core's form: a program for each lane, with times in place of work."""

    def __init__(self, graph: Graph, machine: StepMachine, lane_of: Colours) -> None:
        self.graph, self.machine, self.lane_of = graph, machine, lane_of
        self.rows: list[tuple[int, int, int, int, float, float]] = []
        self.nodes: list[Node] = []  # parallel to `rows`
        self.block_ends: list[int] = []
        self.lane_blocks: list[int] = []
        self.block_numbers: list[dict[str, int]] = []  # of each lane
        self.calls: dict[tuple[str, float, int], CommunicationPhase] = {}  # word, bytes, meeting
        self.numbers: dict[tuple[str, float, int], int] = {}  # of calls
        self.meetings: dict[MeetingKey, int] = {}
        self.parties: list[int] = []
        self.uses: list[list[_Use]] = []  # of each meeting
        self.links: list[float] = []  # bytes/s
        self.link_numbers: dict[int, int] = {}  # of links of `Traffic`
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
        nodes_of(self.graph, program, blocks)
        numbers: dict[str, int] = {}
        for name in blocks:
            self._add_block(rank, self.graph.blocks[name], numbers)
            numbers[name] = len(self.block_ends) - 1
        self.block_numbers.append(numbers)
        self._add_block(rank, program, numbers)
        self.lane_blocks.append(len(self.block_ends) - 1)

    def _add_block(self, rank: int, nodes: list[Node], numbers: dict[str, int]) -> None:
        for node in nodes:
            self.rows.append(self._row(rank, node, numbers))
            self.nodes.append(node)
        if len(self.rows) > _MAX_ROWS:
            raise InputError(
                f"{len(self.first_rank):,} GPUs differ, and their programs have more than "
                f"{_MAX_ROWS:,} lines; equal GPUs are simulated once if their groups are placed "
                "on nodes in the same way",
                file=self.graph.file,
            )
        self.block_ends.append(len(self.rows))

    def _row(
        self, rank: int, node: Node, numbers: dict[str, int]
    ) -> tuple[int, int, int, int, float, float]:
        stream = self.streams.get(node.stream, 0)
        word, number = node.word, node.numbers[0] if node.numbers else 0.0
        target = count = 0
        times = 0.0, 0.0
        if word in KERNELS:
            if node not in self.times:
                self.times[node] = self.machine.kernel_times(node, self.graph.dtype)
            word, times = "compute", self.times[node]
        elif word in ("record", "wait"):
            if word == "record":
                self._check_stream(
                    rank, node.name, node, "an event may be recorded by only one stream"
                )
            target = self.events[node.name]
        elif word == "do":
            word, target, count = "repeat", numbers[node.name], int(number)
        elif word == "copy":
            word, times = "delay", (number / self.machine.hardware.pcie_rate, 0.0)
        elif word in ("host", "delay"):
            times = number, 0.0
        elif word != "synchronize":
            is_message = word in ("send", "receive")
            target, count = (self._message if is_message else self._collective)(rank, node)
            self._check_stream(
                rank,
                (target, word if is_message else ""),
                node,
                "the same ranks communicate on two streams, so the order of their calls is "
                "undefined; give each stream its own communicator",
            )
            word = "meet"
        return (_KINDS.index(word), stream, target, count, *times)

    def _check_stream(self, rank: int, what: object, node: Node, message: str) -> None:
        if self.users.setdefault((rank, what), node.stream) != node.stream:
            raise InputError(message, file=self.graph.file, line=node.line)

    def _collective(self, rank: int, node: Node) -> tuple[int, int]:
        members = _members(self.graph, node.name, rank)
        lanes = sorted({int(self.lane_of[member]) for member in members})
        meeting = self._meeting((node.name, *lanes), len(lanes), lanes, lanes)
        return meeting, self._call(node.word, node.numbers[0], meeting, tuple(members))

    def _message(self, rank: int, node: Node) -> tuple[int, int]:
        offset = int(node.numbers[0])
        peer = (rank + offset) % self.graph.ranks
        if peer == rank:
            raise InputError("a rank sends to itself", file=self.graph.file, line=node.line)
        ends = (rank, peer) if node.word == "send" else (peer, rank)
        lanes = [int(self.lane_of[end]) for end in ends]
        forward = (offset if node.word == "send" else -offset) % self.graph.ranks
        key = (forward, *map(int, node.numbers[2:]), *lanes)
        meeting = self._meeting(key, 2, lanes[:1], lanes[1:])
        return meeting, self._call("send", node.numbers[1], meeting, ends)

    def _meeting(
        self, key: MeetingKey, parties: int, senders: list[int], receivers: list[int]
    ) -> int:
        if key not in self.meetings:
            self.meetings[key] = len(self.parties)
            self.parties.append(parties)
            # Two links per lane: NVLinks outgoing and incoming.
            ways = [2 * lane for lane in senders] + [2 * lane + 1 for lane in receivers]
            self.uses.append([_Use(link, None, 1.0) for link in ways])
        return self.meetings[key]

    def _call(self, word: str, nbytes: float, meeting: int, ranks: tuple[int, ...]) -> int:
        key = word, nbytes, meeting
        if key not in self.calls:
            self.calls[key] = self.machine.communication(word, nbytes, ranks)
        return self.numbers.setdefault(key, len(self.numbers))

    def share_links(
        self, traffic: Traffic, loads: Iterable[tuple[MeetingKey, int, str, float]]
    ) -> None:
        """Set the links that meetings load."""
        machine = self.machine
        self.links = [machine.within_rate] * (2 * len(self.first_rank))
        numbers = self.link_numbers
        times: dict[tuple[int, int, str], float] = {}
        for key, link, pattern, more in loads:
            if link not in numbers:
                numbers[link] = len(self.links)
                rate = machine.uplink_rate if traffic.is_uplink(link) else machine.between_rate
                self.links.append(rate)
            way = self.meetings[key], numbers[link], pattern
            times[way] = times.get(way, 0.0) + more
        for (meeting, link, pattern), often in times.items():
            self.uses[meeting].append(_Use(link, pattern, often))

    def call_rows(
        self, *, has_other_traffic: bool = False
    ) -> tuple[list[tuple[float, ...]], list[list[tuple[int, float]]]]:
        """Return calls in the core's form, and the links and channels of each.

        A link is kept only if more than one meeting loads it: the effect of equal groups on each
        other is known in advance, and bounds the rate of a call. With `has_other_traffic`, other
        traffic may load any link: all links are kept, under their numbers.
        """
        users: dict[int, set[int]] = {}
        for (_, _, meeting), call in self.calls.items():
            for use in self.uses[meeting]:
                if use.channels(call):
                    users.setdefault(use.link, set()).add(meeting)
        shared = [
            link for link in users if len(users[link]) > 1 and math.isfinite(self.links[link])
        ]
        if has_other_traffic:
            shared = list(range(len(self.links)))
        numbers = {link: number for number, link in enumerate(shared)}
        rows: list[tuple[float, ...]] = []
        shares: list[list[tuple[int, float]]] = []
        for (_, _, meeting), call in self.calls.items():
            uses = [use for use in self.uses[meeting] if use.channels(call)]
            bounds = [self.links[use.link] / use.channels(call) for use in uses]
            rate = min([call.rate, *bounds])
            seconds = call.latency + call.bytes / rate
            memory = call.traffic / (seconds or 1.0) / self.machine.hardware.gpu.memory_rate
            taken = call.sms, min(0.9, memory)
            shares.append([(numbers[u.link], u.channels(call)) for u in uses if u.link in numbers])
            if shares[-1]:
                rows.append((call.latency, call.bytes, rate, *taken))
            else:
                rows.append((seconds, 0.0, 0.0, *taken))
        self.links = [self.links[link] for link in shared]
        return rows, shares

    def core_programs(
        self, calls: list[tuple[float, ...]], shares: list[list[tuple[int, float]]]
    ) -> _core.GraphPrograms:
        columns = list(zip(*self.rows, strict=True))
        kinds, streams, targets, counts = (np.array(c, dtype=np.int32) for c in columns[:4])
        arithmetic, memory = (np.array(c, dtype=np.float64) for c in columns[4:])
        uses = [use for each in shares for use in each]
        return _core.GraphPrograms(
            kinds,
            streams,
            targets,
            counts,
            arithmetic,
            memory,
            np.array(self.block_ends, dtype=np.int32),
            np.array(self.lane_blocks, dtype=np.int32),
            np.array(calls, dtype=np.float64).reshape(-1),
            np.array(self.parties, dtype=np.int32),
            np.array(self.links, dtype=np.float64),
            np.array([link for link, _ in uses], dtype=np.int32),
            np.array([channels for _, channels in uses], dtype=np.float64),
            np.cumsum([len(each) for each in shares], dtype=np.int32),
            len(self.streams),
            len(self.events),
            self.machine.launch,
        )

    def span(self, row: npt.NDArray[np.float64]) -> Span:
        lane, stream = divmod(int(row[0]), len(self.streams))
        name = list(self.streams)[stream]
        return Span(lane, name, self.nodes[int(row[1])], *row[2:].tolist())

    def mismatch(self, first: int, second: int) -> InputError:
        one, two = self.nodes[first], self.nodes[second]
        group = f"communicator {two.name}" if two.name else "sender and receiver"
        return InputError(
            f"{group}: {_shown(one)} of line {one.line} meets {_shown(two)}; all ranks of a group "
            "must make the same calls in the same order",
            file=self.graph.file,
            line=two.line,
        )

    def deadlock(self, now: float, standing: list[tuple[int, int]]) -> str:
        lines = [
            f"{self.graph.file}: deadlock: no GPU can continue at {now:.6g} s; they wait for each "
            "other:"
        ]
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
