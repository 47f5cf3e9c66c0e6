"""Random MPI programs that cannot deadlock, as time-independent traces.

A program is one list of lines, in an order in which the ranks could execute them one after the
other: if a line blocks, its dependencies precede it or are in the same event. Each rank's trace is
its part of the list, so every program runs to completion under any protocol.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

ANY_SOURCE, ANY_TAG, PROC_NULL = -555, -444, -666
#: Lower tags are shared by many messages; from here on, each is used once.
FIRST_UNIQUE_TAG = 100


@dataclass(frozen=True)
class Peer:
    """A word of a line that is a rank (renumbered when a rank is dropped)."""

    rank: int


@dataclass(frozen=True)
class Each:
    """Words of a line with a number for every rank."""

    values: tuple[int, ...]


Word = str | int | float | Peer | Each


@dataclass(frozen=True)
class Line:
    """One action of one rank; the lines of one event belong together."""

    event: int
    rank: int
    words: tuple[Word, ...]

    def text(self) -> str:
        words: list[str] = [str(self.rank)]
        for word in self.words:
            if isinstance(word, Each):
                words += [str(value) for value in word.values]
            else:
                words.append(str(word.rank) if isinstance(word, Peer) else str(word))
        return " ".join(words)


@dataclass(frozen=True)
class Program:
    """All lines of `ranks` ranks, in an order in which they can run sequentially."""

    ranks: int
    lines: tuple[Line, ...]

    def texts(self) -> list[str]:
        """Return the content of each rank's trace file."""
        files: list[list[str]] = [[] for _ in range(self.ranks)]
        for line in self.lines:
            files[line.rank].append(line.text())
        return ["".join(f"{text}\n" for text in texts) for texts in files]

    def events(self) -> list[int]:
        return sorted({line.event for line in self.lines})

    def keep(self, events: Iterable[int]) -> Program:
        """Return the program with only these events."""
        kept = set(events)
        return replace(self, lines=tuple(line for line in self.lines if line.event in kept))

    def without_rank(self, rank: int) -> Program:
        """Return the program without a rank and its messages."""
        new = {old: old - (old > rank) for old in range(self.ranks) if old != rank}
        broken = {
            line.event
            for line in self.lines
            if any(isinstance(word, Peer) and word.rank == rank for word in line.words)
        }

        def renumber(word: Word) -> Word:
            if isinstance(word, Peer):
                return Peer(new[word.rank])
            if isinstance(word, Each):
                return Each(word.values[:rank] + word.values[rank + 1 :])
            return word

        lines = tuple(
            Line(line.event, new[line.rank], tuple(renumber(word) for word in line.words))
            for line in self.lines
            if line.rank != rank and line.event not in broken
        )
        return Program(self.ranks - 1, lines)


@dataclass
class Message:
    """A message of which at most one side is posted."""

    event: int
    src: int
    dst: int
    tag: int
    count: int
    type_words: tuple[int, ...]
    first: str = ""  # "send" or "recv": the side that was posted first
    requests: list[Request] = field(default_factory=list)


@dataclass
class Request:
    """A pending isend or irecv, and the words by which a wait identifies it."""

    event: int
    key: tuple[Word, Word, int]
    unique: bool
    met: bool = False
    number: int = -1  # ``request=``; -1: none


