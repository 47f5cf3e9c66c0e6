"""``tisim record``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands import (
    compiler_option,
    number_option,
    refuse_option,
    report_written,
    trace_option,
    units_option,
)
from tisim.errors import InputError
from tisim.support.quantities import format_bytes, format_seconds, parse_size

if TYPE_CHECKING:
    from tisim.traces.record.notes import Uncounted
    from tisim.traces.record.parts import Recording
    from tisim.traces.record.recorder import Recorded
    from tisim.traces.record.repetitions import Repeated
    from tisim.traces.record.settings import Io, Settings
    from tisim.traces.samples import Samples
    from tisim.traces.spread import Spread


def _is_all(_ctx: click.Context, _parameter: click.Parameter, text: str) -> bool:
    return text == "all"


def _bytes(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    return None if text is None else round(parse_size(text))


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""\b
Examples:
  tisim record -o lu.tit -- mpirun -n 8 ./lu.A.x
  tisim record -o lu.tit --counter time --speed 2.5e9 -- mpirun -n 8 ./lu.A.x
  tisim record -o lu.tit --counter register,time,cache-misses -- mpirun -n 8 ./lu.A.x
  tisim record -o lu.tit --repeat 5 -- mpirun -n 8 ./lu.A.x       # how much do volumes differ?
  tisim record -o run.tit --mpicc mpicc.mpich -- mpiexec.mpich -n 4 ./program
  tisim record -o run.tit --call-sites -- mpirun -n 4 ./program   # compiled with -g
  tisim record -o run.tit --times --timeline run.tir -- mpirun -n 4 ./program   # tisim view run.tir
  tisim record -o run.tit --io both -- mpirun -n 4 ./program      # its files too
  tisim record -o run.tit --sample -- mpirun -n 4 ./program       # compiled with -g
  tisim record --print-source recorder/      # for machines without Python
  tisim record -o run.tit --ranks 0-3 --max-size 100MB -- mpirun -n 64 ./program
""",
)
@trace_option("FILE.tit", "Trace to write.", required=False)
@click.option(
    "--counter",
    metavar="NAME[,NAME...]",
    default="auto",
    show_default=True,
    help="How to measure computations: hardware instruction counter (perf), counts compiled into "
    "the program (register; see tisim cc), instructions executed by QEMU (qemu), CPU time "
    "(time), CPU time with cold caches (cold; see tisim calibrate regions), or wall-clock "
    "time between calls, including waits for a CPU, page faults and files (elapsed). Further "
    "counters become attributes of computations: time, cycles, cache-misses, flops and "
    "others.",
)
@units_option("Units of computation per second, for the counters 'time', 'elapsed' and 'cold'.")
@click.option(
    "--with-init",
    is_flag=True,
    help="Add the time of MPI_Init to the first computation of each rank, for the counters 'time', "
    "'elapsed' and 'cold'.",
)
@click.option(
    "--tests",
    "failed_tests",
    type=click.Choice(["successful", "all"]),
    default="successful",
    show_default=True,
    callback=_is_all,
    help="Calls of MPI_Test and MPI_Iprobe to record; the number of failed ones depends on "
    "the machine.",
)
@number_option(
    "--longest-poll",
    default=1000,
    least=0,
    text="Maximum volume, in units of the counter, between two failed tests of the same requests "
    "that counts as polling instead of computation; 0: none.",
)
@click.option(
    "--spawn",
    "spawned",
    is_flag=True,
    help="Also record spawned processes, as additional ranks.",
)
@click.option(
    "--io",
    type=click.Choice(["none", "mpi", "posix", "both"]),
    default="none",
    show_default=True,
    help="File accesses to record: MPI-IO calls (mpi); POSIX calls, including those made by MPI-IO "
    "and standard I/O (posix); or both: a replay then uses the MPI-IO calls or, with "
    "--io-layer posix, the underlying POSIX calls.",
)
@click.option(
    "--call-sites",
    is_flag=True,
    help="Record the call path of each call, so that tisim check, inspect and the report can "
    "name functions and lines.",
)
@click.option(
    "--arguments",
    type=click.Choice(["replayed", "all"]),
    default="replayed",
    show_default=True,
    callback=_is_all,
    help="Call arguments to keep: those needed for replay, or all, including buffers, derived "
    "types, statuses, hints and topologies, for tisim unpack --calls.",
)
@click.option(
    "--sample",
    is_flag=True,
    help="Sample the program's computations, so that tisim inspect and the report can name "
    "their functions and lines.",
)
@click.option(
    "--times",
    is_flag=True,
    help="Record the duration of each call; replays do not use it.",
)
@click.option(
    "--timeline",
    metavar="FILE",
    help="Write a timeline of all calls, as .csv, .parquet or .tir (for tisim view); needs "
    "--times.",
)
@number_option(
    "--repeat",
    default=1,
    text="Run the program N times and report how much volumes and other counts vary. The "
    "trace is that of the run with the median total volume.",
)
@click.option(
    "--ranks",
    metavar="LIST",
    help="Ranks to record, such as 0-3,7.  [default: all]",
)
@click.option(
    "--memory",
    metavar="BYTES",
    callback=_bytes,
    help="Memory for recording on each rank, such as 8MiB; at most 64MiB.  [default: 1MiB]",
)
@click.option(
    "--max-size",
    metavar="BYTES",
    callback=_bytes,
    help="Maximum size of the trace; a rank stops recording when its share is full.",
)
@click.option(
    "--gather",
    metavar="DIR",
    help="Directory on each host, such as /tmp, where its ranks record before they send the data "
    "to rank 0, which must run on this host. By default, all hosts must share the directory "
    "of FILE.tit.",
)
@compiler_option("Compiler wrapper of the program's MPI library")
@click.option(
    "--print-source",
    metavar="DIR",
    help="Write the recorder's C source with build instructions, and record nothing.",
)
@click.option(
    "--pack",
    "parts",
    metavar="DIR",
    help="Do not record; build the trace from the parts that ranks left in DIR after a recording "
    "without Python or an interrupted recording.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def record_command(
    output: str | None,
    speed: float,
    io: Io,
    arguments: bool,
    repeat: int,
    mpicc: str | None,
    print_source: str | None,
    parts: str | None,
    command: tuple[str, ...],
    **settings: object,
) -> int:
    """Run an MPI program and record its time-independent trace.

    COMMAND starts the program as usual; it need not be recompiled. A library between the
    program and MPI records each call, and the amount of computation since the previous one.

    The exit status is that of the program.
    """
    refuse_option(command[0] if command else "")
    if print_source is not None:
        from tisim.traces.record.source import Variant, write_source

        write_source(Path(print_source), Variant.of(io, arguments=arguments))
        report_written(print_source)
        return 0
    if output is None:
        raise InputError("-o FILE.tit is missing: the trace to write")
    if parts is not None:
        report_recording(output, packed_parts(parts, output), "")
        return 0
    from tisim.traces.record.settings import Settings

    chosen = Settings(
        reference_speed=speed,
        io=io,
        arguments=arguments,
        **settings,  # type: ignore[arg-type]
    )
    return _record(command, output, chosen, repeat, mpicc)


