"""Load of links between nodes, and detection of GPUs that do the same at the same time.

Nodes that share their first switches reach the others over the uplinks and downlinks of these
switches, which are one link in each direction. Their traffic depends on which nodes of a group send
to which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tisim.gpu.nccl_graphs import double_tree
from tisim.gpu.step_graph import COLLECTIVES, Graph, Node

if TYPE_CHECKING:
    from tisim.gpu.machines import Machine

Colours = npt.NDArray[np.int64]
#: Groups that are executed as one: the communicator and the lanes of its members, or the offset and
#: the tag of a message and the lanes of its ends.
MeetingKey = tuple[str | int, ...]
_Bits = npt.NDArray[np.uint64]
#: Communication patterns among the nodes of a group, in order: each node sends to the next one, the
#: last to the first; along NCCL's two binary trees; as in PAT; each to all others; each to the
#: switches, which reduce.
PATTERNS: Final = ("ring", "tree", "pat", "all", "sharp")
#: Possible patterns of the collectives of graph files.
PATTERNS_OF: Final = {
    "all_reduce": ("ring", "tree", "sharp"),
    "all_gather": ("ring", "pat", "sharp"),
    "reduce_scatter": ("ring", "pat", "sharp"),
    "broadcast": ("ring",),
    "all_to_all": ("all",),
    "shift": ("ring",),
}
_Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]


def nodes_of(graph: Graph, nodes: list[Node], seen: dict[str, None]) -> list[Node]:
    """Return all nodes of a program and of its blocks, each once; adds the blocks to `seen`."""
    found = list(nodes)
    for node in nodes:
        if node.word == "do" and node.name not in seen:
            found += nodes_of(graph, graph.blocks[node.name], seen)
            seen[node.name] = None
    return found


class _Loads(NamedTuple):
    """Load of links: numbers of groups or messages, and of links, one row per use.

    Attributes
    ----------
    pattern
        Calls of a row: the number in `PATTERNS`, or -1 for all.
    times
        Multiple of the channels that a call has on its most loaded interfaces.
    """

    owner: Colours
    link: Colours
    pattern: Colours
    times: npt.NDArray[np.float64]

    def on(self, selected: npt.NDArray[np.bool_]) -> _Loads:
        """Return the rows of the selected links."""
        rows = selected[self.link]
        return _Loads(self.owner[rows], self.link[rows], self.pattern[rows], self.times[rows])

    @property
    def marks(self) -> _Bits:
        """Marks that distinguish uses of a link by a group."""
        return _mixed(self.times.view(np.uint64)) + self.pattern.astype(np.uint64)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of a communicator.

    Attributes
    ----------
    users
        By rank: whether it calls the communicator.
    group
        By rank: its group.
    members, inside
        By group and place: the rank, and whether it exists.
    loads
        Links of groups that span several nodes.
    """

    name: str
    users: npt.NDArray[np.bool_]
    group: Colours
    members: Colours
    inside: npt.NDArray[np.bool_]
    loads: _Loads


@dataclass(frozen=True, slots=True)
class _Messages:
    """Messages to other nodes with the same offset and tag, and their links."""

    name: tuple[int, ...]
    senders: Colours
    receivers: Colours
    loads: _Loads


class Calls(NamedTuple):
    """Pairs that communicate in a graph, regardless of order.

    Attributes
    ----------
    programs
        First and last rank of each program.
    groups
        By communicator: name, size, stride, its words, and the programs that call it.
    peers
        ``send`` or ``receive``, offset and tag, and the programs that do it.
    """

    ranks: int
    programs: tuple[tuple[int, int], ...]
    groups: tuple[tuple[str, int, int, tuple[str, ...], tuple[int, ...]], ...]
    peers: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]


def calls_of(graph: Graph) -> Calls:
    """Return the calls of all programs of a graph."""
    words: dict[str, dict[str, None]] = {}
    users: dict[str, dict[int, None]] = {}
    peers: dict[tuple[str, tuple[int, ...]], dict[int, None]] = {}
    for number, (_, _, nodes) in enumerate(graph.programs):
        for node in nodes_of(graph, nodes, {}):
            if node.word in COLLECTIVES:
                words.setdefault(node.name, {})[node.word] = None
                users.setdefault(node.name, {})[number] = None
            elif node.word in ("send", "receive"):
                offset, _, *tags = map(int, node.numbers)
                peers.setdefault((node.word, (offset % graph.ranks, *tags)), {})[number] = None
    return Calls(
        graph.ranks,
        tuple((first, last) for first, last, _ in graph.programs),
        tuple(
            (name, *graph.communicators[name], tuple(words[name]), tuple(programs))
            for name, programs in users.items()
        ),
        tuple((word, name, tuple(programs)) for (word, name), programs in peers.items()),
    )