class Author:
    """Writes a random program.

    Parameters
    ----------
    rng
        Random number generator; equal states give equal programs.
    ranks
        Number of ranks.
    sizes
        Draws the sizes of messages.
    double
        Whether `init` makes double the default type.
    eager
        Whether small messages are eager. SimGrid then has two mailboxes per rank, one for small and
        one for large messages, and of two messages with the same key the later one may be matched
        first. Therefore no two messages in flight to a rank match the same receive.
    """

    def __init__(
        self, rng: random.Random, ranks: int, sizes: Sizes, *, double: bool, eager: bool
    ) -> None:
        self.rng = rng
        self.ranks = ranks
        self.sizes = sizes
        self.eager = eager
        self.rings = 0
        self.default_width = 8 if double else 1
        self.lines: list[Line] = []
        self.event = 0
        self.tag = FIRST_UNIQUE_TAG
        self.halves: dict[tuple[int, int, int], deque[Message]] = {}
        self.pending: list[list[Request]] = [[] for _ in range(ranks)]
        self.unit = rng.choice([1e3, 1e4, 1e5, 1e6, 1e7])

    def write(self, rank: int, *words: Word) -> None:
        self.lines.append(Line(self.event, rank, words))

    def new_event(self) -> int:
        self.event += 1
        return self.event

    def any_rank(self) -> int:
        return self.rng.randrange(self.ranks)

    # -- computations ----------------------------------------------------------------------

    def flops(self) -> float | int:
        """Draw a volume: often a multiple of one unit, so that many events coincide."""
        chance = self.rng.random()
        if chance < 0.05:
            return 0
        if chance < 0.6:
            return self.rng.randint(1, 8) * self.unit
        return round(10 ** self.rng.uniform(1, 8), 3)

    def compute(self) -> None:
        self.new_event()
        for rank in self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks)):
            self.write(rank, "compute", self.flops())

    def sleep(self) -> None:
        self.new_event()
        self.write(self.any_rank(), "sleep", self.rng.choice([0, 1e-6, 1e-5, 2.5e-4, 0.001]))

    # -- messages ------------------------------------------------------------------------

    def new_message(self) -> Message:
        src, dst = self.any_rank(), self.any_rank()
        if src == dst and self.rng.random() < 0.8:
            dst = (src + 1) % self.ranks
        if not self.eager and self.rng.random() < 0.5:
            tag = self.rng.randint(1, 3)
        else:
            self.tag += 1
            tag = self.tag
        count, type_words = self.sizes.draw(self.default_width)
        return Message(self.new_event(), src, dst, tag, count, type_words)

    def key(self, message: Message) -> tuple[int, int, int]:
        return (message.src, message.dst, message.tag)

    def post_send(self, message: Message, *, blocking: bool) -> None:
        action = "send" if blocking else "isend"
        words = (Peer(message.dst), message.tag, message.count, *message.type_words)
        self.lines.append(Line(message.event, message.src, (action, *words)))
        if not blocking:
            name = (Peer(message.src), Peer(message.dst), message.tag)
            self.remember(message, message.src, name)

    def post_recv(self, message: Message, *, blocking: bool, posted: bool) -> None:
        """Post the receive; `posted`: its send precedes it or is in the same event."""
        src: Word = Peer(message.src)
        tag, count = message.tag, message.count
        chance = self.rng.random()
        if chance < 0.1 and tag >= FIRST_UNIQUE_TAG:
            src = ANY_SOURCE
        elif chance < 0.15 and posted and not self.eager and not self.half_done(message):
            tag = ANY_TAG
        if self.rng.random() < 0.1:
            count += self.rng.randint(1, 1000)  # a buffer may be larger than its message
        elif self.rng.random() < 0.03 and posted and tag >= FIRST_UNIQUE_TAG:
            count = -1
        action = "recv" if blocking else "irecv"
        words = (action, src, tag, count, *message.type_words)
        self.lines.append(Line(message.event, message.dst, words))
        if not blocking:
            self.remember(message, message.dst, (src, Peer(message.dst), tag))

    def remember(self, message: Message, rank: int, key: tuple[Word, Word, int]) -> None:
        request = Request(message.event, key, unique=key[2] >= FIRST_UNIQUE_TAG)
        message.requests.append(request)
        self.pending[rank].append(request)

    def half_done(self, message: Message) -> bool:
        """Return True if another message between the same ranks has only one side posted."""
        ends = (message.src, message.dst)
        return any(queue and key[:2] == ends for key, queue in self.halves.items())

    def message(self) -> None:
        """Post both sides now, in one of the four ways (three for messages to self)."""
        message = self.new_message()
        if self.halves.get(self.key(message)):
            return
        blocking_send, blocking_recv = self.rng.random() < 0.5, self.rng.random() < 0.5
        to_itself = message.src == message.dst
        if to_itself and blocking_send:
            self.post_recv(message, blocking=False, posted=False)
            self.post_send(message, blocking=True)
        else:
            self.post_send(message, blocking=blocking_send)
            self.post_recv(message, blocking=blocking_recv, posted=True)
        self.meet_requests(message)

    def half(self) -> None:
        """Post one side of a message without blocking; the other follows later."""
        message = self.new_message()
        queue = self.halves.setdefault(self.key(message), deque())
        message.first = queue[0].first if queue else self.rng.choice(["send", "recv"])
        if message.first == "send":
            self.post_send(message, blocking=False)
        else:
            self.post_recv(message, blocking=False, posted=False)
        queue.append(message)

    def meet(self) -> None:
        """Post the other side of a message with one side posted."""
        queues = [queue for queue in self.halves.values() if queue]
        if queues:
            message = self.rng.choice(queues).popleft()
            blocking = self.rng.random() < 0.6
            if message.first == "send":
                self.post_recv(message, blocking=blocking, posted=True)
            else:
                self.post_send(message, blocking=blocking)
            self.meet_requests(message)

    def meet_requests(self, message: Message) -> None:
        for request in message.requests:
            request.met = True

    def nobody(self) -> None:
        """Write a call whose peer is MPI_PROC_NULL."""
        self.new_event()
        rank, (count, type_words) = self.any_rank(), self.sizes.draw(self.default_width)
        self.write(rank, self.rng.choice(["send", "recv"]), PROC_NULL, 1, count, *type_words)

    def sendrecv(self) -> None:
        """Write a ring of ranks, each sending to the next and receiving from the previous one."""
        self.rings += 1
        if self.eager and self.rings > 1:
            return
        self.new_event()
        ring = self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks))
        drawn = [self.sizes.draw(self.default_width) for _ in ring]
        for i, rank in enumerate(ring):
            after = ring[(i + 1) % len(ring)]
            (count, sent), (expected, received) = drawn[i], drawn[i - 1]
            default = 0 if self.default_width == 8 else 6
            types = (*(sent or (default,)), *(received or (default,)))
            self.write(rank, "sendRecv", count, Peer(after), expected, Peer(ring[i - 1]), *types)

    # -- requests ------------------------------------------------------------------------

    def ready(self, rank: int) -> list[Request]:
        """Return the requests that a wait may name: both sides posted, oldest with their key."""
        oldest: dict[tuple[Word, Word, int], Request] = {}
        for request in self.pending[rank]:
            oldest.setdefault(request.key, request)
        return [request for request in oldest.values() if request.met]

    def wait(self) -> None:
        rank = self.any_rank()
        if ready := self.ready(rank):
            request = self.rng.choice(ready)
            self.pending[rank].remove(request)
            self.lines.append(Line(request.event, rank, ("wait", *request.key)))

    def pause(self, event: int, rank: int) -> None:
        """Sleep for a unique time, so that the next action is alone at its instant.

        Which of several comes first is an accident of SimGrid's data structures
        (docs/adr/0012-one-instant.md).
        """
        seconds = round(self.rng.uniform(1e-6, 1e-4), 13)
        self.lines.append(Line(event, rank, ("sleep", seconds)))

    def test(self) -> None:
        """Test a request, which may succeed or not; a later wait for it is allowed in both cases.

        All ranks share the counter of failed tests, so the order of two tests at the same instant
        matters; a pause precedes the test.
        """
        rank = self.any_rank()
        if alone := [request for request in self.pending[rank] if request.unique]:
            request = self.rng.choice(alone)
            self.pause(request.event, rank)
            self.lines.append(Line(request.event, rank, ("test", *request.key)))

    def waitall(self) -> None:
        rank = self.any_rank()
        if self.pending[rank] and all(request.met for request in self.pending[rank]):
            self.new_event()
            self.write(rank, "waitall")
            self.pending[rank].clear()

    # -- the whole program ------------------------------------------------------------------

    def run(
        self, steps: int, moves: Sequence[Callable[[], None]], weights: Sequence[float]
    ) -> None:
        """Make `steps` random moves, then complete all pending operations."""
        for move in self.rng.choices(moves, weights, k=steps):
            move()
        while any(self.halves.values()):
            self.meet()
            if self.rng.random() < 0.3:
                self.wait()


