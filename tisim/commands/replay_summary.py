"""The table that ``tisim replay`` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from tisim.analysis.file_tables import short_habits
from tisim.support.quantities import format_bytes, format_seconds
from tisim.support.tables import align

if TYPE_CHECKING:
    from tisim.analysis.result import Result
    from tisim.analysis.result_json import TimeName
    from tisim.kernel.file_sums import ServersDict

# Of so many names of files, those with the most bytes, the summary says how they were used.
_FILES = 3


def print_summary(result: Result, interval: str) -> None:
    """Print the main numbers.

    Parameters
    ----------
    result
        A replay.
    interval
        Of its simulated time, in words; empty: none.
    """
    for line in align(_rows(result, interval), left=(0, 2)):
        click.echo(line)


def _rows(result: Result, interval: str) -> list[tuple[str, str, str]]:
    """Names, values and notes of the table that is printed."""
    finish, wall = result.column("finish"), result.wall_time

    def ranked(name: str, rank: int) -> tuple[str, str, str]:
        return name, format_seconds(finish[rank]), f"rank {rank} on {result.hosts[rank]}"

    def spread(name: str, column: TimeName) -> tuple[str, str, str]:
        seconds = result.column(column)
        least, most = format_seconds(min(seconds)), format_seconds(max(seconds))
        mean = math.fsum(seconds) / len(seconds)
        return name, format_seconds(mean), f"mean over ranks ({least} to {most})"

    ranks = range(len(finish))
    times = result.jitter["times"] if result.jitter else []
    median = (
        f"median of {len(times)} seeds ({format_seconds(min(times))} to "
        f"{format_seconds(max(times))})"
        if times
        else ""
    )
    return [
        ("simulated time", format_seconds(result.simulated_time), interval or median),
        ("ranks", f"{len(finish):,}", ""),
        ("actions", f"{result.actions:,}", ""),
        ranked("slowest", max(ranks, key=finish.__getitem__)),
        ranked("fastest", min(ranks, key=finish.__getitem__)),
        spread("computing", "compute"),
        spread("communicating", "communication"),
        *_io_rows(result),
        *_steady_rows(result),
        ("simulation took", f"{wall:.3g} s", f"{result.actions / wall:,.0f} actions a second"),
    ]


def _io_rows(result: Result) -> list[tuple[str, str, str]]:
    """What is said of files."""
    io = result.io
    if io is None:
        return []
    mean = math.fsum(io["seconds"]) / len(io["seconds"])
    moved = (
        f"{format_bytes(sum(io['bytes_read']))} read, "
        f"{format_bytes(sum(io['bytes_written']))} written"
    )
    note = f"mean over ranks; {moved} in {sum(io['calls']):,} calls"
    rows = [("reading and writing", format_seconds(mean), note)]
    rows += short_habits(io.get("files", []), _FILES)
    for name, servers in io.get("file_systems", {}).items():
        rows.append((f"on {name}", *_server_words(servers)))
    return rows


def _server_words(servers: ServersDict) -> tuple[str, str]:
    """How long requests to a file system took, and what they were."""
    *data, metadata = zip(
        *(servers[key] for key in ("requests", "bytes_read", "bytes_written")), strict=True
    )
    moved = [read + written for _, read, written in data]
    requests = sum(count for count, *_ in data)
    most = max(range(len(data)), key=moved.__getitem__)
    share = (
        f", most on {servers['hosts'][most]} ({moved[most] / sum(moved):.1%})" if any(moved) else ""
    )
    plural = "s" if len(data) > 1 else ""
    text = (
        f"mean of a request; {format_bytes(sum(moved))} in {requests:,} requests to {len(data):,} "
        f"server{plural}{share.replace('%', ' %')}; {metadata[0]:,} of metadata"
    )
    total = math.fsum(servers["seconds"]) / max(sum(servers["requests"]), 1)
    return format_seconds(total), text


def _steady_rows(result: Result) -> list[tuple[str, str, str]]:
    """What is said of iterations that were not simulated."""
    steady = result.steady
    if steady is None:
        return []
    notes = []
    if steady["skipped"]:
        notes.append(
            f"of {steady['iterations']:,} iterations; the error of the times is estimated at "
            f"{steady['estimated_error']:.3g}"
        )
    if steady["off"] is not None:
        notes.append(f"{'off since' if notes else 'off'}: {steady['off']}")
    return [("skipped", f"{steady['skipped']:,}", "; ".join(notes))]
