"""``tisim import``."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from tisim.commands import report_written, trace_option
from tisim.errors import InputError
from tisim.support.files import check_writable
from tisim.support.progress import ProgressBar
from tisim.traces import Trace
from tisim.traces.importers.conversion import convert, formats

_SHOWN_NOTES = 20


@click.command(
    "import",
    epilog="""\b
Examples:
  tisim import --speed 2.4Gf scorep-run/traces.otf2 -o lu.tit
  tisim import --counter PAPI_TOT_INS scorep-run/traces.otf2 -o lu.tit
  tisim import --speed 2.4Gf dumpi-2026.11.22.meta -o lu.tit
  tisim import --speed 2.4Gf pmpi-trace-rank-0.txt -o sweep3d.tit
  tisim import --speed 2.4Gf run.prv -o lu.tit --timeline lu-measured.csv
  tisim import --speed 2.4Gf run.prv -o lu.tit --timeline lu-measured.tir   # tisim view
  tisim import --speed 2.4Gf pilgrim-logs -o lu.tit
  tisim import scalatrace/0 -o lu.tit
  tisim import --speed 1Gf schedule.goal -o bcast.tit
  tisim import --speed 1Gf calls.csv --column rank=process --column bytes=size -o lu.tit
""",
)
@trace_option("FILE.tit|DIR", "Trace to write.")
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help=f"Format of the files ({', '.join(formats())}); detected by default.",
)
@click.option(
    "--speed",
    metavar="SPEED",
    help="Flop/s (or instructions per second) of the recorded machine, such as 2.4Gf; "
    "converts seconds of computation into volumes.",
)
@click.option(
    "--counter",
    metavar="NAME",
    help="Hardware counter in the trace to take volumes from, such as PAPI_TOT_INS.",
)
@click.option(
    "--column",
    "columns",
    metavar="QUANTITY=COLUMN",
    multiple=True,
    help="For tables: the column of a quantity, if it has another name. Repeatable.",
)
@click.option(
    "--timeline",
    metavar="FILE.csv|.parquet|.tir",
    help="Also write a timeline of the calls, for formats with times: a table of rank, kind, "
    "start, end and line, or a run file for tisim view.",
)
@click.argument("files", nargs=-1, required=True)
def import_command(
    output: str,
    format_name: str | None,
    speed: str | None,
    counter: str | None,
    columns: tuple[str, ...],
    timeline: str | None,
    files: tuple[str, ...],
) -> None:
    """Convert another tool's trace for replay.

    FILES depends on the format: the anchor file of OTF2 (Score-P, EZTrace, TAU), the .meta file
    of DUMPI, Paraver's .prv (Extrae), Dimemas's .dim, ScalaTrace's single file, Pilgrim's
    directory, rank 0's file of liballprof, the directory of TAU's .trc and .edf files, a GOAL
    schedule, the output of darshan-dxt-parser, Recorder's directory with the output of
    recorder2text, or a table of calls as CSV or Parquet. Everything that had to be guessed or
    left out is listed.
    """
    if Path(output).suffix == ".tit":
        check_writable(output)
    if timeline is not None:
        check_writable(timeline)
    with ProgressBar("import") as bar, _table_of_calls(timeline, output) as table:
        made = convert(
            files,
            output,
            format=format_name,
            speed=speed,
            counter=counter,
            columns=dict(map(_pair, columns)),
            timeline=table,
            progress=bar.show,
        )
    for note in made.notes[:_SHOWN_NOTES]:
        click.echo(f"tisim: note: {note}", err=True)
    if len(made.notes) > _SHOWN_NOTES:
        click.echo(f"tisim: note: {len(made.notes) - _SHOWN_NOTES} more kinds", err=True)
    click.echo(f"{output}: {made.ranks:,} ranks, {made.lines:,} lines from {made.format}")
    report_written(output)
    if timeline is not None:
        report_written(timeline)


@contextlib.contextmanager
def _table_of_calls(timeline: str | None, output: str) -> Iterator[str | None]:
    """The table that an import writes: `timeline`, or what a run file is then made of."""
    from tisim.analysis.measured import is_run_file, read_calls, write_measured_run

    if timeline is None or not is_run_file(timeline):
        yield timeline
        return
    with tempfile.TemporaryDirectory(prefix="tisim-") as folder:
        table = Path(folder) / "calls.csv"
        yield str(table)
        trace = Trace.open(output)
        write_measured_run(trace, read_calls(table, trace.ranks), timeline)


def _pair(text: str) -> tuple[str, str]:
    quantity, equals, column = text.partition("=")
    if not equals or not quantity or not column:
        raise InputError(f"--column must be QUANTITY=COLUMN, such as rank=process, not {text!r}")
    return quantity, column
