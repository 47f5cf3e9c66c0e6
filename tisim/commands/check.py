"""``tisim check``."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from tisim.commands import json_option, opened_name, print_table, write_json
from tisim.support.files import check_writable
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes, format_count
from tisim.support.reading import graph_kind
from tisim.traces import CheckReport, Finding, Trace, check
from tisim.traces.dialects import DIALECTS
from tisim.traces.volumes import unit_of


@click.command(
    "check",
    epilog="""\b
Examples:
  tisim check traces/lu.A.8.tar.xz
  tisim check lu.tit && tisim replay --platform p.xml lu.tit
  tisim check --action checkpoint traces/
  tisim check --json - traces/ | jq .findings
""",
)
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="auto",
    show_default=True,
    help="Dialect of the trace lines.",
)
@click.option(
    "--action",
    "actions",
    metavar="NAME",
    multiple=True,
    help="Name of a custom action that the trace may contain. Repeatable.",
)
@click.option(
    "--ignore-unsupported",
    is_flag=True,
    help="Skip the calls of a recorded trace that tisim does not support.",
)
@click.option(
    "--graph",
    "graph_file",
    metavar="FILE",
    help="GPU graph file whose blocks the ranks launch, to check with the trace. Default: the "
    "graph packed with the trace.",
)
@json_option("the report")
@click.argument("traces", nargs=-1, required=True)
def check_command(
    dialect: str,
    actions: tuple[str, ...],
    ignore_unsupported: bool,
    graph_file: str | None,
    json_file: str | None,
    traces: tuple[str, ...],
) -> int:
    """Check a trace for errors and count its actions.

    Sends must match receives, collectives must come in the same order on all ranks, and
    requests must be completed. Errors are printed with file and line. Nothing is simulated.

    The exit status is 0 if there are no errors (there may be warnings), 1 if there are, and 2
    if there is no trace to check.

    GOAL schedules and graph files of GPUs are checked too, for syntax, circular dependencies and
    collectives that do not match.
    """
    if json_file not in (None, "-"):
        check_writable(json_file)
    if len(traces) == 1 and graph_kind(traces[0]):
        from tisim.commands.graphs import check_graph

        return 0 if check_graph(traces[0], json_file) else 1
    with ProgressBar("open") as bar:
        trace = Trace.open(opened_name(traces), dialect=dialect, progress=bar.show)
    if ignore_unsupported:
        actions = (*actions, "unsupported")
    with ProgressBar("check") as bar:
        report = check(trace, custom_actions=actions, progress=bar.show)
    if graph_file is None and trace.has_graph:
        graph_file = traces[0]
    if graph_file is not None and report.sound:
        from tisim.commands.graphs import check_launched

        if wrong := check_launched(trace, graph_file):
            report = replace(
                report,
                errors=report.errors + 1,
                findings=(*report.findings, Finding("error", 0, graph_file, None, wrong)),
            )
    if not write_json({**asdict(report), "sound": report.sound}, json_file):
        _print(report, unit_of(trace.name, trace.files[0]))
    return 0 if report.sound else 1


def _print(report: CheckReport, unit: str) -> None:
    for finding in report.findings:
        click.echo(str(finding))
    shown = sum(finding.severity != "note" for finding in report.findings)
    more = report.errors + report.warnings - shown
    if more > 0:
        click.echo(f"and {more:,} more")
    click.echo(
        f"{report.name}: {'sound' if report.sound else 'not sound'}: "
        f"{format_count(report.errors, 'error')}, {format_count(report.warnings, 'warning')}"
    )
    click.echo(
        f"{format_count(report.ranks, 'rank')}, {report.dialect} dialect, "
        f"{format_count(report.actions, 'action')}, {format_count(report.messages, 'message')} of "
        f"{format_bytes(report.bytes)} from rank to rank, {report.flops:.6g} {unit}"
    )
    if report.extrapolated:
        click.echo(report.extrapolated)
    if report.counters:
        click.echo(f"additional counters: {', '.join(report.counters)}")
    rows: list[tuple[str, ...]] = [("action", "number", "messages", "bytes", "amount")]
    for count in report.counts:
        amount = f"{count.amount:.6g} {'s' if count.name == 'sleep' else unit}"
        messages = (f"{count.messages:,}", f"{count.bytes:,}") if count.messages else ("", "")
        rows.append((count.name, f"{count.actions:,}", *messages, amount if count.amount else ""))
    click.echo()
    print_table(rows)
