"""Where the time of a result goes, as `tisim replay --breakdown --json` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
