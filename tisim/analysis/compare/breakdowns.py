"""Where the time of a result goes, as `tisim replay --breakdown --json` writes it."""

from __future__ import annotations

from collections.abc import Mapping

from tisim.analysis.result_json import BreakdownDict, ResultDict, WrittenResult

#: A result, as it is or as a file has it.
AnyResult = ResultDict | WrittenResult


def breakdown_of(result: AnyResult) -> BreakdownDict | None:
    """Where the time of a result went, if it says so (`tisim replay --breakdown`)."""
    breakdown = result.get("breakdown")
    known = isinstance(breakdown, Mapping) and {"states", "kinds", "waits"} <= breakdown.keys()
    return breakdown if known else None


def state_times(result: AnyResult) -> dict[str, float]:
    """Seconds in each state, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    return _means(result, breakdown["states"]) if breakdown else {}


def kind_times(result: AnyResult) -> dict[str, float]:
    """Seconds in each kind of action, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    kinds = breakdown["kinds"] if breakdown else {}
    return _means(result, {kind: of["seconds"] for kind, of in kinds.items()})


def wait_times(result: AnyResult) -> dict[str, float]:
    """Seconds waited for each rank, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    sums: dict[str, float] = {}
    for wait in breakdown["waits"] if breakdown else ():
        name = f"rank {wait['cause']}"
        sums[name] = sums.get(name, 0.0) + wait["seconds"]
    return _means(result, sums)


def _means(result: AnyResult, seconds: Mapping[str, float]) -> dict[str, float]:
    ranks = len(result["ranks"])
    return {name: value / ranks for name, value in seconds.items()}