def _record(
    command: tuple[str, ...], output: str, settings: Settings, repeat: int, mpicc: str | None
) -> int:
    """Record the program, once or several times, and say what came of it."""
    if repeat == 1:
        from tisim.traces.record.recorder import record

        recorded = record(command, output, settings, compiler=mpicc)
        report_run(recorded)
        return recorded.status
    from tisim.traces.record.repetitions import record_repeatedly

    repeated = record_repeatedly(command, output, settings, times=repeat, compiler=mpicc)
    report_run(repeated.kept)
    report_spread(repeated)
    return repeated.kept.status


def packed_parts(parts: str, output: str) -> Recording:
    """Pack the parts in a directory, which must have some."""
    from tisim.traces.record.parts import pack_parts

    if not Path(parts).is_dir():
        raise InputError("no such directory", file=parts)
    recording = pack_parts(parts, output)
    if recording is None:
        raise InputError("the directory contains no parts of a trace (rank-0.part ...)", file=parts)
    return recording


# The summary of a recording on standard error.

# Shares of the time between calls: what is not counted without a word, and which libraries are
# named.
_MOST_UNCOUNTED = 0.05
_LEAST_NAMED = 0.01


def report_run(recorded: Recorded) -> None:
    """Say what was recorded of a program's run."""
    report_recording(str(recorded.output), recorded.recording, recorded.reason)
    if recorded.unseen:
        click.echo(
            f"warning: the program calls {', '.join(recorded.unseen)} directly; such calls bypass "
            "the recorder and are not in the trace",
            err=True,
        )
    if recorded.timeline is not None:
        error = recorded.timeline.clock_error
        click.echo(
            f"{recorded.timeline.path}: {recorded.timeline.calls:,} calls; the clocks of the hosts "
            f"differ by at most {format_seconds(error)}",
            err=True,
        )
        report_written(recorded.timeline.path)
    notes = recorded.notes
    if notes.polls:
        click.echo(
            f"polling: {notes.polls:,} rounds of failed tests and {notes.polled:,} units between "
            "them count as waiting and are in no volume",
            err=True,
        )
    empty_counts = ", ".join(f"{name} {count:,.0f}" for name, count in notes.empty.items() if count)
    if empty_counts:
        click.echo(
            f"subtracted from each computation as the cost of reading the counters: {empty_counts}",
            err=True,
        )
    outside = [f"MPI_Init {format_seconds(notes.init)}"] if notes.init else []
    if not recorded.recording.counter.startswith("elapsed"):
        outside += [
            f"waiting for a CPU {format_seconds(notes.waited)}, including in calls",
            f"{notes.faults:,.0f} page faults",
        ]
    if notes.memory:
        click.echo(
            f"memory: {format_bytes(notes.memory)} per rank, in addition to that of MPI_Init",
            err=True,
        )
    if notes.faults and outside:
        click.echo(f"not in the trace, mean over ranks: {'; '.join(outside)}", err=True)
    _report_uncounted(notes.uncounted)


