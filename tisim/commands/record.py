"""``tisim record``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands.recording_summary import report_recording, report_run, report_spread
from tisim.commands.written import report_written
from tisim.errors import InputError
from tisim.support.quantities import parse_size

if TYPE_CHECKING:
    from tisim.traces.record.parts import Recording
    from tisim.traces.record.settings import Io, Settings


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
@click.option("-o", "--output", metavar="FILE.tit", help="The trace to write.")
@click.option(
    "--counter",
    metavar="NAME[,NAME...]",
    default="auto",
    show_default=True,
    help="What measures computations: the processor's count of instructions (perf), the program's "
    "own (register; tisim cc), that of QEMU (qemu), or processor time (time). Counters behind it "
    "become attributes of the computations: time, cycles, cache-misses, flops and others.",
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
    "--io",
    type=click.Choice(["none", "mpi", "posix", "both"]),
    default="none",
    show_default=True,
    help="What to record of files: the calls of MPI-IO (mpi); those of POSIX, also where MPI-IO "
    "and standard I/O make them (posix); or both, of MPI-IO its own calls only.",
)
@click.option(
    "--call-sites",
    is_flag=True,
    help="Record the call path of each call; tisim check, inspect and the report name its "
    "functions and lines.",
)
@click.option(
    "--sample",
    is_flag=True,
    help="Sample where in the program its computations are; tisim inspect and the report name the "
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
    help="With --times: write when each call began and ended, as .csv, .parquet or .tir (for tisim "
    "view).",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Run the program so often, and say how much the volumes and other counts differ between "
    "the runs. The trace is that of the run whose sum of volumes is the median.",
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
    io: Io,
    call_sites: bool,
    sample: bool,
    times: bool,
    timeline: str | None,
    repeat: int,
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
        return _print_source(print_source, io)
    if output is None:
        raise InputError("-o FILE.tit is missing: where the trace goes")
    if parts is not None:
        report_recording(output, packed_parts(parts, output), "")
        return 0
    from tisim.traces.record.limits import Limits
    from tisim.traces.record.settings import Settings

    settings = Settings(
        counter=counter,
        reference_speed=speed,
        failed_tests=tests == "all",
        call_sites=call_sites,
        sample=sample,
        times=times,
        timeline=timeline,
        io=io,
        limits=Limits(ranks, _bytes(memory), _bytes(max_size)),
    )
    return _record(command, output, settings, repeat, mpicc)


def _print_source(directory: str, io: Io) -> int:
    from tisim.traces.record.compiler import write_source

    write_source(Path(directory), posix=io in ("posix", "both"))
    report_written(directory)
    return 0


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
        raise InputError("there is no such directory", file=parts)
    recording = pack_parts(parts, output)
    if recording is None:
        raise InputError("the directory holds no parts of a trace (rank-0.part ...)", file=parts)
    return recording


def _bytes(text: str | None) -> int | None:
    return None if text is None else round(parse_size(text))
