"""Tags where a trace has kept none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

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


def sizes_match(events: Sequence[Event], ranks: int) -> bool:
    """Whether each rank receives as many messages of each size as others send to it."""
    left: Counter[tuple[int, int, int]] = Counter()
    for rank in range(ranks):
        for event, times in times_of(program_of(events, rank)):
            is_send = event.function in SENDS or event.function in ISENDS
            if not is_send and event.function not in (RECV, IRECV):
                continue
            lists = [
                of_rank(event.parameters.get(key, []), rank) or [0]
                for key in (COUNT, TYPE, DESTINATION)
            ]
            counts, types, peers = lists
            period = math.lcm(*map(len, lists))
            for i in range(min(period, times)):
                executed = (times - i - 1) // period + 1
                at = (rank + peers[i % len(peers)]) % ranks if is_send else rank
                key = (at, counts[i % len(counts)], types[i % len(types)])
                left[key] += executed if is_send else -executed
    return not any(left.values())
