"""Determines which messages receives without a source or a tag take."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum, auto

from tisim.traces.importers.scalatrace.events import (
    ANY,
    Event,
    Loop,
    Values,
    of_rank,
    program_of,
    times_of,
)
from tisim.traces.importers.words import ISENDS, SENDS, collective_word

#: A receiver, and the properties that distinguish messages: count and type of the elements.
Channel = tuple[int, int, int]


class StepKind(Enum):
    """The action of a step."""

    SEND = auto()
    ISEND = auto()
    RECV = auto()
    IRECV = auto()
    PASSED = auto()  # a non-blocking call on another channel, which a later wait completes
    WAIT = auto()  # for the oldest request
    OTHER = auto()  # a message on another channel
    COLLECTIVE = auto()


@dataclass(slots=True)
class Step:
    """One call of a rank."""

    kind: StepKind
    channel: Channel = (0, 0, 0)
    #: The rank that a receive names, or None for any. The run sets it.
    source: int | None = None
    #: True once the message is matched.
    done: bool = False


@dataclass(slots=True)
class _Rank:
    number: int
    steps: Iterator[Step]
    current: Step | None = None
    begun: bool = False
    pending: deque[Step] = field(default_factory=deque)
    # Number of messages since the last synchronisation of the ranks.
    messages: int = 0


class EvenRun:
    """Executes the steps of all ranks in rounds: each rank that can continue makes one per round.

    Ranks wait for one another in collectives. They also wait between messages on these channels and
    on others, until no rank can continue: so no rank gets ahead through messages left out of the
    run. It sets the sources of receives in `steps`; `blocking` says whether a blocking send waits
    for its receive.
    """

    def __init__(self, steps: Sequence[Iterator[Step]], *, blocking: bool) -> None:
        self._ranks = [_Rank(number, own) for number, own in enumerate(steps)]
        self._blocking = blocking
        self._posted: dict[Channel, list[Step]] = {}
        self._sent: dict[Channel, list[tuple[int, Step]]] = {}

    def finish(self) -> bool:
        """Run until no rank can continue; return whether all ranks have completed."""
        left = self._ranks
        for rank in left:
            self._advance(rank)
        left = [rank for rank in left if rank.current is not None]
        while left:
            # Messages sent in a round arrive after it, so the order of the ranks has no effect.
            arriving: list[tuple[int, Step]] = []
            going = [rank for rank in left if self._execute(rank, arriving)]
            for source, step in arriving:
                self._arrive(source, step)
            if not going and not arriving and not self._pass(left):
                return False
            for rank in going:
                self._advance(rank)
            left = [rank for rank in left if rank.current is not None]
        return not any(self._posted.values()) and not any(self._sent.values())

    def _advance(self, rank: _Rank) -> None:
        """Move to the next step, skipping those that take no round."""
        rank.begun = False
        for step in rank.steps:
            rank.current = step
            if step.kind is StepKind.OTHER:
                if rank.messages:
                    return
            elif step.kind is StepKind.PASSED:
                rank.pending.append(step)
                step.done = True
            elif step.kind is StepKind.WAIT and (not rank.pending or rank.pending[0].done):
                if rank.pending:
                    rank.pending.popleft()
            else:
                return
        rank.current = None

    def _pass(self, left: list[_Rank]) -> bool:
        """Release ranks that wait for others."""
        waiting = [rank for rank in left if _is_at(rank, StepKind.OTHER)]
        if not waiting and all(_is_at(rank, StepKind.COLLECTIVE) for rank in left):
            waiting = left
        for rank in waiting:
            rank.messages = 0
            self._advance(rank)
        return bool(waiting)

    def _execute(self, rank: _Rank, arriving: list[tuple[int, Step]]) -> bool:
        """Try the step of a rank; return whether it is complete."""
        step = rank.current
        assert step is not None
        kind = step.kind
        if kind in (StepKind.OTHER, StepKind.COLLECTIVE):
            return False
        if kind is StepKind.WAIT:
            if rank.pending[0].done:
                rank.pending.popleft()
                return True
            return False
        if not rank.begun:
            rank.begun = True
            self._begin(rank, step, arriving)
        if kind is StepKind.RECV or (kind is StepKind.SEND and self._blocking):
            return step.done
        return True

    def _begin(self, rank: _Rank, step: Step, arriving: list[tuple[int, Step]]) -> None:
        if step.kind in (StepKind.ISEND, StepKind.IRECV):
            rank.pending.append(step)
        rank.messages += 1
        if step.kind in (StepKind.SEND, StepKind.ISEND):
            # Waits for sends never block: a rank may precede the receive in its program.
            step.done = step.kind is StepKind.ISEND
            arriving.append((rank.number, step))
        else:
            self._post(step)

    def _post(self, step: Step) -> None:
        sent = self._sent.get(step.channel, [])
        for place, (source, message) in enumerate(sent):
            if step.source in (None, source):
                del sent[place]
                step.source, step.done, message.done = source, True, True
                return
        self._posted.setdefault(step.channel, []).append(step)

    def _arrive(self, source: int, message: Step) -> None:
        posted = self._posted.get(message.channel, [])
        for place, step in enumerate(posted):
            if step.source in (None, source):
                del posted[place]
                step.source, step.done, message.done = source, True, True
                return
        self._sent.setdefault(message.channel, []).append((source, message))


def _is_at(rank: _Rank, kind: StepKind) -> bool:
    return rank.current is not None and rank.current.kind is kind


#: The distances to the sources of a receive's executions, by rank and identity of the event.
Sources = Mapping[tuple[int, int], list[int]]
# Maximum number of executions in a run.
_MOST_STEPS = 4_000_000


def sources_of(events: Sequence[Event], ranks: int, channels: Set[Channel]) -> Sources | None:
    """Find the sources of receives from any source on `channels` if ranks advance evenly; None if
    no such run completes.
    """
    reduced = [_reduced(program_of(events, rank), rank, channels) for rank in range(ranks)]
    if sum(times for own in reduced for _, times in times_of(own)) > _MOST_STEPS:
        return None
    for blocking in (True, False):
        programs = [_RankSteps(own, rank, ranks, channels) for rank, own in enumerate(reduced)]
        steps = [program.steps() for program in programs]
        if EvenRun(steps, blocking=blocking).finish():
            return {
                (program.rank, event): _periodic(sources)
                for program in programs
                for event, sources in program.sources()
            }
    return None


def _reduced(
    program: Sequence[Loop | Event], rank: int, channels: Set[Channel]
) -> list[Loop | Event]:
    """Return a program in which irrelevant loops are executed once."""
    made: list[Loop | Event] = []
    for element in program:
        if isinstance(element, Event):
            if _kind(element) is not None:
                made.append(element)
            continue
        body = _reduced(element.body, rank, channels)
        matters = any(_matters(event, rank, channels) for event, _ in times_of(body))
        made += [Loop(element.times, body)] if matters else body
    return made


def _kind(event: Event) -> StepKind | None:
    """Return the interaction of an event with other ranks; None if it has none."""
    function = event.function
    if function in SENDS:
        return StepKind.SEND
    if function in ISENDS:
        return StepKind.ISEND
    named = {"Recv": StepKind.RECV, "Irecv": StepKind.IRECV, "Wait": StepKind.WAIT}
    return named.get(function, StepKind.COLLECTIVE if collective_word(function) else None)


def _matters(event: Event, rank: int, channels: Set[Channel]) -> bool:
    """Return whether each execution counts: requests, collectives, messages of these sizes."""
    kind = _kind(event)
    if kind not in (StepKind.SEND, StepKind.RECV):
        return kind is not None
    sizes = {(count, type_) for _, count, type_ in channels}
    counts = of_rank(event.parameters.get("count", []), rank) or [0]
    types = of_rank(event.parameters.get("type", []), rank) or [0]
    return any((count, type_) in sizes for count in counts for type_ in types)


class _RankSteps:
    """The steps of one rank, and its receives."""

    def __init__(
        self, program: Sequence[Loop | Event], rank: int, ranks: int, channels: Set[Channel]
    ) -> None:
        self.rank = rank
        self._program = program
        self._ranks = ranks
        self._channels = channels
        self._executed: dict[int, int] = defaultdict(int)
        # By event, in order of execution.
        self._received: dict[int, list[Step]] = defaultdict(list)
        self._open: set[int] = set()

    def steps(self) -> Iterator[Step]:
        """Yield the steps in order."""
        return self._walk(self._program)

    def sources(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the events of receives from any source, and the distances to their sources."""
        for event in self._open:
            yield (
                event,
                [
                    ANY if step.source is None else (step.source - self.rank) % self._ranks
                    for step in self._received[event]
                ],
            )

    def _walk(self, elements: Sequence[Loop | Event]) -> Iterator[Step]:
        for element in elements:
            if isinstance(element, Loop):
                for _ in range(element.times):
                    yield from self._walk(element.body)
            else:
                number = self._executed[id(element)]
                self._executed[id(element)] += 1
                yield self._step(element, number)

    def _step(self, event: Event, number: int) -> Step:
        kind = _kind(event) or StepKind.OTHER
        if kind in (StepKind.WAIT, StepKind.COLLECTIVE):
            return Step(kind)
        is_send = kind in (StepKind.SEND, StepKind.ISEND)
        keys = ("dest" if is_send else "source", "count", "type")
        lists = [of_rank(event.parameters.get(key, []), self.rank) or [0] for key in keys]
        peer, count, type_ = (values[number % len(values)] for values in lists)
        there = (self.rank + peer) % self._ranks
        channel = (there if is_send else self.rank, count, type_)
        step = Step(kind, channel, None if peer == ANY or is_send else there)
        if not is_send:
            self._received[id(event)].append(step)
        if channel in self._channels:
            if peer == ANY and not is_send:
                self._open.add(id(event))
            return step
        return Step(StepKind.PASSED if kind in (StepKind.ISEND, StepKind.IRECV) else StepKind.OTHER)


