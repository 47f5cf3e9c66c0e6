"""File accesses, as a section of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from tisim.analysis.file_tables import (
    access_pattern_rows,
    added,
    bandwidth_series,
    directions,
    server_rows,
    size_class,
    title_of,
    total_bytes_over_time,
    wait_rows,
)
from tisim.analysis.report.charts import TimeSeries, areas, strips
from tisim.analysis.report.page import table
from tisim.support.quantities import format_bytes

if TYPE_CHECKING:
    from tisim.analysis.result import Result
    from tisim.kernel.file_sums import IoDict

_ROWS = 30
# Maximum number of rows of a chart: servers of a file system, or file names.
_STRIPS = 40


def file_tab(io: IoDict | None) -> str:
    """Return the button that opens the section; empty without files."""
    return "" if io is None else '<button role="tab" data-tab="files">Files</button>'


def file_page(result: Result) -> str:
    """Return bandwidth over time, access patterns, servers and waits; empty without files."""
    io = result.io
    if io is None:
        return ""
    end = result.simulated_time
    uses = io.get("files", [])
    return (
        f'<section id="files" hidden>{_file_systems(io, end)}{_files(io, end)}'
        f"<h2>How files are used</h2>{_table(access_pattern_rows(uses, _ROWS), 3)}"
        '<p class="note">A call is consecutive if it begins where the previous one on the same '
        "handle ended, sequential if it begins there or later, otherwise random. Aligned calls "
        "begin at a multiple of the stripe size (4096 bytes on disks of hosts). Files with the "
        "same name in the trace share a row.</p>"
        f"{_sizes(io)}{_servers(io, end)}</section>"
    )


def _file_systems(io: IoDict, end: float) -> str:
    """Draw, for each file system, the bytes read and written over time."""
    width = io.get("bin_seconds", 0.0)
    by_name: dict[str, list[TimeSeries]] = {}
    for of, name, way, moved in bandwidth_series(io):
        if of == "file system":
            rates = [nbytes / width for nbytes in moved]
            by_name.setdefault(name, []).append(TimeSeries(way, rates))
    return "".join(
        f"<h2>Bandwidth of {escape(name)}</h2>"
        + areas(series, width=width, end=end, y_label="bytes per second", show_y=_rate)
        for name, series in by_name.items()
    )


def _files(io: IoDict, end: float) -> str:
    """Draw one row per file name."""
    width = io.get("bin_seconds", 0.0)
    by_name: dict[str, list[float]] = {}
    for of, name, _, moved in bandwidth_series(io):
        if of == "files":
            rates = [nbytes / width for nbytes in moved]
            by_name[name] = added(by_name.get(name, []), rates)
    if len(by_name) < 2:
        return ""
    most = sorted(by_name.items(), key=lambda item: -sum(item[1]))[:_STRIPS]
    drawn = [TimeSeries(name, rates) for name, rates in most]
    return "<h2>Bandwidth of files</h2>" + strips(drawn, width=width, end=end, show=_rate)


def _servers(io: IoDict, end: float) -> str:
    width = io.get("bin_seconds", 0.0)
    parts = []
    for name, servers in io.get("file_systems", {}).items():
        used = [i for i, requests in enumerate(servers["requests"][:-1]) if requests]
        drawn = [
            TimeSeries(
                servers["hosts"][i],
                [nbytes / width for nbytes in total_bytes_over_time(servers, i)],
            )
            for i in used[:_STRIPS]
        ]
        if any(series.values for series in drawn):
            peak = max(max(series.values, default=0.0) for series in drawn)
            parts.append(
                f"<h2>Servers of {escape(name)} over time</h2>"
                f"{strips(drawn, width=width, end=end, show=_rate)}"
                '<p class="note">Darker means more bytes per second of requests at the server; '
                f"the maximum is {_rate(peak)}."
                f"{' Others are left out.' if used[_STRIPS:] else ''}</p>"
            )
    rows = [*server_rows(io, _ROWS)]
    if len(rows) > 1:
        parts.append(f"<h2>File servers, longest waits first</h2>{_table(iter(rows), 2)}")
        parts.append(
            "<h2>Who waits for which server</h2>"
            f"{_table(wait_rows(io, _ROWS), 3)}"
            '<p class="note">A call waits for the server that replies last; servers that reply '
            "last at the same time share its seconds.</p>"
        )
    return "".join(parts)


def _sizes(io: IoDict) -> str:
    """Return the number of calls of each name by size."""
    uses = sorted(
        io.get("files", []),
        key=lambda use: -(use["reads"]["calls"] + use["writes"]["calls"]),
    )[:_ROWS]
    counted = [(title_of(use), way, counters["sizes"]) for use, way, counters in directions(uses)]
    used = [
        i for i, of_all in enumerate(zip(*(row[2] for row in counted), strict=True)) if any(of_all)
    ]
    if not used:
        return ""
    rows = [
        (escape(name), way, *(f"{sizes[i]:,}" if sizes[i] else "" for i in used))
        for name, way, sizes in counted
    ]
    return "<h2>Calls by size</h2>" + table(["files", "", *map(size_class, used)], rows, 2)


def _table(rows: Iterator[Sequence[str]], texts: int) -> str:
    head = next(rows)
    return table(head, [[escape(cell) for cell in row] for row in rows], texts)


def _rate(nbytes: float) -> str:
    return f"{format_bytes(nbytes)}/s"
