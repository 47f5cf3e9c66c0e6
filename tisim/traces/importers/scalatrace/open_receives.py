"""Finds the sources of receives that several ranks can end, where tags were not kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from tisim.traces.importers.scalatrace.even_run import Channel, EvenRun, Kind, Step
from tisim.traces.importers.scalatrace.events import Event, of_rank
from tisim.traces.importers.scalatrace.numbers import (
    ANY,
    COLLECTIVES,
    COUNT,
    DESTINATION,
    IRECV,
    ISENDS,
    RECV,
    SENDS,
    SOURCE,
    TYPE,
    WAIT,
)
from tisim.traces.importers.scalatrace.program import Loop, program_of, times_of

#: The distances to the sources of a receive's executions, by rank and by the identity of its event.
Sources = Mapping[tuple[int, int], list[int]]
# More executions are not run.
_MOST_STEPS = 4_000_000


def sources_of(events: Sequence[Event], ranks: int, channels: Set[Channel]) -> Sources | None:
    """Find who sends what receives from any source take, when ranks advance evenly.

    Parameters
    ----------
    events
        Of all ranks.
    ranks
        How many there are.
    channels
        Those that receives from any source are on.

    Returns
    -------
    Mapping
        The sources, of receives on these channels; None: no such run comes to its end.
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
    """A program in which loops that do not matter are made once."""
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


def _kind(event: Event) -> Kind | None:
    """What an event does; None: nothing with other ranks."""
    function = event.function
    if function in SENDS:
        return Kind.SEND
    if function in ISENDS:
        return Kind.ISEND
    named = {RECV: Kind.RECV, IRECV: Kind.IRECV, WAIT: Kind.WAIT}
    return named.get(function, Kind.COLLECTIVE if function in COLLECTIVES else None)


def _matters(event: Event, rank: int, channels: Set[Channel]) -> bool:
    """Whether each execution counts: of requests, collectives, and messages of these sizes."""
    kind = _kind(event)
    if kind not in (Kind.SEND, Kind.RECV):
        return kind is not None
    sizes = {(count, type_) for _, count, type_ in channels}
    counts = of_rank(event.parameters.get(COUNT, []), rank) or [0]
    types = of_rank(event.parameters.get(TYPE, []), rank) or [0]
    return any((count, type_) in sizes for count in counts for type_ in types)


class _RankSteps:
    """The steps of one rank, and those of them that receive."""

    def __init__(
        self, program: Sequence[Loop | Event], rank: int, ranks: int, channels: Set[Channel]
    ) -> None:
        self.rank = rank
        self._program = program
        self._ranks = ranks
        self._channels = channels
        self._executed: dict[int, int] = defaultdict(int)
        # By event, in the order of its executions.
        self._received: dict[int, list[Step]] = defaultdict(list)
        self._open: set[int] = set()

    def steps(self) -> Iterator[Step]:
        """Yield them, in order."""
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
        kind = _kind(event) or Kind.OTHER
        if kind in (Kind.WAIT, Kind.COLLECTIVE):
            return Step(kind)
        is_send = kind in (Kind.SEND, Kind.ISEND)
        keys = (DESTINATION if is_send else SOURCE, COUNT, TYPE)
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
        return Step(Kind.PASSED if kind in (Kind.ISEND, Kind.IRECV) else Kind.OTHER)


def _periodic(values: list[int]) -> list[int]:
    """The shortest beginning of a list that is the list when it is repeated, and cut."""
    # Borders of beginnings, as Knuth, Morris and Pratt count them.
    border = [0] * (len(values) + 1)
    length = 0
    for place in range(1, len(values)):
        while length and values[place] != values[length]:
            length = border[length]
        length += values[place] == values[length]
        border[place + 1] = length
    return values[: len(values) - border[-1]]
