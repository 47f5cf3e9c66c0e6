"""Random programs of the calls beyond SimGrid's replay: communicators, requests of every kind.

As in `programs.py` the lines stand in an order in which the ranks could execute them one by one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracle.cases import Case, keep_to_simgrid, place
from tests.oracle.platforms.families import FAMILIES, draw_platform
from tests.oracle.programs.collective_calls import OPERATIONS, CollectiveAuthor
from tests.oracle.programs.configs import draw_config, thresholds
from tests.oracle.programs.program import ANY_SOURCE, ANY_TAG, Line, Program, Word
from tests.oracle.programs.sizes import Sizes

#: The tags under which SimGrid's tracer writes the requests of non-blocking collectives.
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
SENDS = ("send", "ssend", "bsend", "isend", "issend", "ibsend")
MOST_COMMUNICATORS = 6


@dataclass(frozen=True)
class Group:
    """A communicator: what the trace calls it, and its members in their order."""

    id: int
    members: tuple[int, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        return (f"comm={self.id}",) if self.id else ()


@dataclass
class Handle:
    """A pending request: the words that name it, and whether the other side has been posted."""

    event: int
    key: tuple[Word, ...]
    comm: tuple[Word, ...]
    met: bool = True
    persistent: bool = False


@dataclass
class Half:
    """A message of which one half was posted; `post` the other one."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    words: tuple[Word, ...]
    handle: Handle
    sent: bool


