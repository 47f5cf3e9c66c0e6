"""What a report says first: headline numbers, findings in sentences, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.outliers import Outlier, paths_of, place_of, ranges
from tisim.analysis.viz.colours import MEANINGS
from tisim.analysis.viz.html import table
from tisim.support.quantities import format_time

if TYPE_CHECKING:
    from tisim.analysis.result import Result

# Of the ranks on slow hosts so many are named.
_NAMED = 8
# Ranks above and below the one that a link leads to.
_BESIDE = 8
# An option that changes what each gain is about.
_WHAT_IF = {
    "faster CPUs": "--speed x2",
    "lower latency": "--latency x0.5",
    "more bandwidth": "--bandwidth x2",
    "no software overhead": "--config smpi/os=0:0:0 --config smpi/or=0:0:0",
}


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a list."""
    return f'<ul class="said">{"".join(f"<li>{sentence}</li>" for sentence in sentences)}</ul>'


def headline(result: Result, shares: Mapping[str, float]) -> str:
    """The numbers that matter most."""
    waiting = sum(shares.get(state, 0.0) for state in WAITS)
    numbers = [
        (format_time(result.simulated_time, 6), "simulated time"),
        (f"{len(result.finish):,}", "ranks"),
        (f"{shares.get('compute', 0.0):.0%}", "computing"),
        (f"{shares.get('transfer', 0.0) + shares.get('overhead', 0.0):.0%}", "communicating"),
        (f"{waiting:.0%}", "waiting for late ranks"),
    ]
    cells = "".join(f"<div><b>{value}</b><span>{name}</span></div>" for value, name in numbers)
    return f'<div class="numbers">{cells}</div>'


def findings(result: Result, shares: Mapping[str, float]) -> Iterator[str]:
    """What there is to say about a run.

    Parameters
    ----------
    result
        A result with an event log.
    shares
        Parts of the time of all ranks, by state.
    """
    waiting = sum(shares.get(state, 0.0) for state in WAITS)
    yield (
        f"Of the time of all ranks until they end {shares.get('compute', 0.0):.1%} is computing, "
        f"{shares.get('overhead', 0.0):.1%} the processor's part of communicating, "
        f"{shares.get('transfer', 0.0):.1%} waiting for messages on their way and "
        f"{waiting:.1%} waiting for ranks that come late."
    )
    log = result.require_event_log()
    for outlier in log.outliers[:1]:
        place = place_of(outlier, paths_of([outlier], result.trace))
        window = (
            f"t={max(outlier.start - outlier.seconds, 0.0)!r}..{outlier.end + outlier.seconds!r}"
        )
        ranks = f"r={max(outlier.rank - _BESIDE, 0)}..{outlier.rank + _BESIDE}"
        yield (
            f"<b>Rank {outlier.rank} once computes for {format_time(outlier.seconds)}</b>, "
            f"{outlier.seconds / outlier.usual:.0f} times as long as usual, at "
            f'<a href="#gantt?{window}&amp;{ranks}">{format_time(outlier.start, 6)}</a>, '
            f"{escape(place)}. {outlier.waiting:,} ranks wait "
            f"for it meanwhile, {format_time(outlier.waited)} together."
        )
    for slow in log.slow_ranks[:1]:
        more = f" and {len(slow.ranks) - _NAMED:,} more" if len(slow.ranks) > _NAMED else ""
        one = len(slow.ranks) == 1
        yield (
            f"<b>Host {escape(slow.host)} is slow</b>: {'rank' if one else 'ranks'} "
            f"{ranges(slow.ranks[:_NAMED])}{more} {'computes' if one else 'compute'} "
            f"{slow.ratio:.2f} times as long as the median rank."
        )
    waits = result.waits
    if len(waits):
        first = waits.groupby("state", observed=True)["seconds"].sum().idxmax()
        causes = waits.groupby("cause")["seconds"].sum()
        yield (
            f"Most of that waiting is <b>{first}</b>: {MEANINGS[first]}. Rank "
            f"{int(causes.idxmax())} is waited for longest, {causes.max() / causes.sum():.1%} "
            "of all waiting."
        )
    gains = result.critical_path.gains
    best = gains["seconds"].idxmax()
    yield (
        f"The critical path says that <b>{best}</b> could help most: by "
        f"{gains['share'][best]:.1%} of the simulated time at most."
    )
    links = result.links.table
    if len(links):
        link = links.iloc[0]
        words = log.link_words.get(link["link"])
        whose = "" if words is None else f" ({escape(words)})"
        yield (
            f"The busiest link, {escape(link['link'])}{whose}, carries {link['mean']:.1%} of "
            f"its bandwidth on average and {link['peak']:.1%} at its busiest."
        )


def next_steps(result: Result) -> Iterator[str]:
    """What to do next, by what was found."""
    log = result.require_event_log()
    if log.outliers:
        yield (
            "Look at the computations that took far longer than others like them: the table in "
            '<a href="#waits">Waits</a>; a click on a row shows it in the chart. They are in the '
            "trace: record the program again if they were an accident."
        )
    if log.slow_ranks:
        hosts = ", ".join(escape(one.host) for one in log.slow_ranks[:_NAMED])
        yield f"Replay without the slow hosts ({hosts}): <code>--hostfile</code> with the others."
    best = str(result.critical_path.gains["seconds"].idxmax())
    if best in _WHAT_IF:
        yield (
            f"Try {best}: <code>tisim replay {_WHAT_IF[best]} ...</code>, and "
            "<code>tisim compare</code> with this run."
        )
    yield (
        "Look closer: <code>tisim replay --timeline run.tir ...</code> and <code>tisim view "
        "run.tir</code> show every state and message at any zoom, and the cause of each wait."
    )


def outlier_table(result: Result) -> str:
    """Computations that took far longer than those like them; a click shows one in the chart."""
    found = result.require_event_log().outliers
    paths = paths_of(found, result.trace)
    rows = [
        (
            str(one.rank),
            escape(place_of(one, paths)),
            format_time(one.start, 6),
            format_time(one.seconds),
            format_time(one.usual),
            format_time(one.waited),
            f"{one.waiting:,}",
        )
        for one in found
    ]
    head = ["rank", "where", "begins", "lasts", "usually", "others wait", "ranks"]
    return table(head, rows, 2, [f"{one.start!r},{one.end!r},{one.rank}" for one in found])


def label_of(one: Outlier) -> str:
    """What the chart says at an outlier."""
    usual = format_time(one.usual, 3)
    return f"rank {one.rank} computes for {format_time(one.seconds, 3)}, usually {usual}"
