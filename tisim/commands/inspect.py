"""``tisim inspect``."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

import click

from tisim.analysis.file_tables import access_pattern_rows
from tisim.commands import json_option, number_option, opened_name, write_json
from tisim.support.files import check_writable
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes, format_count
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
@number_option("--rows", default=_ROWS, text="Maximum number of rows per table.")
@json_option("everything", ", in place of the tables")
@click.argument("traces", nargs=-1, required=True)
def inspect_command(
    statistics: bool, rows: int, json_file: str | None, traces: tuple[str, ...]
) -> None:
    """Summarise an application: phases, loops, calls, classes of ranks, bytes by phase.

    Nothing is replayed: a packed trace (.tit of version 2) contains the structure of the program,
    and calls are counted by its grammar rules. Other traces are packed into a temporary file first.

    In a call, rank+1 is a peer relative to the calling rank, <by rank> a number that differs
    between ranks, and * a number that varies over time.

    For a graph of GPUs, nodes and bytes are counted.
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
    yield from _table("bytes by part", "part|bytes|share|before compression", _parts(found), {0})
    heads = "action|number|messages|bytes|amount"
    yield from _table("actions", heads, _actions(found), {0})
    if found.files:
        head, *habits = access_pattern_rows(found.files, rows)
        yield from _table("files", "|".join(head), habits, {0, 1, 2})
    if found.library_calls:
        libraries = _library_calls(found, rows)
        count = len(found.library_calls)
        yield from _table("I/O libraries", "calls|read|written|by", libraries, {3}, count)
    if found.counters:
        heads = "counter|computations|sum"
        yield from _table("additional counters", heads, _counters(found), {0})
    heads = "class|ranks|number|calls per rank|distinct|longest loop"
    yield from _table("classes of ranks", heads, _classes(found, rows), {1}, found.class_count)
    yield from _phases(found)
    heads = "iterations|entered|calls per iteration|ranks|classes|actions per iteration"
    yield from _table("loops", heads, _loops(found, rows), {5}, found.loop_count)
    heads = "calls|ranks|classes|call"
    yield from _table(
        "call signatures", heads, _signatures(found, rows), {3}, found.signature_count
    )
    if found.call_paths:
        paths = _call_paths(found, rows)
        yield from _table("call paths", "calls|action|called at", paths, {2}, found.call_path_count)
    if found.computed_paths:
        paths, count = _computed(found, rows), found.computed_path_count
        heads = "samples|share|computed at"
        yield from _table("computations by call path", heads, paths, {2}, count)
    if statistics:
        heads = f"calls|bytes|mean|histogram|{found.unit} before|mean|histogram|call"
        yield from _table("call sites", heads, _sites(found, rows), {3, 6, 7}, found.site_count)


def _head(found: Inspection) -> Iterator[str]:
    how = "" if found.packed else ", packed for inspection"
    yield (
        f"{found.name}: {format_count(found.ranks, 'rank')}, "
        f"{format_count(found.class_count, 'class', 'es')} of ranks, "
        f"{format_count(found.actions, 'action')}, {found.dialect} dialect; "
        f"{found.nbytes:,} bytes as .tit version 2{how}"
    )
    if found.extrapolated:
        yield found.extrapolated
    if found.precision != "exact":
        yield f"volumes are stored with precision {found.precision}"
    if found.complete:
        yield (
            f"{format_count(found.messages, 'message')} of {format_bytes(found.bytes)} from rank "
            f"to rank, {found.flops:.6g} {found.unit}"
        )
    else:
        yield (
            "sizes and volumes that vary over time are omitted below; --statistics includes them"
        )
    if found.unreadable:
        yield (
            f"{format_count(found.unreadable, 'line')} with unknown actions: tisim check lists them"
        )


def _parts(found: Inspection) -> Iterator[Row]:
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
    for count in found.by_action:
        amount = f"{count.amount:.6g} {'s' if count.name == 'sleep' else found.unit}"
        messages = (f"{count.messages:,}", f"{count.bytes:,}") if count.messages else ("", "")
        yield (count.name, f"{count.actions:,}", *messages, amount if count.amount else "")


def _counters(found: Inspection) -> Iterator[Row]:
    for counter in found.counters:
        values = (f"{counter.computations:,}", f"{counter.total:,}")
        yield (counter.name, *(values if counter.computations else ("", "")))


def _classes(found: Inspection, rows: int) -> Iterator[Row]:
    for row in found.classes[:rows]:
        longest = f"{row.longest_loop:,}" if row.longest_loop else ""
        counts = f"{row.ranks:,}", f"{row.calls:,}", f"{row.distinct_calls:,}"
        yield (f"{row.number}", ranks_text(row), *counts, longest)


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
    yield from _table(title, "times|calls|actions", lines, {2}, len(phases))


def _loops(found: Inspection, rows: int) -> Iterator[Row]:
    for loop in found.loops[:rows]:
        counts = loop.iterations, loop.entered, loop.calls, loop.ranks, loop.classes
        yield (*(f"{count:,}" for count in counts), actions_text(loop.actions))


def _signatures(found: Inspection, rows: int) -> Iterator[Row]:
    for call in found.signatures[:rows]:
        counts = f"{call.calls:,}", f"{call.ranks:,}", f"{call.classes:,}"
        yield (*counts, shown_call(call.text))


def _call_paths(found: Inspection, rows: int) -> Iterator[Row]:
    for row in found.call_paths[:rows]:
        yield (f"{row.calls:,}", row.action, short_path(row.path))


def _library_calls(found: Inspection, rows: int) -> Iterator[Row]:
    for row in found.library_calls[:rows]:
        yield (f"{row.calls:,}", format_bytes(row.read), format_bytes(row.written), row.function)


def _computed(found: Inspection, rows: int) -> Iterator[Row]:
    for row in found.computed_paths[:rows]:
        yield (f"{row.samples:,}", f"{row.share:.1%}", short_path(row.path))


def _sites(found: Inspection, rows: int) -> Iterator[Row]:
    for site in found.sites[:rows]:
        sent, computed = site.bytes, site.volumes
        yield (
            f"{site.calls:,}",
            f"{sent.sum:,.0f}" if sent.count else "",
            f"{sent.mean:,.6g}" if sent.count else "",
            histogram_text(sent),
            f"{computed.sum:.6g}" if computed.count else "",
            f"{computed.mean:.6g}" if computed.count else "",
            histogram_text(computed),
            shown_call(site.text) + (f" at {short_path(site.path)}" if site.path else ""),
        )


def _table(
    title: str,
    heads: str,
    rows: Iterable[Sequence[str]],
    left: Container[int],
    count: int | None = None,
) -> Iterator[str]:
    """A table under its title, with heads between bars; `count` rows are there in all."""
    shown = list(rows)
    yield ""
    yield f"{title}:"
    if not shown:
        yield "  none"
        return
    for line in align([heads.split("|"), *shown], left=left):
        yield f"  {line}"
    if count is not None and count > len(shown):
        yield f"  and {count - len(shown):,} more"