@dataclass
class Persistent:
    """Two persistent requests that fit each other."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    active: list[tuple[int, Handle]] = field(default_factory=list)


class CallAuthor(CollectiveAuthor):
    """An author that knows communicators, all kinds of requests and non-blocking collectives."""

    def __init__(
        self, rng: random.Random, ranks: int, sizes: Sizes, *, double: bool, eager: bool
    ) -> None:
        super().__init__(rng, ranks, sizes, double=double, eager=eager)
        self.world = Group(0, tuple(range(ranks)))
        self.groups = [self.world]
        self.group = self.world
        self.free_ids = [random.Random(ranks).randint(1, 60000)]
        self.handles: list[list[Handle]] = [[] for _ in range(ranks)]
        self.open: list[Half] = []
        self.persistents: list[Persistent] = []
        self.prefix = ""

    # -- lines ---------------------------------------------------------------------------

    def write(self, rank: int, *words: Word) -> None:
        """A line of a rank of the present group."""
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
        self.found(made, parent)

    def duplicate(self) -> None:
        if len(self.groups) >= MOST_COMMUNICATORS:
            return
        parent, number = self.any_group(), self.new_id()
        event = self.new_event()
        for rank in parent.members:
            self.put(event, rank, "comm_dup", parent.id, number)
        self.found([Group(number, parent.members)], parent)

    def found(self, made: Sequence[Group], parent: Group) -> None:
        """New communicators; their ranks end the call with a broadcast, which SimGrid must do."""
        call = ("bcast", 4, 0, 6)
        if self.fails and any(self.fails(call, 1, group.members) for group in made):
            self.lines = [line for line in self.lines if line.event != self.event]
            return
        self.groups += made
        self.part(parent)

    def part(self, group: Group) -> None:
        """In eager mode SimGrid mixes up messages of different calls that are under way."""
        if self.eager:
            for rank in group.members:
                self.put(self.event, rank, "barrier", *group.words)

    def free(self) -> None:
        busy = {half.group for half in self.open} | {other.group for other in self.persistents}
        busy |= {
            group
            for group in self.groups
            for rank in group.members
            for handle in self.handles[rank]
            if handle.comm == group.words
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
        """A call of all ranks of a group."""
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
        if len(self.lines) == written:  # one that SimGrid cannot do
            return
        key = (-333, -333, PENDING_TAG[operation])
        for rank in group.members:
            self.handles[rank].append(Handle(self.event, key, group.words))

    # -- messages ------------------------------------------------------------------------

    def ends(self, group: Group) -> tuple[int, int]:
        """Two ranks of a group, sometimes twice the same."""
        src, dst = (self.rng.randrange(len(group.members)) for _ in range(2))
        if src == dst and self.rng.random() < 0.9:
            dst = (src + 1) % len(group.members)
        return src, dst

    def next_tag(self) -> int:
        self.tag += 1
        return self.tag

    def send_kind(self, *, may_block: bool) -> str:
        kind = self.rng.choice(SENDS)
        return kind if may_block or kind[0] == "i" else f"i{kind}"

    def pend(self, event: int, world: int, key: tuple[Word, ...], group: Group) -> Handle:
        handle = Handle(event, key, group.words)
        self.handles[world].append(handle)
        return handle

    def post(self, half: Half, *, send: bool, may_block: bool) -> Handle | None:
        """Post the send or the receive of a message; a handle unless the call waits."""
        group, tag, words = half.group, half.tag, half.words
        if send:
            kind = self.send_kind(may_block=may_block)
            world = group.members[half.src]
            self.put(half.event, world, kind, half.dst, tag, *words, *group.words)
            waits, key = kind[0] != "i", (half.src, half.dst, tag)
        else:
            world, source, kept = group.members[half.dst], half.src, tag
            chance = self.rng.random()
            if chance < 0.15:
                source = ANY_SOURCE
            probe = may_block and self.rng.random() < 0.3
            waits = may_block and self.rng.random() < 0.5
            if probe and half.sent:
                self.pause(half.event, world)
                self.put(half.event, world, "probe", source, kept, *group.words)
            action = "recv" if waits else "irecv"
            if self.rng.random() < 0.05 and half.sent and may_block:
                words = (-1, *words[1:])
            self.put(half.event, world, action, source, kept, *words, *group.words)
            key = (source, half.dst, kept)
        return None if waits else self.pend(half.event, world, key, group)

    def message(self) -> None:
        """Both halves now, or one of them now and the other later."""
        group = self.any_group()
        src, dst = self.ends(group)
        count, kind = self.sizes.draw(self.default_width)
        unknown = Handle(0, (), ())
        half = Half(
            self.new_event(), group, src, dst, self.next_tag(), (count, *kind), unknown, False
        )
        first = self.rng.random() < 0.5
        if self.rng.random() < 0.5:
            handle = self.post(half, send=first, may_block=False)
            assert handle is not None
            handle.met, half.handle, half.sent = False, handle, first
            self.open.append(half)
        elif src == dst:
            self.post(half, send=False, may_block=False)
            self.post(half, send=True, may_block=True)
        else:
            self.post(half, send=True, may_block=True)
            half.sent = True
            self.post(half, send=False, may_block=True)

    def answer(self) -> None:
        """The other half of a message."""
        if self.open:
            half = self.open.pop(self.rng.randrange(len(self.open)))
            half.handle.met = True
            self.post(half, send=not half.sent, may_block=True)

    def look(self) -> None:
        """An MPI_Iprobe, for a message that may be there."""
        group = self.any_group()
        if self.open and self.rng.random() < 0.6:
            half = self.rng.choice(self.open)
            if half.sent:
                words = (half.src, half.tag, *half.group.words)
                self.pause(half.event, half.group.members[half.dst])
                self.put(half.event, half.group.members[half.dst], "iprobe", *words)
                return
        src, dst = self.ends(group)
        event = self.new_event()
        self.pause(event, group.members[dst])
        self.put(
            event, group.members[dst], "iprobe", src, self.rng.choice([ANY_TAG, 7]), *group.words
        )

    # -- persistent requests -------------------------------------------------------------

    def prepare(self) -> None:
        group = self.any_group()
        src, dst = self.ends(group)
        count, kind = self.sizes.draw(self.default_width)
        event, tag = self.new_event(), self.next_tag()
        send = self.rng.choice(["send_init", "ssend_init", "bsend_init"])
        words = (tag, count, *kind, *group.words)
        self.put(event, group.members[src], send, dst, *words)
        self.put(event, group.members[dst], "recv_init", src, *words)
        self.persistents.append(Persistent(event, group, src, dst, tag))

    def start(self) -> None:
        """Start both; those of the last time are waited for first.

        In SimGrid a detached persistent send that starts again before its last message was received
        renumbers that message, which then is never received: a barrier comes between.
        """
        if not self.persistents:
            return
        pair = self.rng.choice(self.persistents)
        group = pair.group
        if pair.active:
            self.finish_pair(pair)
            for world in group.members:
                self.put(pair.event, world, "barrier", *group.words)
        key = (pair.src, pair.dst, pair.tag)
        for end in (pair.src, pair.dst):
            world = group.members[end]
            self.put(pair.event, world, "start", *key, *group.words)
            handle = self.pend(pair.event, world, key, group)
            handle.persistent = True
            pair.active.append((world, handle))

    def finish_pair(self, pair: Persistent) -> None:
        for world, handle in pair.active:
            if handle in self.handles[world]:
                self.handles[world].remove(handle)
            self.put(handle.event, world, "wait", *handle.key, *handle.comm)
        pair.active.clear()

    # -- requests ------------------------------------------------------------------------

    def wait(self) -> None:
        rank = self.any_rank()
        if met := [handle for handle in self.handles[rank] if handle.met]:
            handle = self.rng.choice(met)
            self.handles[rank].remove(handle)
            self.put(handle.event, rank, "wait", *handle.key, *handle.comm)

    def test(self) -> None:
        rank = self.any_rank()
        if self.handles[rank]:
            handle = self.rng.choice(self.handles[rank])
            self.pause(handle.event, rank)
            self.put(handle.event, rank, "test", *handle.key, *handle.comm)

    def several(self) -> None:
        """A call about all pending requests of a rank; those that block need them to be met."""
        rank = self.any_rank()
        handles = self.handles[rank]
        actions = ["testany", "testsome"]
        if not any(handle.persistent for handle in handles):
            actions.append("testall")
        if all(handle.met for handle in handles):
            actions += ["waitall", "waitany", "waitany", "waitsome", "waitsome"]
        action = self.rng.choice(actions)
        event = self.new_event()
        self.pause(event, rank)
        self.put(event, rank, action)
        if action == "waitall":
            handles.clear()

    # -- the whole -----------------------------------------------------------------------

    def compose(self, steps: int) -> str:
        """Write a program of a random character, whose name is returned."""
        moves = {
            "communicators": [(self.split, 2), (self.duplicate, 0.5), (self.free, 0.5)],
            "collectives": [(self.blocking, 3)],
            "nonblocking": [(self.nonblocking, 4)],
            "messages": [(self.message, 8), (self.answer, 4)],
            "probes": [(self.message, 2), (self.answer, 2), (self.look, 3)],
            "persistent": [(self.prepare, 1), (self.start, 4)],
            "tests": [(self.test, 5)],
            "several": [(self.several, 4)],
        }
        kinds = [kind for kind in moves if self.rng.random() < 0.5] or ["communicators"]
        chosen = [(self.compute, 2.0), (self.sleep, 0.3), (self.wait, 4.0)]
        chosen += [move for kind in kinds for move in moves[kind]]
        for move in self.rng.choices([m for m, _ in chosen], [w for _, w in chosen], k=steps):
            move()
        while self.open:
            self.answer()
        return " ".join(kinds)


def draw_calls(
    seed: int,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    selectors: Sequence[str] = ("default",),
) -> Case:
    """The case of a seed."""
    rng = random.Random(seed)
    family = rng.choice(list(families))
    platform, names = draw_platform(rng, family)
    ranks = min(rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16]), 2 * len(names))
    hosts = place(rng, ranks, names)
    config = draw_config(rng, hosts, selectors)
    double = rng.random() < 0.2
    eager = config.get("smpi/async-small-thresh", "0") != "0"
    author = CallAuthor(rng, ranks, Sizes(rng, thresholds(config)), double=double, eager=eager)
    keep_to_simgrid(author, config, hosts)
    kinds = author.compose(rng.choice([5, 15, 40, 100]))
    return Case(
        label=f"calls, seed {seed}: {family}, {ranks} ranks, {kinds}",
        program=Program(ranks, tuple(author.lines)),
        init="init 1" if double else "init",
        platform=platform,
        hosts=hosts,
        config=config,
    )
