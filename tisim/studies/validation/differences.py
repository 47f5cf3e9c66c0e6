"""What differs between a real run and its prediction: ranks, and kinds of calls."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tisim.studies.validation.monitoring import Messages
from tisim.support.quantities import format_bytes, format_time

# So many of each are named.
_MOST = 3
# Of calls whose times differ by less than this part of the real time nothing is said.
_LEAST = 0.02

#: Seconds in calls of each kind, summed over the ranks.
KindTimes = Mapping[str, float]


def explain(
    real_ends: Sequence[Sequence[float]],
    predicted_ends: Sequence[float],
    real: KindTimes,
    predicted: KindTimes,
) -> tuple[str, ...]:
    """Say which ranks and which calls take another time than predicted.

    Parameters
    ----------
    real_ends
        When each rank ended in each real run, in seconds.
    predicted_ends
        When each rank ends in the prediction, in seconds.
    real, predicted
        The seconds in calls of each kind.
    """
    median = statistics.median(max(ends) for ends in real_ends)
    return (
        _ranks(real_ends, predicted_ends),
        *_kinds(real, predicted, len(predicted_ends), median),
    )


def _ranks(real_ends: Sequence[Sequence[float]], predicted: Sequence[float]) -> str:
    real = [statistics.median(ends[rank] for ends in real_ends) for rank in range(len(predicted))]
    ratios = [
        (mine / theirs if theirs > 0 else 1.0, rank)
        for rank, (mine, theirs) in enumerate(zip(predicted, real, strict=True))
    ]
    (low, first), (high, last) = min(ratios), max(ratios)
    if high - low < 2 * _LEAST:
        return f"all ranks alike: predicted over real is {low:.2f} to {high:.2f}"
    return f"predicted over real is {low:.2f} for rank {first} and {high:.2f} for rank {last}"


def _kinds(real: KindTimes, predicted: KindTimes, ranks: int, median: float) -> list[str]:
    differences = sorted(
        ((predicted.get(kind, 0.0) - real.get(kind, 0.0)) / ranks, kind)
        for kind in {*real, *predicted}
    )
    differences.sort(key=lambda pair: -abs(pair[0]))
    return [
        f"{kind}: {format_time(predicted.get(kind, 0.0) / ranks, 3)} a rank predicted, "
        f"{format_time(real.get(kind, 0.0) / ranks, 3)} real"
        for difference, kind in differences[:_MOST]
        if abs(difference) > _LEAST * median
    ]


def compare_messages(real: Messages | None, predicted: Messages) -> list[str]:
    """Say whether MPI sends the messages that the prediction has."""
    if real is None:
        return []
    if real == predicted:
        return [f"the same messages: {real.count:,} with {format_bytes(real.bytes)}"]
    return [
        f"messages: {predicted.count:,} with {format_bytes(predicted.bytes)} predicted, "
        f"{real.count:,} with {format_bytes(real.bytes)} real"
    ]


def sum_by_kind(rows: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The sum of seconds of each kind."""
    sums: dict[str, float] = defaultdict(float)
    for kind, seconds in rows:
        sums[kind] += seconds
    return dict(sums)
