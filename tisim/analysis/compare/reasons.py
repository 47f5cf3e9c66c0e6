"""Sentences that explain the difference between two results."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tisim.analysis.compare.comparison import Comparison, Difference
from tisim.support.quantities import format_time

# Smaller parts of the difference, or else of all time, get no sentence.
_BREAKDOWN_PART = 0.05
_MOST_SENTENCES = 2  # sentences of a kind
_MEAN = "on average over ranks"


def breakdown_reasons(comparison: Comparison) -> Iterator[str]:
    """Sentences on kinds of action, states and ranks that take longer in one result."""
    finish = comparison.times[-1]
    least = _BREAKDOWN_PART * abs(finish.change if finish.differs else finish.a or 0.0)

    def large(differences: tuple[Difference, ...], most: int) -> Iterator[tuple[str, str, str]]:
        for one in differences[:most]:
            if one.differs and abs(one.change) >= least:
                change = format_time(abs(one.change), 6)
                yield one.name, change, "longer" if one.change > 0 else "less"

    for name, change, more in large(comparison.kinds, _MOST_SENTENCES):
        yield f"actions of kind {name} take {change} {more} {_MEAN}"
    for name, change, more in large(comparison.states, _MOST_SENTENCES):
        yield f"ranks are in state {name} {change} {more} {_MEAN}"
    for name, change, more in large(comparison.causes, 1):
        yield f"others wait {change} {more} for {name} {_MEAN}"
    if comparison.without_breakdown:
        yield (
            f"{comparison.without_breakdown} does not say where its time goes: replay it with "
            "--breakdown too, to know which actions and waits differ"
        )


# Smaller parts of a difference get no sentence.
_PART = 0.005
# More inputs that differ than this are counted and not named.
_FEW = 3
_WIDEST = 40
_VERBS = {"compute": "computing", "communication": "communicating", "other": "other actions"}


def find_reasons(comparison: Comparison) -> tuple[str, ...]:
    """Sentences that explain the difference, the most important one first."""
    return (
        *_verdict(comparison),
        *_where(comparison),
        *breakdown_reasons(comparison),
        *_work(comparison),
        *_machine(comparison),
        *_details(comparison),
    )


def _verdict(comparison: Comparison) -> Iterator[str]:
    time = comparison.simulated_time
    if not time.differs:
        yield "both take the same simulated time"
    elif time.a:
        change = format_time(time.change, 6, signed=True)
        yield f"b takes {(time.b or 0.0) / time.a:.4g} times as long as a ({change})"
    last = [one for one in comparison.ranks if one.finish_b == time.b]
    if last and last[0].finish_a != time.a:
        yield f"rank {last[0].rank} ends last in b, another one in a"


def _where(comparison: Comparison) -> Iterator[str]:
    """The shares of computing and communicating, over all ranks."""
    *parts, finish = comparison.times
    if not finish.differs:
        if any(_matters(part, finish) for part in parts):
            yield "ranks end at the same time on average, and spend it differently"
        return
    large = [part for part in parts if abs(part.change) >= _PART * abs(finish.change)]
    together = len({part.change > 0 for part in large}) == 1
    for part in sorted(large, key=lambda part: -abs(part.change)):
        change = format_time(abs(part.change), 6)
        if together:
            share = part.change / finish.change
            sign = "+" if part.change > 0 else "-"
            yield f"{_VERBS[part.name]} makes {share:.1%} of it ({sign}{change} {_MEAN})"
        else:
            more = "longer" if part.change > 0 else "less"
            yield f"{_VERBS[part.name]} takes {change} {more} {_MEAN}"


def _matters(part: Difference, whole: Difference) -> bool:
    return abs(part.change) >= _PART * (whole.a or 0.0)


def _work(comparison: Comparison) -> Iterator[str]:
    """Differences in the work that is done."""
    counts = {one.name: one for one in comparison.counts}
    if counts["ranks"].differs:
        yield f"a has {counts['ranks'].a:,.0f} ranks, b {counts['ranks'].b:,.0f}"
    if counts["actions"].differs:
        a, b = counts["actions"].a, counts["actions"].b
        yield f"a has {a:,.0f} actions, b {b:,.0f}: these are not replays of one trace"
        return
    if counts["messages_sent"].differs or counts["bytes_sent"].differs:
        messages, sent = counts["messages_sent"].change, counts["bytes_sent"].change
        yield (
            f"b sends {messages:+,.0f} messages and {sent:+,.0f} bytes: "
            "the same calls by other algorithms"
        )


def _machine(comparison: Comparison) -> Iterator[str]:
    few = len(comparison.inputs) <= _FEW
    if not few:
        yield f"{len(comparison.inputs)} options and other inputs differ"
    for name, a, b in comparison.inputs if few else ():
        yield f"{name} is {shorten(a)} in a, {shorten(b)} in b"
    moved = sum(one.host_a != one.host_b for one in comparison.ranks)
    if moved:
        plural, verb = ("", "runs") if moved == 1 else ("s", "run")
        yield f"{moved:,} rank{plural} {verb} on another host in b"
    compute = comparison.times[0]
    same_work = not any(one.differs for one in comparison.counts if one.name != "messages_sent")
    if compute.a and abs(compute.change) > _PART * compute.a:
        if same_work:
            ratio = (compute.b or 0.0) / compute.a
            yield f"the same work takes {ratio:.4g} times as long: hosts of other speed or load"
    elif not (moved or comparison.inputs) and same_work and comparison.simulated_time.differs:
        yield "options, hosts and computing are the same: the network is another one"


def _details(comparison: Comparison) -> Iterator[str]:
    """The greatest difference of what only some results have, such as a kind of waiting."""
    times = [one for one in comparison.details if _is_time(one)]
    if times:
        first = times[0]
        yield f"most of all differs {first.name} ({format_time(first.change, 6, signed=True)})"


def _is_time(one: Difference) -> bool:
    """True for a number that can be part of the seconds that ranks spend."""
    known = [abs(value) for value in (one.a, one.b) if value is not None]
    words = ("bytes", "count", "messages", "number", "actions", "rank:")
    return math.isfinite(sum(known)) and not any(word in one.name for word in words)


def shorten(value: object) -> str:
    """A value of an option, cut if it is long."""
    text = "not set" if value is None else str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
