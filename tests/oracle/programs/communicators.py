"""Writes random calls on communicators: those that make and free them, and collectives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracle.programs.collective_calls import OPERATIONS, CollectiveAuthor
from tests.oracle.programs.program import Line, Sizes, Word

#: Tags under which SimGrid's tracer writes the requests of non-blocking collectives.
PENDING_TAG = {
    "allgather": -557,
    "allgatherv": -668,
    "allreduce": -4446,
    "alltoall": -1113,
    "alltoallv": -1001,
    "barrier": -779,
    "bcast": -3335,
    "exscan": -889,
    "gather": -446,
    "gatherv": -2224,
    "reduce": -113,
    "reducescatter": -890,
    "scan": -889,
    "scatter": -224,
    "scatterv": -335,
}
MOST_COMMUNICATORS = 6


class CommunicatorAuthor(CollectiveAuthor):
    """An author that also writes communicators and non-blocking collectives."""

    def __init__(
        self, rng: random.Random, ranks: int, sizes: Sizes, *, double: bool, eager: bool
    ) -> None:
        super().__init__(rng, ranks, sizes, double=double, eager=eager)
        self.world = Group(0, tuple(range(ranks)))
        self.groups = [self.world]
        self.group = self.world
        self.free_ids = [random.Random(ranks).randint(1, 60000)]
        self.requests: list[list[Request]] = [[] for _ in range(ranks)]
        self.open: list[Half] = []
        self.persistents: list[Persistent] = []
        self.prefix = ""

    # -- lines ---------------------------------------------------------------------------

    def write(self, rank: int, *words: Word) -> None:
        """Write a line of a rank of the current group."""
        first = f"{self.prefix}{words[0]}"
        world = self.group.members[rank]
        self.lines.append(Line(self.event, world, (first, *words[1:], *self.group.words)))

    def words_of(self, line: int) -> Sequence[Word]:
        first, *others = self.lines[line].words
        arguments = (word for word in others if not str(word).startswith("comm="))
        return (str(first).removeprefix(self.prefix), *arguments)

    def members(self) -> Sequence[int]:
        return self.group.members

    def put(self, event: int, world: int, *words: Word) -> None:
        self.lines.append(Line(event, world, words))

    def any_group(self) -> Group:
        return self.rng.choice(self.groups)

    # -- communicators -------------------------------------------------------------------

    def new_id(self) -> int:
        if self.free_ids and self.rng.random() < 0.5:
            return self.free_ids.pop()
        used = {group.id for group in self.groups} | set(self.free_ids)
        return next(i for i in iter(lambda: self.rng.randint(1, 65535), 0) if i not in used)

    def split(self) -> None:
        if len(self.groups) >= MOST_COMMUNICATORS:
            return
        parent, number = self.any_group(), self.new_id()
        event = self.new_event()
        style = self.rng.random()
        colors, keys = [], []
        for i, rank in enumerate(parent.members):
            colors.append(self.rng.choice([i % 2, i // 2, self.rng.randint(-1, 2)]))
            keys.append(0 if style < 0.4 else self.rng.randint(-3, 3))
            self.put(event, rank, "comm_split", parent.id, number, colors[-1], keys[-1])
        made = []
        for color in sorted(set(colors) - {-1}):
            places = [i for i, mine in enumerate(colors) if mine == color]
            places.sort(key=lambda i: (keys[i], i))
            made.append(Group(number, tuple(parent.members[i] for i in places)))
        self.add_groups(made, parent)

    def duplicate(self) -> None:
        if len(self.groups) >= MOST_COMMUNICATORS:
            return
        parent, number = self.any_group(), self.new_id()
        event = self.new_event()
        for rank in parent.members:
            self.put(event, rank, "comm_dup", parent.id, number)
        self.add_groups([Group(number, parent.members)], parent)

    def add_groups(self, made: Sequence[Group], parent: Group) -> None:
        """Add communicators; their creation ends with a broadcast, which SimGrid must support."""
        call = ("bcast", 4, 0, 6)
        if self.fails and any(self.fails(call, 1, group.members) for group in made):
            self.lines = [line for line in self.lines if line.event != self.event]
            return
        self.groups += made
        self.separate(parent)

    def separate(self, group: Group) -> None:
        """Add a barrier: in eager mode SimGrid mixes up messages in flight of different calls."""
        if self.eager:
            for rank in group.members:
                self.put(self.event, rank, "barrier", *group.words)

    def free(self) -> None:
        busy = {half.group for half in self.open} | {other.group for other in self.persistents}
        busy |= {
            group
            for group in self.groups
            for rank in group.members
            for request in self.requests[rank]
            if request.comm == group.words
        }
        idle = [group for group in self.groups if group.id and group not in busy]
        if idle:
            group = self.rng.choice(idle)
            event = self.new_event()
            for rank in group.members:
                self.put(event, rank, "comm_free", group.id)
            self.groups.remove(group)
            if all(other.id != group.id for other in self.groups):
                self.free_ids.append(group.id)

    # -- collectives ---------------------------------------------------------------------

    def within(self, operation: str, prefix: str = "") -> Group:
        """Write a call of all ranks of a group."""
        self.group, self.prefix = self.any_group(), prefix
        group, self.ranks = self.group, len(self.group.members)
        self.collective(operation)
        self.group, self.prefix, self.ranks = self.world, "", len(self.world.members)
        return group

    def blocking(self) -> None:
        self.within(self.rng.choice(OPERATIONS))

    def nonblocking(self) -> None:
        if self.eager or self.apart:
            return
        operation = self.rng.choice(OPERATIONS)
        written = len(self.lines)
        group = self.within(operation, "i")
        if len(self.lines) == written:  # a call that SimGrid does not support
            return
        key = (-333, -333, PENDING_TAG[operation])
        for rank in group.members:
            self.requests[rank].append(Request(self.event, key, group.words))


@dataclass(frozen=True)
class Group:
    """A communicator: its name in the trace, and its members in order."""

    id: int
    members: tuple[int, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        return (f"comm={self.id}",) if self.id else ()


@dataclass
class Request:
    """A pending request: the words that identify it, and whether the other side is posted."""

    event: int
    key: tuple[Word, ...]
    comm: tuple[Word, ...]
    matched: bool = True
    persistent: bool = False


@dataclass
class Half:
    """A message with one side posted; `post` posts the other one."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    words: tuple[Word, ...]
    request: Request
    sent: bool


@dataclass
class Persistent:
    """Two persistent requests that match each other."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    active: list[tuple[int, Request]] = field(default_factory=list)
