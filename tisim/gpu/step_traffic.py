"""Which network interfaces communication loads, and GPUs that do the same at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tisim.gpu.step_graph import COLLECTIVES, Graph, Node

if TYPE_CHECKING:
    from tisim.gpu.machines import Machine

Colours = npt.NDArray[np.int64]
#: Groups that are executed as one: the communicator and the lanes of its members, or the offset and
#: the tag of a message and the lanes of its ends.
MeetingKey = tuple[str | int, ...]
_Bits = npt.NDArray[np.uint64]


def nodes_of(graph: Graph, nodes: list[Node], seen: dict[str, None]) -> list[Node]:
    """All nodes of a program and of its blocks, each once; adds the blocks to `seen`."""
    found = list(nodes)
    for node in nodes:
        if node.word == "do" and node.name not in seen:
            found += nodes_of(graph, graph.blocks[node.name], seen)
            seen[node.name] = None
    return found


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
        A group, an interface, and the part of the group's bytes there beside its other interfaces
        of the node; a row for each interface of groups on several nodes.
    """

    name: str
    users: npt.NDArray[np.bool_]
    group: Colours
    members: Colours
    inside: npt.NDArray[np.bool_]
    loads: tuple[Colours, Colours, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Messages:
    """Messages to other nodes of one offset and tag."""

    name: tuple[int, ...]
    senders: Colours
    receivers: Colours


class Traffic:
    """The communication of a graph on a machine."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        ranks = np.arange(graph.ranks)
        self.nodes, self.nics = machine.nodes, machine.nics
        self.interfaces = self.nodes * self.nics
        self.node_of = ranks // machine.gpus
        self.interface_of = (
            self.node_of * self.nics + ranks % machine.gpus * self.nics // machine.gpus
        )
        self.programs = np.zeros(graph.ranks, dtype=np.int64)
        users: dict[str, npt.NDArray[np.bool_]] = {}
        peers: dict[tuple[str, tuple[int, ...]], npt.NDArray[np.bool_]] = {}
        for number, (first, last, nodes) in enumerate(graph.programs):
            self.programs[first : last + 1] = number
            for node in nodes_of(graph, nodes, {}):
                if node.word in COLLECTIVES:
                    users.setdefault(node.name, np.zeros(graph.ranks, bool))[first : last + 1] = (
                        True
                    )
                elif node.word in ("send", "receive"):
                    offset, _, *tags = map(int, node.numbers)
                    key = node.word, (offset % graph.ranks, *tags)
                    peers.setdefault(key, np.zeros(graph.ranks, bool))[first : last + 1] = True
        self.groups = [self._groups(graph, name, used) for name, used in users.items()]
        # Of those who send or receive: the peer.
        self.peers = []
        self.messages = []
        for (word, name), used in peers.items():
            peer = (ranks + name[0]) % graph.ranks
            self.peers.append((used, peer))
            far = used & (self.node_of[peer] != self.node_of)
            if word == "send" and far.any():
                self.messages.append(_Messages(name, ranks[far], peer[far]))

    def _groups(self, graph: Graph, name: str, users: npt.NDArray[np.bool_]) -> _Groups:
        size, stride = graph.communicators[name]
        ranks = np.arange(graph.ranks)
        heads = ranks - ranks // stride % size * stride
        firsts = np.unique(heads[users])
        members = firsts[:, None] + stride * np.arange(size)[None, :]
        inside = members < graph.ranks
        members = np.where(inside, members, 0)
        group = np.where(users, np.searchsorted(firsts, heads), 0)
        return _Groups(name, users, group, members, inside, self._loads(members, inside))

    def _loads(
        self, members: Colours, inside: npt.NDArray[np.bool_]
    ) -> tuple[Colours, Colours, npt.NDArray[np.float64]]:
        """See `_Groups`: a group sends as much from all nodes, and from all interfaces of one."""
        groups = np.broadcast_to(np.arange(len(members))[:, None], members.shape)[inside]
        places = np.unique(groups * self.interfaces + self.interface_of[members[inside]])
        group, interface = np.divmod(places, self.interfaces)
        on_node = group * self.nodes + interface // self.nics
        at, node, counts = np.unique(on_node, return_inverse=True, return_counts=True)
        fewest = np.full(len(members), self.nics)
        np.minimum.at(fewest, at // self.nodes, counts)
        far = np.bincount(at // self.nodes, minlength=len(members))[group] > 1
        return group[far], interface[far], (fewest[group] / counts[node])[far]

    def equal_ranks(self) -> Colours:
        """Number ranks such that those with a number do the same at the same time.

        They have the same program; their groups lie on nodes in the same way, have members of the
        same numbers, and load interfaces that groups of the same numbers load; and so have their
        peers. The coarsest such numbering is found by refinement. Shares of links, which are
        max-min fair, are then the same for all groups of a kind.
        """
        colour = self.programs
        for groups in self.groups:
            # A group's shape: how many of it are on each of its nodes.
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
            group, interface, _ = groups.loads
            with_loads = total.copy()
            ways = loads[interface] + _mixed(loads[interface + self.interfaces])
            np.add.at(with_loads, group, ways)
            finer = _joined(finer, np.where(groups.users, with_loads[groups.group], 0))
        for used, peer in self.peers:
            finer = _joined(finer, np.where(used, own[peer], 0))
        for message in self.messages:
            up, down = self._interfaces_of(message)
            way = loads[up] + _mixed(loads[down])
            for ends in (message.senders, message.receivers):
                at_ends = np.zeros(len(colour), np.uint64)
                at_ends[ends] = way
                finer = _joined(finer, at_ends)
        return finer

    def _interfaces_of(self, message: _Messages) -> tuple[Colours, Colours]:
        """Out of the node of each sender, and into that of its receiver."""
        return (
            self.interface_of[message.senders],
            self.interfaces + self.interface_of[message.receivers],
        )

    def _sums(self, own: _Bits) -> tuple[list[_Bits], _Bits]:
        """What each group consists of, and what loads each interface, out and in."""
        loads = np.zeros(2 * self.interfaces, np.uint64)
        sums = []
        for number, groups in enumerate(self.groups):
            members = np.where(groups.inside, own[groups.members], np.uint64(0))
            sums.append(_mixed(members.sum(axis=1) + np.uint64(number)))
            group, interface, times = groups.loads
            load = _mixed(sums[-1][group] + times.view(np.uint64))
            np.add.at(loads, interface, load)
            np.add.at(loads, interface + self.interfaces, load)
        for number, message in enumerate(self.messages):
            load = own[message.senders] + _mixed(own[message.receivers] + np.uint64(number))
            for ends in self._interfaces_of(message):
                np.add.at(loads, ends, _mixed(load))
        return sums, _mixed(loads)

    def loads(self, lane_of: Colours, *, merge: bool) -> Iterator[tuple[MeetingKey, int, float]]:
        """What loads interfaces: groups by lanes, the interface's number, how often.

        With `merge`, only one interface is told of those that the same groups load in the same way.
        """
        told = np.ones(2 * self.interfaces, bool)
        if merge:
            _, firsts = np.unique(self._sums(_mixed(lane_of))[1], return_index=True)
            told[:] = False
            told[firsts] = True
        for groups in self.groups:
            for direction in (0, self.interfaces):
                at = told[groups.loads[1] + direction]
                for group, interface, times in zip(
                    *(part[at] for part in groups.loads), strict=True
                ):
                    members = groups.members[group][groups.inside[group]]
                    lanes = np.unique(lane_of[members])
                    yield (groups.name, *map(int, lanes)), int(interface) + direction, float(times)
        for message in self.messages:
            ends = lane_of[message.senders], lane_of[message.receivers]
            for interfaces in self._interfaces_of(message):
                at = told[interfaces]
                for sender, receiver, interface in zip(
                    ends[0][at], ends[1][at], interfaces[at], strict=True
                ):
                    yield (*message.name, int(sender), int(receiver)), int(interface), 1.0


def _mixed(values: npt.NDArray[np.integer]) -> _Bits:
    """Numbers that differ for values that differ, and whose sums do for other sets of values.

    The function is that of the generator SplitMix64.
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
