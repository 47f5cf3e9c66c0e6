"""Two results beside each other: the numbers that differ."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

# Times nearer than this (relative) are the same: another order of additions.
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """A number in both results.

    Attributes
    ----------
    name
        What it is.
    a, b
        Its values; None where a result does not have it.
    """

    name: str
    a: float | None
    b: float | None

    @property
    def change(self) -> float:
        """The second value less the first; a missing one counts as 0."""
        return (self.b or 0.0) - (self.a or 0.0)

    @property
    def differs(self) -> bool:
        """True when the values differ by more than rounding."""
        return not math.isclose(self.a or 0.0, self.b or 0.0, rel_tol=_SAME, abs_tol=0.0)


@dataclass(frozen=True, slots=True)
class RankDifference:
    """One rank in both results; times in seconds."""

    rank: int
    host_a: str
    host_b: str
    finish_a: float
    finish_b: float
    compute: float
    communication: float
    other: float

    @property
    def finish(self) -> float:
        """The delay of the rank's end in the second result."""
        return self.finish_b - self.finish_a


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results beside each other.

    Attributes
    ----------
    simulated_time
        In seconds.
    inputs
        Name and both values of each option, file or the like that is not the same.
    times
        Mean over ranks of the seconds that they compute, communicate and do other things, and of
        the time at which they end.
    counts
        Ranks, actions, bytes and messages.
    ranks
        Those that end at another time or on another host, the greatest difference first; empty
        when the results have different numbers of ranks.
    details
        All other numbers in both results, such as a breakdown by kind or wait states:
        what differs, the greatest difference first.
    kinds, states, causes
        Mean over ranks of the seconds in each kind of action and in each state, and of those waited
        for each rank; what differs, the greatest difference first; empty unless both results have a
        breakdown.
    without_breakdown
        The one result, ``a`` or ``b``, that has no breakdown where the other has one; else empty.
    reasons
        What explains the difference, in words.
    warnings
        What the results warn of, such as numbers of a trace that are approximate: which of the two
        results, and the text.
    """

    simulated_time: Difference
    inputs: tuple[tuple[str, object, object], ...]
    times: tuple[Difference, ...]
    counts: tuple[Difference, ...]
    ranks: tuple[RankDifference, ...]
    details: tuple[Difference, ...]
    kinds: tuple[Difference, ...] = ()
    states: tuple[Difference, ...] = ()
    causes: tuple[Difference, ...] = ()
    without_breakdown: str = ""
    reasons: tuple[str, ...] = field(default=())
    warnings: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, object]:
        """All of it as plain numbers, lists and dicts; for JSON."""
        a, b = self.simulated_time.a, self.simulated_time.b
        return {
            "simulated_time": _pair(self.simulated_time) | {"ratio": b / a if a and b else None},
            "reasons": list(self.reasons),
            "warnings": [{"of": which, "text": text} for which, text in self.warnings],
            "inputs": [{"name": name, "a": x, "b": y} for name, x, y in self.inputs],
            "times": {one.name: _pair(one) for one in self.times},
            "counts": {one.name: _pair(one) for one in self.counts},
            "ranks": [asdict(one) | {"finish": one.finish} for one in self.ranks],
            "kinds": {one.name: _pair(one) for one in self.kinds},
            "states": {one.name: _pair(one) for one in self.states},
            "causes": {one.name: _pair(one) for one in self.causes},
            "details": {one.name: _pair(one) for one in self.details},
        }


def _pair(one: Difference) -> dict[str, float | None]:
    return {"a": one.a, "b": one.b, "difference": one.change}
