"""``tisim inspect``."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import click

from tisim.analysis.file_tables import habit_rows
from tisim.commands import json_option, opened_name, write_json
from tisim.support.files import check_writable
from tisim.support.progress import ProgressBar
from tisim.support.quantities import count_of, format_bytes
from tisim.support.reading import graph_kind
from tisim.support.tables import align
from tisim.traces.call_sites import short_path
from tisim.traces.inspection import Inspection, inspect
from tisim.traces.inspection_text import actions_text, histogram_text, ranks_text, shown_call
from tisim.traces.phases import phases_of

_ROWS = 20
_PHASES = 20

Row = tuple[str, ...]


@click.command(
    "inspect",
    epilog="""\b
Examples:
  tisim inspect lu.tit
  tisim inspect --statistics lu.tit
  tisim inspect --json - lu.tit | jq '.loops[0]'
  tisim inspect traces/
""",
)
@click.option(
    "--statistics",
    is_flag=True,
    help="Also print calls, bytes and volumes by call site, with histograms.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=_ROWS,
    show_default=True,
    help="Maximum number of rows per table.",
)
@json_option("everything", ", in place of the tables")
@click.argument("traces", nargs=-1, required=True)
def inspect_command(
    statistics: bool, rows: int, json_file: str | None, traces: tuple[str, ...]
) -> None:
    """Summarise an application: phases, loops, calls, classes of ranks, bytes by phase.

    Nothing is replayed: a packed trace (.tit of version 2) holds the structure of the program,
    and calls are counted by the rules of its grammar. Other traces are packed into a temporary
    file first.

    In a call, rank+1 is a peer relative to the calling rank, <by rank> is a number that differs
    between ranks, and * one that varies over time.

    Of a graph of GPUs, nodes and bytes are counted.
    """
    if json_file not in (None, "-"):
        check_writable(json_file)
    if len(traces) == 1 and graph_kind(traces[0]) == "graph":
        from tisim.commands.graphs import inspect_graph

        inspect_graph(traces[0], json_file)
        return
    with ProgressBar("inspect") as bar:
        found = inspect(opened_name(traces), statistics=statistics, progress=bar.show)
    if write_json(found.to_dict(), json_file):
        return
    for line in _report(found, statistics, rows):
        click.echo(line)


def _report(found: Inspection, statistics: bool, rows: int) -> Iterator[str]:
    yield from _head(found)
    yield from _table("bytes by part", list(_parts(found)), {0})
    yield from _table("actions", list(_actions(found)), {0})
    if found.files:
        yield from _table("files", list(habit_rows(found.files, rows)), {0, 1, 2})
    if found.library_calls:
        rows_of_libraries = _library_calls(found, rows)
        count = len(found.library_calls)
        yield from _table("I/O libraries", rows_of_libraries, {3}, count)
    if found.counters:
        yield from _table("counters beside the volumes", list(_counters(found)), {0})
    yield from _table("classes of ranks", _classes(found, rows), {1}, found.class_count)
    yield from _phases(found)
    yield from _table("loops", _loops(found, rows), {5}, found.loop_count)
    yield from _table("call signatures", _signatures(found, rows), {3}, found.signature_count)
    if found.call_paths:
        yield from _table("call paths", _call_paths(found, rows), {2}, found.call_path_count)
    if found.computed_paths:
        yield from _table(
            "computations by call path", _computed(found, rows), {2}, found.computed_path_count
        )
    if statistics:
        yield from _table("call sites", _sites(found, rows), {3, 6, 7}, found.site_count)


def _head(found: Inspection) -> Iterator[str]:
    how = "" if found.packed else ", packed to be inspected"
    yield (
        f"{found.name}: {count_of(found.ranks, 'rank')}, "
        f"{count_of(found.class_count, 'class', 'es')} of ranks, "
        f"{count_of(found.actions, 'action')}, {found.dialect} dialect; "
        f"{found.nbytes:,} bytes as .tit version 2{how}"
    )
    if found.extrapolated:
        yield found.extrapolated
    if found.precision != "exact":
        yield f"volumes are kept at the precision {found.precision}"
    if found.complete:
        yield (
            f"{count_of(found.messages, 'message')} of {format_bytes(found.bytes)} from rank to "
            f"rank, {found.flops:.6g} {found.unit}"
        )
    else:
        yield (
            "sizes and volumes that differ each time are left out below: --statistics reads them"
        )
    if found.unreadable:
        yield (
            f"{count_of(found.unreadable, 'line')} with actions that are not known here: tisim "
            "check says which are wrong"
        )


def _parts(found: Inspection) -> Iterator[Row]:
    yield ("part", "bytes", "share", "before compression")
    for part in found.sections:
        share = part.stored / max(found.nbytes, 1)
        name = part.name if part.required else f"{part.name} (optional)"
        yield (name, f"{part.stored:,}", f"{share:.1%}", f"{part.size:,}")
        if part.name == "trace":
            yield ("  grammars", "", "", f"{found.grammar_bytes:,}")
            yield ("  numbers by rank", "", "", f"{found.vector_bytes:,}")
    rest = found.nbytes - sum(part.stored for part in found.sections)
    yield ("header", f"{rest:,}", f"{rest / max(found.nbytes, 1):.1%}", f"{rest:,}")
    yield ("all", f"{found.nbytes:,}", "100.0%", "")


def _actions(found: Inspection) -> Iterator[Row]:
    yield ("action", "number", "messages", "bytes", "amount")
    for count in found.by_action:
        amount = f"{count.amount:.6g} {'s' if count.name == 'sleep' else found.unit}"
        messages = (f"{count.messages:,}", f"{count.bytes:,}") if count.messages else ("", "")
        yield (count.name, f"{count.actions:,}", *messages, amount if count.amount else "")


def _counters(found: Inspection) -> Iterator[Row]:
    yield ("counter", "computations", "sum")
    for counter in found.counters:
        values = (f"{counter.computations:,}", f"{counter.total:,}")
        yield (counter.name, *(values if counter.computations else ("", "")))


def _classes(found: Inspection, rows: int) -> list[Row]:
    return [
        ("class", "of ranks", "number", "calls of each", "different", "longest loop"),
        *(
            (
                f"{row.number}",
                ranks_text(row),
                f"{row.ranks:,}",
                f"{row.calls:,}",
                f"{row.distinct_calls:,}",
                f"{row.longest_loop:,}" if row.longest_loop else "",
            )
            for row in found.classes[:rows]
        ),
    ]


def _phases(found: Inspection) -> Iterator[str]:
    """The phases of the class with the most calls."""
    row = found.classes[0]
    phases = phases_of(row)
    lines = [
        (
            f"{phase.iterations:,}",
            f"{phase.calls:,}",
            actions_text(phase.actions) + ("" if phase.whole else ", ..."),
        )
        for phase in phases[:_PHASES]
    ]
    title = f"phases of class {row.number} (ranks {ranks_text(row)})"
    yield from _table(title, [("times", "calls", "actions"), *lines], {2}, len(phases))


def _loops(found: Inspection, rows: int) -> list[Row]:
    return [
        ("iterations", "entered", "calls of one", "ranks", "classes", "actions of one"),
        *(
            (
                f"{loop.iterations:,}",
                f"{loop.entered:,}",
                f"{loop.calls:,}",
                f"{loop.ranks:,}",
                f"{loop.classes:,}",
                actions_text(loop.actions),
            )
            for loop in found.loops[:rows]
        ),
    ]


def _signatures(found: Inspection, rows: int) -> list[Row]:
    return [
        ("calls", "ranks", "classes", "call"),
        *(
            (f"{call.calls:,}", f"{call.ranks:,}", f"{call.classes:,}", shown_call(call.text))
            for call in found.signatures[:rows]
        ),
    ]


def _call_paths(found: Inspection, rows: int) -> list[Row]:
    return [
        ("calls", "action", "called at"),
        *((f"{row.calls:,}", row.action, short_path(row.path)) for row in found.call_paths[:rows]),
    ]


def _library_calls(found: Inspection, rows: int) -> list[Row]:
    return [
        ("calls", "read", "written", "by"),
        *(
            (f"{row.calls:,}", format_bytes(row.read), format_bytes(row.written), row.function)
            for row in found.library_calls[:rows]
        ),
    ]


def _computed(found: Inspection, rows: int) -> list[Row]:
    return [
        ("samples", "share", "computed at"),
        *(
            (f"{row.samples:,}", f"{row.share:.1%}", short_path(row.path))
            for row in found.computed_paths[:rows]
        ),
    ]


def _sites(found: Inspection, rows: int) -> list[Row]:
    return [
        (
            "calls",
            "bytes",
            "of one",
            "histogram",
            f"{found.unit} before",
            "of one",
            "histogram",
            "call",
        ),
        *(
            (
                f"{site.calls:,}",
                f"{site.bytes.sum:,.0f}" if site.bytes.count else "",
                f"{site.bytes.mean:,.6g}" if site.bytes.count else "",
                histogram_text(site.bytes),
                f"{site.volumes.sum:.6g}" if site.volumes.count else "",
                f"{site.volumes.mean:.6g}" if site.volumes.count else "",
                histogram_text(site.volumes),
                shown_call(site.text) + (f" at {short_path(site.path)}" if site.path else ""),
            )
            for site in found.sites[:rows]
        ),
    ]


def _table(
    title: str, rows: Sequence[Row], left: Container[int], count: int | None = None
) -> Iterator[str]:
    """A table under its title; `count` rows are there in all."""
    yield ""
    yield f"{title}:"
    if len(rows) == 1:
        yield "  none"
        return
    for line in align(rows, left=left):
        yield f"  {line}"
    if count is not None and count > len(rows) - 1:
        yield f"  and {count - len(rows) + 1:,} more"
