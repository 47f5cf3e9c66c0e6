"""A run without times, in which ranks advance evenly: it says which receive takes which message."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

#: Receivers and what they tell messages apart by: the count and the type of the elements.
Channel = tuple[int, int, int]


class Kind(Enum):
    """What a step does."""

    SEND = auto()
    ISEND = auto()
    RECV = auto()
    IRECV = auto()
    PASSED = auto()  # a non-blocking call on another channel, for which a wait stands later
    WAIT = auto()  # for the oldest request
    OTHER = auto()  # a message on another channel
    COLLECTIVE = auto()


@dataclass(slots=True)
class Step:
    """One call of a rank.

    Attributes
    ----------
    kind
        What it does.
    channel
        Of a message.
    source
        Of a receive: the rank, or None for any. The run fills it in.
    done
        Whether the message was matched.
    """

    kind: Kind
    channel: Channel = (0, 0, 0)
    source: int | None = None
    done: bool = False


@dataclass(slots=True)
class _Rank:
    number: int
    steps: Iterator[Step]
    current: Step | None = None
    begun: bool = False
    pending: deque[Step] = field(default_factory=deque)
    # Messages since the ranks met last.
    messages: int = 0


class EvenRun:
    """Executes the steps of all ranks: each that can go on makes one in a round.

    Ranks wait for one another in collectives. They also wait between messages on these channels and
    others, until nobody can go on: so no rank gets ahead by what is left out of the run.

    Parameters
    ----------
    steps
        Of each rank; the sources of receives are set in them.
    blocking
        Whether a blocking send waits for its receive.
    """

    def __init__(self, steps: Sequence[Iterator[Step]], *, blocking: bool) -> None:
        self._ranks = [_Rank(number, own) for number, own in enumerate(steps)]
        self._blocking = blocking
        self._posted: dict[Channel, list[Step]] = {}
        self._sent: dict[Channel, list[tuple[int, Step]]] = {}

    def finish(self) -> bool:
        """Run until nobody can go on, and say whether all ranks have come to their ends."""
        left = self._ranks
        for rank in left:
            self._advance(rank)
        left = [rank for rank in left if rank.current is not None]
        while left:
            # What is sent in a round arrives after it, so that no rank sees another one ahead.
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
        """Go to the next step, past those that take no round."""
        rank.begun = False
        for step in rank.steps:
            rank.current = step
            if step.kind is Kind.OTHER:
                if rank.messages:
                    return
            elif step.kind is Kind.PASSED:
                rank.pending.append(step)
                step.done = True
            elif step.kind is Kind.WAIT and (not rank.pending or rank.pending[0].done):
                if rank.pending:
                    rank.pending.popleft()
            else:
                return
        rank.current = None

    def _pass(self, left: list[_Rank]) -> bool:
        """Let ranks go on that wait for others."""
        waiting = [rank for rank in left if _is_at(rank, Kind.OTHER)]
        if not waiting and all(_is_at(rank, Kind.COLLECTIVE) for rank in left):
            waiting = left
        for rank in waiting:
            rank.messages = 0
            self._advance(rank)
        return bool(waiting)

    def _execute(self, rank: _Rank, arriving: list[tuple[int, Step]]) -> bool:
        """Try the step of a rank, and say whether it is over."""
        step = rank.current
        assert step is not None
        kind = step.kind
        if kind in (Kind.OTHER, Kind.COLLECTIVE):
            return False
        if kind is Kind.WAIT:
            if rank.pending[0].done:
                rank.pending.popleft()
                return True
            return False
        if not rank.begun:
            rank.begun = True
            self._begin(rank, step, arriving)
        if kind is Kind.RECV or (kind is Kind.SEND and self._blocking):
            return step.done
        return True

    def _begin(self, rank: _Rank, step: Step, arriving: list[tuple[int, Step]]) -> None:
        if step.kind in (Kind.ISEND, Kind.IRECV):
            rank.pending.append(step)
        rank.messages += 1
        if step.kind in (Kind.SEND, Kind.ISEND):
            # Waits for sends hold nobody up: a rank may be before the receive in its program.
            step.done = step.kind is Kind.ISEND
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


def _is_at(rank: _Rank, kind: Kind) -> bool:
    return rank.current is not None and rank.current.kind is kind
