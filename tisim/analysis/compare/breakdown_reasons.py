"""Sentences on kinds of action, states and waits that differ between two results."""

from __future__ import annotations

from collections.abc import Iterator

from tisim.analysis.compare.comparison import Comparison, Difference
from tisim.support.quantities import format_time

# Less than this part of the difference, or else of all time, is not worth a sentence.
_PART = 0.05
_MOST = 2  # sentences of a kind
_MEAN = "on average over ranks"


def breakdown_reasons(comparison: Comparison) -> Iterator[str]:
    """Sentences on kinds of action, states and ranks that take longer in one result."""
    finish = comparison.times[-1]
    least = _PART * abs(finish.change if finish.differs else finish.a or 0.0)

    def large(differences: tuple[Difference, ...], most: int) -> Iterator[tuple[str, str, str]]:
        for one in differences[:most]:
            if one.differs and abs(one.change) >= least:
                change = format_time(abs(one.change), 6)
                yield one.name, change, "longer" if one.change > 0 else "less"

    for name, change, more in large(comparison.kinds, _MOST):
        yield f"actions of kind {name} take {change} {more} {_MEAN}"
    for name, change, more in large(comparison.states, _MOST):
        yield f"ranks are in state {name} {change} {more} {_MEAN}"
    for name, change, more in large(comparison.causes, 1):
        yield f"others wait {change} {more} for {name} {_MEAN}"
    if comparison.without_breakdown:
        yield (
            f"{comparison.without_breakdown} does not say where its time goes: replay it with "
            "--breakdown too, to know which actions and waits differ"
        )
