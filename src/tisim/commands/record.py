"""``tisim record``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands.written import report_written
from tisim.errors import InputError
from tisim.quantities import format_bytes, format_seconds, parse_size

if TYPE_CHECKING:
    from tisim.record.notes import Uncounted
    from tisim.record.parts import Recording

# Shares of the time between calls: what is not counted without a word, and which libraries are
# named.
_MOST_UNCOUNTED = 0.05
_LEAST_NAMED = 0.01


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  tisim record -o lu.tit -- mpirun -n 8 ./lu.A.x
  tisim record -o lu.tit --counter time --speed 2.5e9 -- mpirun -n 8 ./lu.A.x
  tisim record -o run.tit --mpicc mpicc.mpich -- mpiexec.mpich -n 4 ./program
  tisim record -o run.tit --call-sites -- mpirun -n 4 ./program   # compiled with -g
  tisim record --print-source recorder/      # for machines without Python
  tisim record -o run.tit --ranks 0-3 --max-size 100MB -- mpirun -n 64 ./program
""",
)
@click.option("-o", "--output", metavar="FILE.tit", help="The trace to write.")
@click.option(
    "--counter",
    type=click.Choice(["auto", "perf", "register", "qemu", "time"]),
    default="auto",
    show_default=True,
    help="What measures computations: the processor's count of instructions (perf), the program's "
    "own (register; tisim cc), that of QEMU, or processor time.",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    default=1e9,
    show_default=True,
    metavar="UNITS",
    help="Of the counter time: a second of processor time is so many units of computation.",
)
@click.option(
    "--tests",
    type=click.Choice(["successful", "all"]),
    default="successful",
    show_default=True,
    help="Which calls of MPI_Test and MPI_Iprobe to record; how many fail depends on the machine.",
)
@click.option(
    "--call-sites",
    is_flag=True,
    help="Record the call path of each call; tisim check, inspect and the report name its "
    "functions and lines.",
)
@click.option(
    "--times",
    is_flag=True,
    help="Record how long each call took; a replay does not use it.",
)
@click.option(
    "--timeline",
    metavar="FILE",
    help="With --times: write when each call began and ended, as .csv or .parquet.",
)
@click.option(
    "--ranks",
    metavar="LIST",
    help="The ranks to record, such as 0-3,7.  [default: all]",
)
@click.option(
    "--memory",
    metavar="BYTES",
    help="What recording may take of each rank's memory, such as 8MiB; at most 64MiB.  "
    "[default: 1MiB]",
)
@click.option(
    "--max-size",
    metavar="BYTES",
    help="Stop recording a rank whose part of the trace has its share of so many bytes.",
)
@click.option(
    "--mpicc",
    metavar="COMPILER",
    help="The compiler of the program's MPI library.  [default: $MPICC or mpicc]",
)
@click.option(
    "--print-source",
    metavar="DIR",
    help="Write the recorder's source in C, with how to compile it, and record nothing.",
)
@click.option(
    "--pack",
    "parts",
    metavar="DIR",
    help="Record nothing, but write the trace of the parts that ranks have left in a directory: "
    "those of a recorder without Python, or of a recording that was interrupted.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record_command(
    output: str | None,
    counter: str,
    speed: float,
    tests: str,
    call_sites: bool,
    times: bool,
    timeline: str | None,
    ranks: str | None,
    memory: str | None,
    max_size: str | None,
    mpicc: str | None,
    print_source: str | None,
    parts: str | None,
    command: tuple[str, ...],
) -> int:
    """Run an MPI program and record its time-independent trace.

    COMMAND starts the program as usual. It is not compiled again: a library between the program
    and MPI writes down each call, and how much the rank has computed since the one before.

    The exit status is the program's.
    """
    if print_source is not None:
        from tisim.record.compiler import write_source

        write_source(Path(print_source))
        report_written(print_source)
        return 0
    if output is None:
        raise InputError("-o FILE.tit is missing: where the trace goes")
    if parts is not None:
        report_recording(output, packed_parts(parts, output), "")
        return 0
    from tisim.record.limits import Limits
    from tisim.record.recorder import record

    recorded = record(
        command,
        output,
        counter=counter,
        reference_speed=speed,
        failed_tests=tests == "all",
        call_sites=call_sites,
        times=times,
        timeline=timeline,
        limits=Limits(ranks, _bytes(memory), _bytes(max_size)),
        compiler=mpicc,
    )
    report_recording(output, recorded.recording, recorded.reason)
    if recorded.timeline is not None:
        error = recorded.timeline.clock_error
        click.echo(
            f"{recorded.timeline.path}: {recorded.timeline.calls:,} calls; the clocks of the hosts "
            f"differ by at most {format_seconds(error)}",
            err=True,
        )
        report_written(recorded.timeline.path)
    _report_uncounted(recorded.uncounted)
    return recorded.status


def _report_uncounted(uncounted: Uncounted) -> None:
    """Warn of code that does not count itself, where the program spends time in it."""
    if uncounted.share <= _MOST_UNCOUNTED:
        return
    where = ", ".join(
        f"{name} ({share:.0%})"
        for name, share in uncounted.libraries.items()
        if share >= _LEAST_NAMED
    )
    click.echo(
        f"warning: {uncounted.share:.0%} of the computation is in code that tisim cc has not "
        f"compiled, which is not counted: {where}; --counter perf, qemu or time counts it too",
        err=True,
    )


def packed_parts(parts: str, output: str) -> Recording:
    """Pack the parts in a directory, which must have some."""
    from tisim.record.parts import pack_parts

    if not Path(parts).is_dir():
        raise InputError("there is no such directory", file=parts)
    recording = pack_parts(parts, output)
    if recording is None:
        raise InputError("the directory holds no parts of a trace (rank-0.part ...)", file=parts)
    return recording


def _bytes(text: str | None) -> int | None:
    return None if text is None else round(parse_size(text))


def report_recording(output: str, recording: Recording, reason: str) -> None:
    """Say on standard error what was recorded, and what was not."""
    size = format_bytes(Path(output).stat().st_size)
    why = f" ({reason})" if reason else ""
    click.echo(f"{output}: {recording.ranks:,} ranks, {size}", err=True)
    click.echo(f"counter: {recording.counter}{why}", err=True)
    for name, calls in recording.unsupported.most_common():
        click.echo(f"warning: {calls:,} calls of {name} are not in the trace", err=True)
    if recording.accelerators:
        click.echo(
            f"warning: a rank has waited for an accelerator for up to {recording.accelerators} % "
            "of its time (calls of CUDA or HIP), which no counter counts",
            err=True,
        )
    if recording.incomplete:
        ranks = ", ".join(map(str, recording.incomplete))
        click.echo(
            f"warning: the trace is incomplete: no MPI_Finalize of rank {ranks}; it ends with what "
            "they had written",
            err=True,
        )
    report_written(output)
