"""What ``tisim replay --breakdown`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tisim.quantities import format_bytes, format_time
from tisim.tables import align
from tisim.timeline.names import STATES

if TYPE_CHECKING:
    from tisim.result import Result

# So many rows of each table are printed; JSON and the report have more.
_ROWS = 8

Row = tuple[str, ...]


def print_breakdown(result: Result) -> None:
    """Print where the time of a result with an event log goes."""
    _print("Where the time goes, mean over ranks", _kinds(result), 1)
    _print("Who waits for whom, longest first", _waits(result), 4)
    _print("The critical path, which the simulated time consists of", _path(result), 2)
    _print("What better machines could gain at most", _gains(result), 1)
    _print("The busiest links", _links(result), 1)


def _print(title: str, rows: Iterator[Row], left: int) -> None:
    listed = list(rows)
    if len(listed) > 1:
        click.echo(f"\n{title}")
        for line in align(listed, left):
            click.echo(f"  {line}")


def _kinds(result: Result) -> Iterator[Row]:
    by_kind = result.breakdown.by_kind
    used = [state for state in STATES if by_kind[state].any()]
    yield ("kind", "actions", "seconds", *used)
    ranks = len(result.finish)
    total = float(by_kind["seconds"].sum())
    whole = total or 1.0
    for kind, row in by_kind[by_kind["seconds"] > 0].iterrows():
        parts = (_percent(row[state] / whole) for state in used)
        yield (str(kind), f"{row['actions']:,.0f}", format_time(row["seconds"] / ranks), *parts)
    sums = (_percent(by_kind[state].sum() / whole) for state in used)
    yield ("all", f"{result.actions:,}", format_time(total / ranks), *sums)


def _waits(result: Result) -> Iterator[Row]:
    waits = result.waits
    yield ("wait state", "in", "rank", "for rank", "seconds", "times")
    for row in waits.head(_ROWS).itertuples():
        ends = (str(row.rank), str(row.cause))
        yield (row.state, row.kind, *ends, format_time(row.seconds), f"{row.count:,}")
    if len(waits) > _ROWS:
        rest = waits.iloc[_ROWS:]
        more = (format_time(rest["seconds"].sum()), f"{rest['count'].sum():,}")
        yield (f"and {len(rest):,} more", "", "", "", *more)


def _path(result: Result) -> Iterator[Row]:
    table = result.critical_path.by_kind
    yield ("state", "in", "seconds", "share", "parts")
    for row in table.head(_ROWS).itertuples():
        seconds = format_time(row.seconds)
        yield (row.state, row.kind, seconds, _percent(row.share), f"{row.parts:,}")


def _gains(result: Result) -> Iterator[Row]:
    yield ("if there were", "seconds", "share", "speedup")
    for change, row in result.critical_path.gains.iterrows():
        yield (
            str(change),
            format_time(row["seconds"]),
            _percent(row["share"]),
            f"{row['speedup']:.4g}",
        )


def _links(result: Result) -> Iterator[Row]:
    table = result.links.table
    yield ("link", "bandwidth", "carried", "mean use", "peak")
    for row in table.head(_ROWS).itertuples():
        name = f"{row.link} (not shared)" if row.fatpipe else row.link
        speed = f"{format_bytes(row.bandwidth)}/s"
        yield (name, speed, format_bytes(row.bytes), _percent(row.mean), _percent(row.peak))


def _percent(share: float) -> str:
    return f"{share:.1%}" if share else "-"
