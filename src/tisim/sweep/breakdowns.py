"""What differs in where the time of two results goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tisim.quantities import format_time

if TYPE_CHECKING:
    from tisim.sweep.comparison import Comparison, Difference

# Less than this part of the difference, or else of all time, is not worth a sentence.
_PART = 0.05
_MOST = 2  # sentences of a kind
_MEAN = "on average over ranks"


def breakdown_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Where the time of a result went, if it says so (`tisim replay --breakdown`)."""
    breakdown = result.get("breakdown")
    known = isinstance(breakdown, Mapping) and {"states", "kinds", "waits"} <= breakdown.keys()
    return breakdown if known else None


def state_times(result: Mapping[str, Any]) -> dict[str, float]:
    """Seconds in each state, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result) or {"states": {}}
    return _means(result, breakdown["states"])


def kind_times(result: Mapping[str, Any]) -> dict[str, float]:
    """Seconds in each kind of action, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result) or {"kinds": {}}
    return _means(result, {kind: of["seconds"] for kind, of in breakdown["kinds"].items()})


def wait_times(result: Mapping[str, Any]) -> dict[str, float]:
    """Seconds waited for each rank, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result) or {"waits": []}
    sums: dict[str, float] = {}
    for wait in breakdown["waits"]:
        name = f"rank {wait['cause']}"
        sums[name] = sums.get(name, 0.0) + wait["seconds"]
    return _means(result, sums)


def _means(result: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, float]:
    ranks = len(result["ranks"])
    return {name: value / ranks for name, value in seconds.items()}


def breakdown_reasons(comparison: Comparison) -> Iterator[str]:
    """Sentences on kinds of action, states and ranks that take longer in one result."""
    finish = comparison.times[-1]
    least = _PART * abs(finish.change if finish.is_one else finish.a or 0.0)

    def told(differences: tuple[Difference, ...], most: int) -> Iterator[tuple[str, str, str]]:
        for one in differences[:most]:
            if one.is_one and abs(one.change) >= least:
                change = format_time(abs(one.change), 6)
                yield one.name, change, "longer" if one.change > 0 else "less"

    for name, change, more in told(comparison.kinds, _MOST):
        yield f"actions of kind {name} take {change} {more} {_MEAN}"
    for name, change, more in told(comparison.states, _MOST):
        yield f"ranks are in state {name} {change} {more} {_MEAN}"
    for name, change, more in told(comparison.causes, 1):
        yield f"others wait {change} {more} for {name} {_MEAN}"
    if comparison.without_breakdown:
        yield (
            f"{comparison.without_breakdown} does not say where its time goes: replay it with "
            "--breakdown too, to know which actions and waits differ"
        )