def report_spread(repeated: Repeated) -> None:
    """Say how much the counts of a program that was recorded several times differ."""
    if not repeated.spreads:
        click.echo(
            f"warning: run {repeated.number} failed, so there were no further runs; the trace is "
            "that of the failed run",
            err=True,
        )
        return
    volumes, *beside = repeated.spreads
    counter = repeated.kept.recording.counter.partition(",")[0]
    _report_counter(f"volumes ({counter})", repeated.runs, volumes)
    for spread in beside:
        _report_counter(spread.counter, repeated.runs, spread)
    if volumes.computation_deviation is None:
        click.echo("the runs have different numbers of calls", err=True)
    if not volumes.has_equal_counts:
        click.echo(
            f"the trace is that of run {repeated.number}, which has the median total volume",
            err=True,
        )


def _report_counter(name: str, runs: int, spread: Spread) -> None:
    if spread.has_equal_counts:
        click.echo(f"{name}: the same in all {runs} runs", err=True)
        return
    one = spread.computation_deviation
    computation = "" if one is None else f"; that of one computation {one:.1%}"
    click.echo(
        f"{name}: over {runs} runs, the deviation of their sum is {spread.deviation:.1%} (largest "
        f"by least {spread.max_min_ratio:.2f}){computation}",
        err=True,
    )


def report_recording(output: str, recording: Recording, reason: str) -> None:
    """Say on standard error what was recorded, and what was not."""
    size = format_bytes(Path(output).stat().st_size)
    why = f" ({reason})" if reason else ""
    click.echo(f"{output}: {recording.ranks:,} ranks, {size}", err=True)
    click.echo(f"counter: {recording.counter}{why}", err=True)
    if recording.further_counters:
        click.echo(f"further counters: {recording.further_counters}", err=True)
    if recording.samples is not None:
        _report_samples(recording.samples)
    for name, calls in recording.unsupported.most_common():
        click.echo(f"warning: {calls:,} calls to {name} are not in the trace", err=True)
    if recording.accelerators:
        click.echo(
            "warning: ranks waited for an accelerator (in CUDA or HIP calls) for up to "
            f"{recording.accelerators} % of their time, which no counter measures",
            err=True,
        )
    if recording.incomplete:
        ranks = ", ".join(map(str, recording.incomplete))
        click.echo(
            f"warning: the trace is incomplete: rank {ranks} did not reach MPI_Finalize; it "
            "contains what they had written",
            err=True,
        )
    report_written(output)


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
        f"warning: {uncounted.share:.0%} of the computation is in code that was not compiled by "
        f"tisim cc and is not counted: {where}; --counter perf, qemu or time includes it",
        err=True,
    )


def _report_samples(samples: Samples) -> None:
    taken = sum(rank.signals - rank.in_calls for rank in samples.ranks.values())
    lost = sum(rank.lost for rank in samples.ranks.values())
    without = f", {lost:,} of them lost for lack of space" if lost else ""
    unordered = sum(rank.unordered for rank in samples.ranks.values())
    if unordered:
        without += f", {unordered:,} of them of unknown order in time"
    click.echo(
        f"computations: {taken:,} samples{without}; {samples.rate:.0f} per second of CPU time",
        err=True,
    )