class Nodes(NamedTuple):
    """Properties of a machine that determine the links between its nodes."""

    nodes: int
    gpus: int
    nics: int
    sharp: bool
    switch_nodes: int
    oversubscription: float


def nodes_and_links(machine: Machine) -> Nodes:
    """Return the properties of a machine that determine the links between its nodes."""
    return Nodes(*(getattr(machine, name) for name in Nodes._fields))


class Traffic:
    """Communication of a graph on a machine.

    Links are numbered: interfaces out of nodes, into nodes, and then, if uplinks of first switches
    are slower than the interfaces below, these uplinks and downlinks.
    """

    def __init__(self, calls: Calls, machine: Nodes) -> None:
        self._ranks = calls.ranks
        ranks = np.arange(calls.ranks)
        self.nodes, self.nics, self.sharp = machine.nodes, machine.nics, machine.sharp
        self.interfaces = self.nodes * self.nics
        self.switch_of = np.arange(self.nodes) // machine.switch_nodes
        self.uplinks = int(self.switch_of[-1]) + 1 if machine.oversubscription > 1 else 0
        if self.uplinks == 1:
            self.uplinks = 0
        self.links = 2 * (self.interfaces + self.uplinks)
        self.node_of = ranks // machine.gpus
        self.interface_of = (
            self.node_of * self.nics + ranks % machine.gpus * self.nics // machine.gpus
        )
        self.programs = np.zeros(calls.ranks, dtype=np.int64)
        for number, (first, last) in enumerate(calls.programs):
            self.programs[first : last + 1] = number
        self.groups = [
            self._groups(name, size, stride, self._users(programs), words)
            for name, size, stride, words, programs in calls.groups
        ]
        # The peer of each rank that sends or receives.
        self.peers = []
        self.messages = []
        for word, name, programs in calls.peers:
            used = self._users(programs)
            peer = (ranks + name[0]) % calls.ranks
            self.peers.append((used, peer))
            far = used & (self.node_of[peer] != self.node_of)
            if word == "send" and far.any():
                self.messages.append(self._messages(name, ranks[far], peer[far]))

    def _users(self, programs: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return, by rank, whether it has one of these programs."""
        return np.isin(self.programs, programs)

    def is_uplink(self, link: int) -> bool:
        """Return whether a link connects switches, as opposed to an interface."""
        return link >= 2 * self.interfaces

    def _messages(self, name: tuple[int, ...], senders: Colours, receivers: Colours) -> _Messages:
        every = np.arange(len(senders))
        rows = [
            (every, self.interface_of[senders]),
            (every, self.interfaces + self.interface_of[receivers]),
        ]
        if self.uplinks:
            first, second = (self.switch_of[self.node_of[ends]] for ends in (senders, receivers))
            far = first != second
            up = 2 * self.interfaces + first
            down = 2 * self.interfaces + self.uplinks + second
            rows += [(every[far], up[far]), (every[far], down[far])]
        owner, link = (np.concatenate(part) for part in zip(*rows, strict=True))
        loads = _Loads(owner, link, np.full(len(owner), -1), np.ones(len(owner)))
        return _Messages(name, senders, receivers, loads)

    def _groups(
        self,
        name: str,
        size: int,
        stride: int,
        users: npt.NDArray[np.bool_],
        words: Iterable[str],
    ) -> _Groups:
        ranks = np.arange(self._ranks)
        heads = ranks - ranks // stride % size * stride
        firsts = np.unique(heads[users])
        members = firsts[:, None] + stride * np.arange(size)[None, :]
        inside = members < self._ranks
        members = np.where(inside, members, 0)
        group = np.where(users, np.searchsorted(firsts, heads), 0)
        known = PATTERNS if self.sharp else PATTERNS[:-1]
        patterns = [p for p in known if any(p in PATTERNS_OF[word] for word in words)]
        loads = self._loads(members, inside, patterns)
        return _Groups(name, users, group, members, inside, loads)

    def _loads(
        self, members: Colours, inside: npt.NDArray[np.bool_], patterns: list[str]
    ) -> _Loads:
        """See `_Groups`: a group sends equally from all nodes, and all interfaces of a node."""
        groups = np.broadcast_to(np.arange(len(members))[:, None], members.shape)[inside]
        places = np.unique(groups * self.interfaces + self.interface_of[members[inside]])
        group, interface = np.divmod(places, self.interfaces)
        on_node = group * self.nodes + interface // self.nics
        at, node, counts = np.unique(on_node, return_inverse=True, return_counts=True)
        fewest = np.full(len(members), self.nics)
        np.minimum.at(fewest, at // self.nodes, counts)
        far = np.bincount(at // self.nodes, minlength=len(members))[group] > 1
        group, interface, times = group[far], interface[far], (fewest[group] / counts[node])[far]
        rows = [
            (group, interface, np.full(len(group), -1), times),
            (group, self.interfaces + interface, np.full(len(group), -1), times),
        ]
        if self.uplinks and len(group):
            rows += self._crossing(np.unique(group * self.nodes + interface // self.nics), fewest,
                                   patterns)  # fmt: skip
        return _Loads(*(np.concatenate(part) for part in zip(*rows, strict=True)))

    def _crossing(
        self, on_node: Colours, fewest: Colours, patterns: list[str]
    ) -> list[tuple[Colours, Colours, Colours, npt.NDArray[np.float64]]]:
        """Return rows of links between switches; `on_node`: groups and their nodes, in order."""
        group, node = np.divmod(on_node, self.nodes)
        numbers, firsts = np.unique(group, return_index=True)
        known: dict[tuple[str, tuple[int, ...]], dict[int, tuple[float, float]]] = {}
        found: list[tuple[int, int, int, float]] = []
        for number, nodes in zip(numbers.tolist(), np.split(node, firsts[1:]), strict=True):
            switches = tuple(self.switch_of[nodes].tolist())
            for pattern in patterns:
                key = pattern, switches
                if key not in known:
                    known[key] = crossings(pattern, switches)
                for switch, ways in known[key].items():
                    for direction, times in enumerate(ways):
                        link = 2 * self.interfaces + direction * self.uplinks + switch
                        row = number, link, PATTERNS.index(pattern), times * int(fewest[number])
                        found += [row] if times else []
        if not found:
            return []
        groups, links, kinds, often = (np.array(column) for column in zip(*found, strict=True))
        return [(groups, links, kinds, often)]

    def equal_ranks(self) -> Colours:
        """Number ranks such that ranks with the same number do the same at the same time.

        They have the same program; their groups are placed on nodes in the same way, have members
        of the same numbers, and load interfaces that groups of the same numbers load; and likewise
        their peers. The coarsest such numbering is found by refinement. Max-min fair shares of
        links are then the same for all groups of a kind.
        """
        colour = self.programs
        for groups in self.groups:
            # Shape of a group: number of its members on each of its nodes.
            nodes = self.node_of[groups.members]
            shape = np.where(groups.inside, nodes - nodes[:, :1], -1)
            _, shape_of = np.unique(shape, axis=0, return_inverse=True)
            shapes = shape_of.reshape(-1)[groups.group]
            colour = _joined(colour, np.where(groups.users, shapes, -1))
        for used, peer in self.peers:
            near = self.node_of[peer] == self.node_of
            colour = _joined(colour, np.where(used, near, -1))
        while True:
            finer = self._refined(colour)
            if int(finer.max()) == int(colour.max()):
                return colour
            colour = finer

    def _refined(self, colour: Colours) -> Colours:
        own = _mixed(colour)
        sums, loads = self._sums(own)
        finer = colour
        for groups, total in zip(self.groups, sums, strict=True):
            with_loads = total.copy()
            uses = groups.loads
            np.add.at(with_loads, uses.owner, _mixed(loads[uses.link] + uses.marks))
            finer = _joined(finer, np.where(groups.users, with_loads[groups.group], 0))
        for used, peer in self.peers:
            finer = _joined(finer, np.where(used, own[peer], 0))
        for message in self.messages:
            way = np.zeros(len(message.senders), np.uint64)
            np.add.at(way, message.loads.owner, _mixed(loads[message.loads.link]))
            for ends in (message.senders, message.receivers):
                at_ends = np.zeros(len(colour), np.uint64)
                at_ends[ends] = way
                finer = _joined(finer, at_ends)
        return finer

    def _sums(self, own: _Bits) -> tuple[list[_Bits], _Bits]:
        """Return the parts of each group, and the load of each link."""
        loads = np.zeros(self.links, np.uint64)
        sums = []
        for number, groups in enumerate(self.groups):
            members = np.where(groups.inside, own[groups.members], np.uint64(0))
            sums.append(_mixed(members.sum(axis=1) + np.uint64(number)))
            uses = groups.loads
            np.add.at(loads, uses.link, _mixed(sums[-1][uses.owner] + uses.marks))
        for number, message in enumerate(self.messages):
            load = own[message.senders] + _mixed(own[message.receivers] + np.uint64(number))
            np.add.at(loads, message.loads.link, _mixed(load)[message.loads.owner])
        return sums, _mixed(loads)

    def loads(
        self, lane_of: Colours, *, merge: bool
    ) -> Iterator[tuple[MeetingKey, int, str, float]]:
        """Yield the load of links: groups by lanes, link, pattern (empty: all), multiple.

        With `merge`, only one of the links that the same groups load in the same way is returned.
        """
        selected = np.ones(self.links, bool)
        if merge:
            _, firsts = np.unique(self._sums(_mixed(lane_of))[1], return_index=True)
            selected[:] = False
            selected[firsts] = True
        for groups in self.groups:
            for group, link, pattern, times in zip(*groups.loads.on(selected), strict=True):
                members = groups.members[group][groups.inside[group]]
                lanes = np.unique(lane_of[members])
                name = "" if pattern < 0 else PATTERNS[pattern]
                yield (groups.name, *map(int, lanes)), int(link), name, float(times)
        for message in self.messages:
            uses = message.loads.on(selected)
            for owner, link in zip(uses.owner, uses.link, strict=True):
                ends = message.senders[owner], message.receivers[owner]
                yield (*message.name, *(int(lane_of[end]) for end in ends)), int(link), "", 1.0


# Layouts that differ only in schedule and micro-batches have the same links.
@lru_cache(maxsize=2)
def equal_ranks_and_loads(
    calls: Calls, machine: Nodes
) -> tuple[Traffic, Colours, list[tuple[MeetingKey, int, str, float]]]:
    """Return the communication, `Traffic.equal_ranks`, and the loads of links of each kind."""
    traffic = Traffic(calls, machine)
    lane_of = traffic.equal_ranks()
    lane_of.setflags(write=False)
    return traffic, lane_of, [*traffic.loads(lane_of, merge=True)]


def _mixed(values: npt.NDArray[np.integer]) -> _Bits:
    """Hash numbers such that distinct values, and sums of distinct sets of values, differ.

    The function is that of the SplitMix64 generator.
    """
    mixed = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def _joined(first: Colours, second: npt.NDArray[np.generic]) -> Colours:
    """Number the pairs of two numberings."""
    _, second_index = np.unique(second, return_inverse=True)
    pairs = first * (int(second_index.max()) + 1) + second_index
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def crossings(pattern: str, switches: tuple[int, ...]) -> dict[int, tuple[float, float]]:
    """Return the traffic from the first switches of a group's nodes to others, and back.

    Parameters
    ----------
    pattern
        One of `PATTERNS`.
    switches
        By node of the group, in order: number of its first switches.

    Returns
    -------
    dict
        By number of switches: outgoing and incoming, as multiples of what the interfaces of the
        busiest node carry.
    """
    of_node = np.array(switches)
    found: dict[int, tuple[float, float]] = {}
    if pattern == "all":
        numbers, counts = np.unique(of_node, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            part = count * (len(switches) - count) / (len(switches) - 1)
            found[number] = part, part
    elif pattern == "sharp":
        # Reducing switches send one sum up, and copy what comes down.
        elsewhere = 1.0 if len(set(switches)) > 1 else 0.0
        found = dict.fromkeys(switches, (elsewhere, elsewhere))
    else:
        senders, receivers, parts = _edges(pattern, len(switches))
        out, into = of_node[senders], of_node[receivers]
        far = out != into
        for number in np.unique(of_node).tolist():
            ends = (far & (out == number), far & (into == number))
            found[number] = float(parts[ends[0]].sum()), float(parts[ends[1]].sum())
    return {number: ways for number, ways in found.items() if any(ways)}


@lru_cache(maxsize=256)
def _edges(pattern: str, nodes: int) -> _Edges:
    """Return senders, receivers, and the fraction of the busiest node's bytes on each edge."""
    numbers = np.arange(nodes)
    if pattern == "ring":
        return numbers, (numbers + 1) % nodes, np.ones(nodes)
    if pattern == "pat":
        # A part for each distance from its owner, in steps given by the bits of the distance.
        steps = numbers[1:] & -numbers[1:]
        senders = np.tile(numbers, nodes.bit_length())
        lengths = np.repeat(1 << np.arange(nodes.bit_length()), nodes)
        shares = np.array([np.count_nonzero(steps == length) for length in 1 << np.arange(
            nodes.bit_length())])  # fmt: skip
        parts = np.repeat(shares / (nodes - 1), nodes)
        return senders, (senders - lengths) % nodes, parts
    # Half of the bytes on each tree, up and down.
    trees = [
        (child, above.parent)
        for tree in double_tree(nodes)
        for child, above in enumerate(tree)
        if above.parent >= 0
    ]
    children, above = np.array(trees, dtype=np.int64).T
    part = 0.5 if nodes == 2 else 0.25
    ends = np.concatenate([children, above]), np.concatenate([above, children])
    return *ends, np.full(len(ends[0]), part)
