"""The tables of ``tisim replay --breakdown``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tisim.analysis.file_tables import access_pattern_rows, server_rows, wait_rows
from tisim.analysis.timeline.causes import NOT_SUMMED
from tisim.analysis.timeline.columns import STATES
from tisim.analysis.timeline.outliers import describe_location, format_ranks, paths_of
from tisim.commands import print_table
from tisim.support.tables import quantity_column, time_column

if TYPE_CHECKING:
    from tisim.analysis.result import Result

# Rows printed of each table; JSON and the report have more.
_ROWS = 8

Row = tuple[str, ...]


def print_breakdown(result: Result) -> None:
    """Print where the time of a result with an event log goes."""
    _print("Where the time goes, mean over ranks", _kinds(result), 1)
    _print("GPU activity, % of the simulated time", _gpus(result), 1)
    _print("Computations that took far longer than similar ones", _outliers(result), (6,))
    _print("Ranks that compute longer than most", _slow_ranks(result), 2)
    if result.require_event_log().wait_causes.are_summed:
        _print("Causes of the waits, largest first", _causes(result), 2)
    else:
        click.echo(f"\n{NOT_SUMMED.replace('*', '')}")
    _print("Who waits for whom, longest first", _waits(result), 4)
    _print("Composition of the critical path", _path(result), 2)
    _print("Upper bounds on the gain from a better machine", _gains(result), 1)
    _print("The busiest links", _links(result, limiters=False), 2)
    _print("The busiest limiters, shared by both directions", _links(result, limiters=True), 2)
    if result.io is not None:
        _print("How files are used", access_pattern_rows(result.io.get("files", []), _ROWS), 3)
        _print(
            "File servers, longest waits first",
            server_rows(result.io, _ROWS),
            2,
        )
        _print("Who waits for which server, longest first", wait_rows(result.io, _ROWS), (1, 2))


def _print(title: str, rows: Iterator[Row], left: int | tuple[int, ...]) -> None:
    listed = list(rows)
    if len(listed) > 1:
        click.echo(f"\n{title}")
        print_table(listed, left, indent="  ")


def _kinds(result: Result) -> Iterator[Row]:
    by_kind = result.breakdown.by_kind
    used = [state for state in STATES if by_kind[state].any()]
    ranks = len(result.finish)
    total = float(by_kind["seconds"].sum())
    whole = total or 1.0
    shown = by_kind[by_kind["seconds"] > 0]
    means = time_column("mean", [*(shown["seconds"] / ranks), total / ranks])
    yield ("kind", "actions", means[0], *used)
    for mean, (kind, row) in zip(means[1:], shown.iterrows(), strict=False):
        parts = (_percent(row[state] / whole) for state in used)
        yield (str(kind), f"{row['actions']:,.0f}", mean, *parts)
    sums = (_percent(by_kind[state].sum() / whole) for state in used)
    yield ("all", f"{result.actions:,}", means[-1], *sums)


def _gpus(result: Result) -> Iterator[Row]:
    table = result.require_event_log().occupations
    yield ("rank", *table.columns)
    if not len(table):
        return
    total = max(result.require_event_log().run.end, 1e-300)
    for name, seconds in (("all", table.mean()), *table.head(_ROWS).iterrows()):
        yield (str(name), *(f"{100 * value / total:.1f}" for value in seconds))


def _waits(result: Result) -> Iterator[Row]:
    shown, rest = result.waits.head(_ROWS), result.waits.iloc[_ROWS:]
    waited = time_column("sum", [*shown["seconds"], float(rest["seconds"].sum())])
    yield ("wait state", "in", "rank", "for rank", waited[0], "times")
    for seconds, row in zip(waited[1:], shown.itertuples(), strict=False):
        yield (row.state, row.kind, str(row.rank), str(row.cause), seconds, f"{row.count:,}")
    if len(rest):
        yield (f"and {len(rest):,} more", "", "", "", waited[-1], f"{rest['count'].sum():,}")


def _causes(result: Result) -> Iterator[Row]:
    shown, rest = result.causes.head(_ROWS), result.causes.iloc[_ROWS:]
    waited = time_column("others wait", [*shown["seconds"], float(rest["seconds"].sum())])
    begins = time_column("longest begins", [*shown["start"]])
    lasts = time_column("lasts", [*(shown["end"] - shown["start"])])
    yield ("rank", "in", waited[0], "share", "ranks", "parts", begins[0], lasts[0])
    for place, row in enumerate(shown.itertuples(), 1):
        times = f"{row.ranks:,}", f"{row.parts:,}", begins[place], lasts[place]
        yield (str(row.rank), row.state, waited[place], _percent(row.share), *times)
    if len(rest):
        share, parts = _percent(rest["share"].sum()), f"{rest['parts'].sum():,}"
        yield (f"and {len(rest):,} more", "", waited[-1], share, "", parts, "", "")


def _outliers(result: Result) -> Iterator[Row]:
    found = result.require_event_log().outliers
    paths = paths_of(found, result.trace)
    begins, lasts, usual, waited = (
        time_column(name, seconds)
        for name, seconds in (
            ("begins", [outlier.start for outlier in found]),
            ("lasts", [outlier.seconds for outlier in found]),
            ("usually", [outlier.usual for outlier in found]),
            ("others wait", [outlier.waited for outlier in found]),
        )
    )
    yield ("rank", begins[0], lasts[0], usual[0], waited[0], "ranks", "where")
    for place, outlier in enumerate(found, 1):
        times = begins[place], lasts[place], usual[place], waited[place]
        yield (str(outlier.rank), *times, f"{outlier.waiting:,}", describe_location(outlier, paths))


def _slow_ranks(result: Result) -> Iterator[Row]:
    found = result.require_event_log().slow_ranks
    yield ("host", "ranks", "of the median")
    for slow in found[:_ROWS]:
        yield (slow.host, format_ranks(slow.ranks), f"{slow.ratio:.2f} times")
    if len(found) > _ROWS:
        yield (f"and {len(found) - _ROWS:,} more", "", "")


def _path(result: Result) -> Iterator[Row]:
    table = result.critical_path.by_kind
    shown, rest = table.head(_ROWS), table.iloc[_ROWS:]
    times = time_column("sum", [*shown["seconds"], float(rest["seconds"].sum())])
    yield ("state", "in", times[0], "share", "parts")
    for seconds, row in zip(times[1:], shown.itertuples(), strict=False):
        yield (row.state, row.kind, seconds, _percent(row.share), f"{row.parts:,}")
    if len(rest):
        share, parts = _percent(rest["share"].sum()), f"{rest['parts'].sum():,}"
        yield (f"and {len(rest):,} more", "", times[-1], share, parts)


def _gains(result: Result) -> Iterator[Row]:
    table = result.critical_path.gains
    times = time_column("gain", [*table["seconds"]])
    yield ("if there were", times[0], "share", "speedup")
    for seconds, (change, row) in zip(times[1:], table.iterrows(), strict=True):
        yield (str(change), seconds, _percent(row["share"]), f"{row['speedup']:.4g}")


def _links(result: Result, *, limiters: bool) -> Iterator[Row]:
    """Cables, or what is none of them."""
    table = result.links.table
    table = table[table["link"].isin(result.require_event_log().limiters) == limiters]
    words = result.require_event_log().link_words
    shown = table.head(_ROWS)
    speeds = quantity_column("bandwidth", "B/s", [*shown["bandwidth"]])
    carried = quantity_column("carried", "B", [*shown["bytes"]])
    yield ("link", "where", speeds[0], carried[0], "mean use", "peak")
    for speed, size, row in zip(speeds[1:], carried[1:], shown.itertuples(), strict=True):
        name = f"{row.link} (not shared)" if row.fatpipe else row.link
        whose = words.get(row.link, "")
        yield (name, whose, speed, size, _percent(row.mean), _percent(row.peak))


def _percent(share: float) -> str:
    return f"{share:.1%}" if share else "-"
