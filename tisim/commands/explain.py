"""``tisim explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tisim.commands import (
    digits_option,
    json_option,
    named_hosts,
    parameter_option,
    print_table,
    write_json,
)
from tisim.config import Config
from tisim.platform import Platform
from tisim.simulation.replay import replay, resolve_deployment
from tisim.support.quantities import format_result_time, format_seconds
from tisim.traces import Trace

if TYPE_CHECKING:
    from tisim.studies.validation.explanation import Explanation

# Parts printed, and the minimum fraction of the time that a part takes or differs by.
_ROWS = 12
_LEAST = 1e-3


@click.command(
    "explain",
    epilog="""\b
Examples:
  tisim record -o lu.tit --times --timeline lu.tir -- mpirun -n 4 ./lu.A.x
  tisim explain --platform here.xml lu.tit lu.tir
  tisim explain --platform here.xml lu.tit lu.tir --json - | jq '.parts[0]'
""",
)
@parameter_option(replay, "platform", "--platform", "platform_file", metavar="FILE")
@parameter_option(replay, "deployment", "--deployment", "deployment_file", metavar="FILE")
@parameter_option(replay, "hosts", "--hosts", metavar="FILE|A,B,...")
@parameter_option(
    replay, "config", "--config", "--cfg", "items", metavar="KEY=VALUE", multiple=True
)
@parameter_option(replay, "speed", "--speed", metavar="CHANGE")
@json_option("the explanation")
@digits_option
@click.argument("trace")
@click.argument("run")
def explain_command(
    platform_file: str,
    deployment_file: str | None,
    hosts: str | None,
    items: tuple[str, ...],
    speed: str | None,
    json_file: str | None,
    trace: str,
    run: str,
) -> None:
    """Explain the difference between a real run and its prediction.

    TRACE is the trace of the program, RUN a run file (.tir) of a real run, as written by 'tisim
    record --times --timeline' and 'tisim execute --timeline'. Computation, each kind of call and
    effects that a prediction does not model are listed by their share of the difference.
    """
    from tisim.studies.validation.explanation import explain_run

    platform = Platform.load(platform_file).scaled(speed=speed)
    opened = Trace.open(trace)
    chosen = None if hosts is None else named_hosts(hosts)
    result = replay(
        opened,
        platform=platform,
        deployment=resolve_deployment(platform, opened.ranks, deployment_file, chosen, None),
        config=Config.from_items(items),
        event_log=True,
    )
    for warning in result.warnings:
        click.echo(f"tisim: warning: {warning}", err=True)
    found = explain_run(opened, run, result)
    if not write_json(found.to_dict(), json_file):
        _print(found)


def _print(found: Explanation) -> None:
    error = f" ({found.predicted / found.real - 1:+.1%})" if found.real > 0 else ""
    click.echo(
        f"real {format_seconds(found.real)}, predicted {format_seconds(found.predicted)}{error}\n"
    )
    least = _LEAST * found.whole.real
    shown = [part for part in found.parts if max(abs(part.difference), part.real) > least][:_ROWS]
    rows = [("mean over ranks", "real", "predicted", "difference", "share")]
    rows += [
        (
            part.name,
            format_seconds(part.real),
            format_seconds(part.predicted),
            format_result_time(part.difference, signed=True),
            f"{found.share(part):+.0%}",
        )
        for part in (*shown, found.whole)
    ]
    print_table(rows)
    if not found.knows_processor_time:
        click.echo(
            "\n"
            "computing is all time between calls: the trace lacks the CPU time of ranks (tisim "
            "record --counter time, or ...,time)"
        )