def _periodic(values: list[int]) -> list[int]:
    """Return the shortest prefix whose repetition, truncated, gives the list."""
    # Borders of prefixes, computed as in the Knuth-Morris-Pratt algorithm.
    border = [0] * (len(values) + 1)
    length = 0
    for place in range(1, len(values)):
        while length and values[place] != values[length]:
            length = border[length]
        length += values[place] == values[length]
        border[place + 1] = length
    return values[: len(values) - border[-1]]


def lack_tags(events: Sequence[Event]) -> bool:
    """Return whether all tags are 0 and a receive from any source could take a wrong message."""
    takes_any = any(ANY in some.numbers for some in _values(events, "source"))
    return takes_any and not any(any(some.numbers) for some in _values(events, "tag"))


def _values(events: Sequence[Event], key: str) -> list[Values]:
    return [some for event in events for some in event.parameters.get(key, [])]


@dataclass(frozen=True, slots=True)
class Receives:
    """Receives from any source."""

    count: int
    #: The first in the trace, such as ``EVENT3, rank 1``; empty without any.
    first: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Conclusions from sizes about messages without tags."""

    #: True if each rank receives as many messages of each size as are sent to it.
    match: bool
    #: Receives from any source.
    receives: Receives
    #: Those on ranks that get messages of that size from several ranks.
    open_receives: Receives
    #: The receivers and sizes of all receives from any source.
    channels: frozenset[Channel]


def compare_sizes(events: Sequence[Event], ranks: int) -> Sizes:
    """Compare the messages that all ranks send and receive."""
    left: Counter[Channel] = Counter()
    from_any: Counter[Channel] = Counter()
    # The line, the number and the rank of the first receive from any source.
    first: dict[Channel, tuple[int, int, int]] = {}
    senders: dict[Channel, set[int]] = defaultdict(set)
    for rank in range(ranks):
        for event, times in times_of(program_of(events, rank)):
            is_send = event.function in SENDS or event.function in ISENDS
            if not is_send and event.function not in ("Recv", "Irecv"):
                continue
            keys = ("count", "type", "dest" if is_send else "source")
            lists = [of_rank(event.parameters.get(key, []), rank) or [0] for key in keys]
            counts, types, peers = lists
            period = math.lcm(*map(len, lists))
            for i in range(min(period, times)):
                executed = (times - i - 1) // period + 1
                peer = peers[i % len(peers)]
                at = (rank + peer) % ranks if is_send else rank
                key = (at, counts[i % len(counts)], types[i % len(types)])
                left[key] += executed if is_send else -executed
                if is_send:
                    senders[key].add(rank)
                elif peer == ANY:
                    from_any[key] += executed
                    place = (event.line, event.number, rank)
                    first[key] = min(first.get(key, place), place)
    several = [key for key in from_any if len(senders[key]) > 1]
    return Sizes(
        not any(left.values()),
        _receives(from_any, first, from_any),
        _receives(from_any, first, several),
        frozenset(from_any),
    )


def _receives(
    times: Mapping[Channel, int],
    first: Mapping[Channel, tuple[int, int, int]],
    channels: Iterable[Channel],
) -> Receives:
    chosen = list(channels)
    if not chosen:
        return Receives(0, "")
    _, event, rank = min(first[channel] for channel in chosen)
    return Receives(sum(times[channel] for channel in chosen), f"EVENT{event}, rank {rank}")
