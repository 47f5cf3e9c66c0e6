"""Tags where a trace has kept none."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tisim.formats.importers.scalatrace.events import Event, Values, of_rank
from tisim.formats.importers.scalatrace.numbers import (
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
from tisim.formats.importers.scalatrace.program import program_of, times_of


def lack_tags(events: Sequence[Event]) -> bool:
    """Whether all tags are 0, and a receive from any source may take another message for it."""
    takes_any = any(ANY in some.numbers for some in _values(events, SOURCE))
    return takes_any and not any(any(some.numbers) for some in _values(events, TAG))


def _values(events: Sequence[Event], key: str) -> list[Values]:
    return [some for event in events for some in event.parameters.get(key, [])]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What sizes tell of messages without tags.

    Attributes
    ----------
    match
        Whether each rank receives as many messages of each size as others send to it.
    open_receives
        How many receives are from any source, at ranks that get messages of that size from
        several.
    """

    match: bool
    open_receives: int


def compare_sizes(events: Sequence[Event], ranks: int) -> Sizes:
    """Compare what all ranks send with what they receive."""
    left: Counter[tuple[int, int, int]] = Counter()
    from_any: Counter[tuple[int, int, int]] = Counter()
    senders: dict[tuple[int, int, int], set[int]] = defaultdict(set)
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
    several = (times for key, times in from_any.items() if len(senders[key]) > 1)
    return Sizes(not any(left.values()), sum(several))
