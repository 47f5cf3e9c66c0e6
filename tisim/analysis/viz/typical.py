"""The part of a run to look at first: short enough to be read, and like the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.analysis.timeline.event_log import EventLog

#: States of a rank in it, on average; a run with up to twice as many is shown whole.
TYPICAL_STATES = 60
# Parts of the time that it consists of, and at most so many of the whole run: it begins at one.
_STEPS = 4
_MOST_STEPS = 1 << 14


def typical_part(
    log: EventLog, least: float = 0.0, most: int = TYPICAL_STATES
) -> tuple[float, float]:
    """Begin and end, in seconds, of the part whose shares of states are most like the whole's.

    It lasts `least` seconds at least, or else as long as a rank has about `most` states on average.

    Of equal ones the earliest. Shares are those of all ranks together, and differ by the sum of
    their absolute differences.
    """
    import numpy as np

    end = log.run.end
    states = log.store.count("states") / log.run.ranks
    if states <= 2 * most or 2 * least >= end:
        return 0.0, end
    bins = min(int(_STEPS * states / most), _MOST_STEPS)
    if least > 0.0:
        bins = min(bins, int(_STEPS * end / least))
    together = np.zeros(log.run.ranks, np.int32)
    seconds = log.seconds_by_state(together, 1, bins)[0].astype(np.float64)
    sums = np.concatenate([np.zeros((1, seconds.shape[1])), np.cumsum(seconds, axis=0)])
    parts = sums[_STEPS:] - sums[:-_STEPS]
    tiny = np.finfo(float).tiny
    shares = parts / np.maximum(parts.sum(axis=1, keepdims=True), tiny)
    whole = sums[-1] / max(float(sums[-1].sum()), tiny)
    first = int(np.abs(shares - whole).sum(axis=1).round(6).argmin())
    return end * first / bins, end * (first + _STEPS) / bins
