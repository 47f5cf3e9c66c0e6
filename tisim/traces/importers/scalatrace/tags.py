"""Tags where a trace has kept none."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tisim.traces.importers.scalatrace.even_run import Channel
from tisim.traces.importers.scalatrace.events import Event, Values, of_rank
from tisim.traces.importers.scalatrace.numbers import (
    ANY,
    COUNT,
    DESTINATION,
    IRECV,
    ISENDS,
    RECV,
    SENDS,
    SOURCE,
    TAG,
    TYPE,
)
from tisim.traces.importers.scalatrace.program import program_of, times_of


def lack_tags(events: Sequence[Event]) -> bool:
    """Whether all tags are 0, and a receive from any source may take another message for it."""
    takes_any = any(ANY in some.numbers for some in _values(events, SOURCE))
    return takes_any and not any(any(some.numbers) for some in _values(events, TAG))


def _values(events: Sequence[Event], key: str) -> list[Values]:
    return [some for event in events for some in event.parameters.get(key, [])]


@dataclass(frozen=True, slots=True)
class Receives:
    """Receives from any source.

    Attributes
    ----------
    count
        How many there are.
    first
        The first in the trace, such as ``EVENT3, rank 1``; empty without any.
    """

    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """What sizes tell of messages without tags.

    Attributes
    ----------
    match
        Whether each rank receives as many messages of each size as others send to it.
    receives
        Those from any source.
    open_receives
        Those of them at ranks that get messages of that size from several.
    channels
        The receivers and sizes of all receives from any source.
    """

    match: bool
    receives: Receives
    open_receives: Receives
    channels: frozenset[Channel]


def compare_sizes(events: Sequence[Event], ranks: int) -> Sizes:
    """Compare what all ranks send with what they receive."""
    left: Counter[Channel] = Counter()
    from_any: Counter[Channel] = Counter()
    # The line, the number and the rank of the first receive from any source.
    first: dict[Channel, tuple[int, int, int]] = {}
    senders: dict[Channel, set[int]] = defaultdict(set)
    for rank in range(ranks):
        for event, times in times_of(program_of(events, rank)):
            is_send = event.function in SENDS or event.function in ISENDS
            if not is_send and event.function not in (RECV, IRECV):
                continue
            keys = (COUNT, TYPE, DESTINATION if is_send else SOURCE)
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
