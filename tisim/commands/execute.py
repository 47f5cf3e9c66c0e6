"""``tisim execute``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tisim.commands import (
    compiler_option,
    json_option,
    number_option,
    print_table,
    refuse_option,
    report_written,
    units_option,
    write_json,
)
from tisim.errors import InputError
from tisim.support.files import check_writable

if TYPE_CHECKING:
    from tisim.studies.execute import Execution


@click.command(
    "execute",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True},
    epilog="""\b
Examples:
  tisim execute lu.tit -- mpirun --host node1:4,node2:4
  tisim execute traces/ring.4 --repeat 20 --compute none -- mpirun --oversubscribe
  tisim execute lu.tit --speed 2.5e9 --json lu.json --timeline lu.csv -- mpirun
  tisim execute lu.tit --timeline real.tir -- mpirun && tisim view real.tir
  tisim execute io.tit --scratch /scratch/me -- mpirun
  tisim execute lu.tit --print-source executor/     # for machines without Python
""",
)
@click.option(
    "--np",
    "ranks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of ranks that the trace must have.  [default: any]",
)
@number_option("--repeat", default=5, text="Number of timed executions.")
@number_option("--warm-up", default=1, least=0, text="Number of executions before the timed ones.")
@click.option(
    "--compute",
    type=click.Choice(["sleep", "spin", "instructions", "none"]),
    default="sleep",
    show_default=True,
    help="How to carry out computations: sleep or spin for the volume divided by --speed, "
    "execute that many instructions, or skip them.",
)
@units_option("Units of computation per second, such as 2.5Gf.")
@json_option("all results")
@click.option(
    "--timeline",
    metavar="FILE.csv|.tir",
    help="Write a timeline of the last execution: a table of calls (.csv) or a run file for tisim "
    "view (.tir).",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit for the start and for each execution.  [default: 300, plus twice the "
    "computation time of a rank]",
)
@click.option(
    "--directory",
    default=".",
    metavar="DIR",
    help="Directory for temporary scripts and results; must be shared by all hosts.  "
    "[default: the working directory]",
)
@click.option(
    "--scratch",
    metavar="DIR",
    help="Perform file accesses, in a new subdirectory of DIR that contains all files of the "
    "trace, including those with absolute names. Files that are only read are created first.",
)
@compiler_option("Compiler wrapper of the MPI library")
@click.option(
    "--print-source",
    metavar="DIR",
    help="Write the executor's C source and the scripts of the trace, with instructions to "
    "build and start it, and execute nothing.",
)
@click.argument("trace", required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def execute_command(
    ranks: int | None,
    compute: str,
    speed: float,
    json_file: str | None,
    timeline: str | None,
    scratch: str | None,
    mpicc: str | None,
    print_source: str | None,
    trace: str | None,
    command: tuple[str, ...],
    **options: object,
) -> int:
    """Execute a trace with the calls of a real MPI library and time it.

    COMMAND, after --, launches the ranks, such as mpirun with its options. The number of ranks
    and the program, which is compiled on first use, are appended. All ranks start together.
    """
    from tisim.traces import Trace

    refuse_option(trace or "")
    opened = None if trace is None else Trace.open(trace, ranks=ranks)
    if print_source is not None:
        from tisim.studies.execute.execution import print_source as print_all

        print_all(Path(print_source), opened, files=scratch is not None)
        report_written(print_source)
        return 0
    if opened is None:
        raise InputError("TRACE is missing: the trace to execute")
    if timeline is not None and Path(timeline).suffix not in (".csv", ".tir"):
        raise InputError(
            "the suffix of an execution's timeline must be .csv or .tir", file=timeline
        )
    for file in (json_file, timeline):
        if file not in (None, "-"):
            check_writable(file)
    from tisim.studies.execute import execute
    from tisim.support.progress import ProgressBar
    from tisim.traces.volumes import unit_of

    given = click.get_current_context().get_parameter_source("speed")
    is_timed = compute in ("sleep", "spin") and given is ParameterSource.DEFAULT
    if is_timed and unit_of(opened.name, opened.files[0]) == "instructions":
        click.echo(
            f"tisim: warning: the trace counts instructions, and {speed:g} per second are assumed; "
            "give the speed of this machine with --speed ('tisim calibrate cpu' measures it)",
            err=True,
        )

    with ProgressBar("execute") as bar:
        done = execute(
            opened,
            command,
            compute=compute,
            speed=speed,
            timeline=timeline,
            scratch=scratch,
            compiler=mpicc,
            progress=lambda ended, steps: bar.show(ended / steps),
            **options,  # type: ignore[arg-type]
        )
    if timeline is not None:
        report_written(timeline)
        click.echo(f"tisim: the clocks of the ranks agree to {done.clock_error:.3g} s", err=True)
    if not write_json(done.to_dict(), json_file):
        _print(done)
    return 0


def _print(done: Execution) -> None:
    """Print a line a repetition, and what they have in common."""
    from tisim.support.quantities import format_time
    from tisim.support.tables import time_column

    columns = [
        time_column("first rank ends", [min(run.ends) for run in done.repetitions]),
        time_column("last rank ends", [*done.times]),
        time_column("late start", [run.late for run in done.repetitions]),
    ]
    numbers = ["repetition", *(str(number) for number in range(1, len(done.times) + 1))]
    rows = [*zip(numbers, *columns, strict=True)]
    print_table(rows, left=0)
    spread = (max(done.times) - min(done.times)) / done.median if done.median > 0 else 0.0
    click.echo(
        f"\n{len(done.repetitions[0].ends):,} ranks on {done.mpi}: median "
        f"{format_time(done.median)}, from {format_time(min(done.times))} to "
        f"{format_time(max(done.times))} ({spread:.1%} of the median)"
    )
