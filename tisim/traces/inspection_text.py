"""Results of an inspection as short texts for tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tisim.traces.inspection_parts import Distribution, RankClass

_MOST_STRETCHES = 4
_MOST_ACTIONS = 6
_MOST_BINS = 16
_LONGEST_CALL = 72
_BARS = "▁▂▃▄▅▆▇█"


def ranks_text(rank_class: RankClass) -> str:
    """Format the ranks of a class: ``0, 3-5, ...``."""
    shown = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in rank_class.stretches[:_MOST_STRETCHES]
    ]
    if rank_class.stretch_count > len(shown):
        shown.append("...")
    return ", ".join(shown)


def actions_text(actions: Sequence[tuple[str, int]]) -> str:
    """Format actions with their counts: ``6 irecv, 6 isend, waitall``."""
    shown = [name if times == 1 else f"{times:,} {name}" for name, times in actions[:_MOST_ACTIONS]]
    if len(actions) > _MOST_ACTIONS:
        shown.append("...")
    return ", ".join(shown)


def shown_call(text: str) -> str:
    """Format a call on one line of limited length."""
    if not text:
        return "(end)"
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CALL else line[: _LONGEST_CALL - 3] + "..."


def histogram_text(values: Distribution) -> str:
    """Format minimum and maximum, and between them a bar for each power of two.

    Empty when all values are equal.
    """
    if values.least == values.most:
        return ""
    first = values.histogram[0][1]
    places = round(math.log2(values.histogram[-1][1] / first)) + 1
    width = -(-places // _MOST_BINS)
    bars = [0] * -(-places // width)
    for _, upper, times in values.histogram:
        bars[round(math.log2(upper / first)) // width] += times
    highest = max(bars)
    drawn = "".join(_bar(times / highest) for times in bars)
    return f"{values.least:.4g} {drawn} {values.most:.4g}"


def _bar(share: float) -> str:
    if share == 0:
        return " "
    return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]
