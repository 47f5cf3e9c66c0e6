"""Make a case smaller while something about it stays true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.oracle.cases import Case

#: What counts in SimGrid with another model than SMPI's only, and in tisim with any: without the
#: model the two would disagree for another reason than the one looked for.
WITH_MODEL = {"network/model": ("network/latency-factor", "network/bandwidth-factor")}


class Shrinker:
    """Drops parts of a case as long as `holds` stays true.

    Parameters
    ----------
    holds
        The property to keep, such as "the two simulators disagree".
    budget
        How many times it may be asked.
    """

    def __init__(self, holds: Callable[[Case], bool], budget: int = 300) -> None:
        self.holds = holds
        self.budget = budget

    def accepts(self, case: Case) -> bool:
        if self.budget <= 0:
            return False
        self.budget -= 1
        return self.holds(case)

    def shrink(self, case: Case) -> Case:
        """The smallest case found, after no part could be dropped any more."""
        while self.budget > 0:
            smaller = self.drop_config(self.drop_ranks(self.drop_events(case)))
            if smaller == case:
                break
            case = smaller
        return case

    def drop_events(self, case: Case) -> Case:
        """Drop runs of events, long ones first."""
        events = case.program.events()
        length = max(1, len(events) // 2)
        while length >= 1:
            start = 0
            while start < len(events):
                kept = events[:start] + events[start + length :]
                smaller = replace(case, program=case.program.keep(kept))
                if self.accepts(smaller):
                    case, events = smaller, kept
                else:
                    start += length
            length //= 2
        return case

    def drop_ranks(self, case: Case) -> Case:
        for rank in reversed(range(case.program.ranks)):
            if case.program.ranks > 1:
                smaller = case.without_rank(rank)
                if self.accepts(smaller):
                    case = smaller
        return case

    def drop_config(self, case: Case) -> Case:
        for key in list(case.config):
            dropped = (key, *WITH_MODEL.get(key, ()))
            config = {other: value for other, value in case.config.items() if other not in dropped}
            smaller = replace(case, config=config)
            if self.accepts(smaller):
                case = smaller
        return case