#: Bytes of the types supported by both the trace format and the oracle.
WIDTH_OF_TYPE = {0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1, 7: 8, 11: 4, 16: 1, 19: 4, 20: 8, 43: 16}
MAX_BYTES = 4 << 20
#: Bytes of MPI's envelope: factor tables are indexed by the size plus this.
ENVELOPE = 16


class Sizes:
    """Draws counts and types of messages.

    Parameters
    ----------
    rng
        Random number generator.
    thresholds
        Sizes in bytes at which the configuration changes something.
    """

    def __init__(self, rng: random.Random, thresholds: Iterable[int]) -> None:
        self.rng = rng
        powers = {1 << k for k in range(4, 23)}
        self.own = sorted(set(thresholds)) or [65536]
        self.usual = sorted(powers | {1426, 3484, 5776, 9376, 12288, 15424, 65472, 81920, 327680})

    def nbytes(self, most: int) -> int:
        """Draw a size from 0 to `most` bytes."""
        chance = self.rng.random()
        if chance < 0.05:
            return 0
        if chance < 0.5:
            edge = self.rng.choice(self.own if chance < 0.35 else self.usual)
            beside = edge + self.rng.choice([-ENVELOPE, 0]) + self.rng.choice([-1, 0, 1])
            if 0 <= beside <= most:
                return beside
        return int(math.exp(self.rng.uniform(0, math.log(most + 1)))) if most else 0

    def draw(self, default_width: int, most: int = MAX_BYTES) -> tuple[int, tuple[int, ...]]:
        """Draw a count, and the word for its type (none: the default type)."""
        if self.rng.random() < 0.5:
            return self.nbytes(most) // default_width, ()
        kind = self.rng.choice(list(WIDTH_OF_TYPE))
        return self.nbytes(most) // WIDTH_OF_TYPE[kind], (kind,)
