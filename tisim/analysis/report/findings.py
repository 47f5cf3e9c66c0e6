"""The first findings about a run: sentences with the part of the run that shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.analysis.pictures.colours import MEANINGS
from tisim.analysis.timeline.causes import NOT_SUMMED
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.outliers import describe_location, format_ranks, paths_of
from tisim.support.quantities import format_time

if TYPE_CHECKING:
    import pandas as pd

    from tisim.analysis.timeline.event_log import EventLog

    _Window = tuple[float, float, int, int]

# Maximum number of named ranks on slow hosts.
NAMED = 8
# Maximum number of named states that cause waits.
_STATES = 2
# Causes of waits below this fraction of the time, which would be shown as 0.0%, are omitted.
_MIN_WAIT_SHARE = 5e-4
# Number of ranks shown above and below the one that a link refers to.
_CONTEXT_RANKS = 8


@dataclass(frozen=True)
class Finding:
    """A sentence about a run, and the part of the run that shows it.

    `text` has ``**`` around the most important words. `window`: begin and end in seconds, and the
    first and last rank. `tab`: the viewer's tab for it. `point`: the rank and time of the state
    to select.
    """

    text: str
    window: _Window
    tab: str = "findings"
    point: tuple[int, float] | None = None


@dataclass(frozen=True)
class BusiestLink:
    """The most used link; the maximum utilisation is None if unknown."""

    name: str
    words: str | None
    mean: float
    peak: float | None = None


def findings(
    log: EventLog, trace: str, link: BusiestLink | None, *, has_path: bool = True
) -> Iterator[Finding]:
    """Yield sentences about a run; `trace` is the file with the call sites, if known."""
    whole = (0.0, log.run.end, 0, log.run.ranks - 1)
    spent = log.breakdown.by_rank.sum()
    yield Finding(describe_shares(spent / (float(spent.sum()) or 1.0)), whole, "statistics")
    yield from _of_outlier(log, trace)
    yield from _of_slow_host(log)
    yield from _of_waits(log, spent, whole)
    if has_path:
        gains = log.critical_path.gains
        best = str(gains["seconds"].idxmax())
        part = log.critical_path.longest_part(best)
        yield Finding(
            f"According to the critical path, **{best}** could help most: by up to "
            f"{gains['share'][best]:.1%} of the simulated time.",
            whole if part is None else _around(log, *part),
            "path",
        )
    if link is not None:
        whose = f" ({link.words})" if link.words else ""
        peak = "" if link.peak is None else f" and {link.peak:.1%} at its busiest"
        yield Finding(
            f"The busiest link, **{link.name}**{whose}, carries {link.mean:.1%} of its bandwidth "
            f"on average{peak}.",
            whole,
            "links",
        )


def _around(log: EventLog, begin: float, end: float, *ranks: int) -> _Window:
    """Return an interval with margins of its own length, and the ranks near the given ones."""
    more = end - begin
    low, high = (
        max(min(ranks) - _CONTEXT_RANKS, 0),
        min(max(ranks) + _CONTEXT_RANKS, log.run.ranks - 1),
    )
    return max(begin - more, 0.0), min(end + more, log.run.end), low, high


def _of_outlier(log: EventLog, trace: str) -> Iterator[Finding]:
    for outlier in log.outliers[:1]:
        place = describe_location(outlier, paths_of([outlier], trace))
        waited = format_time(outlier.waited)
        due = f" {outlier.waiting:,} ranks wait because of it, {waited} in total."
        yield Finding(
            f"**Rank {outlier.rank} computes once for {format_time(outlier.seconds)}**, "
            f"{outlier.seconds / outlier.usual:,.0f} times as long as usual, at "
            f"{format_time(outlier.start, 6)}, {place}.{due if outlier.waiting else ''}",
            _around(log, outlier.start, outlier.end, outlier.rank),
            "selected",
            (outlier.rank, (outlier.start + outlier.end) / 2),
        )


def _of_slow_host(log: EventLog) -> Iterator[Finding]:
    for slow in log.slow_ranks[:1]:
        more = f" and {len(slow.ranks) - NAMED:,} more" if len(slow.ranks) > NAMED else ""
        one = len(slow.ranks) == 1
        yield Finding(
            f"**Host {slow.host} is slow**: {'rank' if one else 'ranks'} "
            f"{format_ranks(slow.ranks[:NAMED])}{more} {'computes' if one else 'compute'} "
            f"{slow.ratio:.2f} times as long as the median rank.",
            _around(log, 0.0, log.run.end, *slow.ranks),
            "ranks",
        )


def _of_waits(log: EventLog, spent: pd.Series[float], whole: _Window) -> Iterator[Finding]:
    """Yield the state in which ranks wait most, and its causes."""
    causes, first = log.causes, spent[[*WAITS]].idxmax()
    most = f"Most of that waiting is **{first}**: {MEANINGS[str(first)]}."
    is_much = float(spent[[*WAITS]].sum()) >= _MIN_WAIT_SHARE * float(spent.sum())
    if is_much and len(causes):
        late = causes.iloc[0]
        of_states = causes.groupby("state", observed=True)["share"].sum()
        of_states = of_states.sort_values(ascending=False).head(_STATES)
        parts = " and ".join(f"{share:.1%} is due to {state}" for state, share in of_states.items())
        times = f" in {late['parts']:,} parts" if late["parts"] > 1 else ""
        yield Finding(
            f"{most} Of that waiting, {parts}; the largest cause is "
            f"**rank {late['rank']} in {late['state']}**, {late['share']:.1%}{times}.",
            _around(log, late["start"], late["end"], int(late["rank"])),
            "selected",
            (int(late["rank"]), (late["start"] + late["end"]) / 2),
        )
    elif is_much and spent[first] > 0.0:
        yield Finding(most, whole, "statistics")
    if not log.wait_causes.are_summed:
        yield Finding(NOT_SUMMED, whole, "statistics")


def describe_shares(shares: Mapping[str, float]) -> str:
    """Return the shares of all ranks' time by state, as a sentence."""
    waiting = sum(shares.get(state, 0.0) for state in WAITS)
    return (
        f"Of the time of all ranks, {shares.get('compute', 0.0):.1%} is computation, "
        f"{shares.get('overhead', 0.0):.1%} CPU overhead of communication, "
        f"{shares.get('transfer', 0.0):.1%} waiting for messages in flight and {waiting:.1%} "
        "waiting for late ranks."
    )
