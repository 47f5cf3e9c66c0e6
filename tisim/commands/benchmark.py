"""``tisim benchmark``."""

from __future__ import annotations

from pathlib import Path

import click

from tisim.commands import (
    compiler_option,
    is_given,
    number_option,
    refuse_option,
    report_written,
)
from tisim.errors import InputError


@click.command(
    "benchmark",
    context_settings={"ignore_unknown_options": True},
    epilog="""\b
Examples:
  tisim benchmark --run -o measured.csv -- mpirun -n 4 --host hostA,hostB,hostC,hostD
  tisim calibrate measured.csv --nodes 64 --speed 3.2Gf -o cluster.xml
  tisim benchmark --print-source DIR       # for machines without Python
  tisim benchmark --print > benchmark.c
  mpicc -O2 -o benchmark benchmark.c -lm
  mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv
""",
)
@click.option(
    "--run", "runs", is_flag=True, help="Compile and run the program and write its measurements."
)
@click.option(
    "-o",
    "--output",
    default="measured.csv",
    show_default=True,
    metavar="FILE",
    help="With --run: file for the measurements.",
)
@click.option(
    "--largest",
    default="4MiB",
    show_default=True,
    metavar="SIZE",
    help="With --run: largest message size.",
)
@number_option("--sizes", default=100, most=10000, text="With --run: number of message sizes.")
@number_option(
    "--repetitions",
    default=10,
    most=10000,
    text="With --run: minimum number of repetitions per size.",
)
@number_option(
    "--seconds",
    default=300,
    most=1 << 20,
    text="With --run: maximum time for repeating measurements until their medians converge.",
)
@compiler_option("With --run: compiler wrapper of the MPI library")
@click.option(
    "--print-source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the C source and build instructions into a directory.",
)
@click.option("--print", "as_source", is_flag=True, help="Print the C source.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def benchmark_command(
    runs: bool,
    output: str,
    largest: str,
    sizes: int,
    repetitions: int,
    seconds: int,
    mpicc: str | None,
    print_source: Path | None,
    as_source: bool,
    command: tuple[str, ...],
) -> None:
    """Measure message times for 'tisim calibrate' with a small MPI program.

    COMMAND, after --, launches its ranks, such as mpirun with its options, one rank per host.
    """
    from tisim.studies.calibration.benchmark_run import benchmark_code, benchmark_source

    refuse_option(command[0] if command else "")
    if print_source is not None:
        from tisim.support.mpi import write_source

        write_source(benchmark_code(), print_source)
        report_written(print_source)
    elif as_source:
        click.echo(benchmark_source(), nl=False)
    elif runs:
        _run(command, output, largest, (sizes, repetitions, seconds), mpicc)
    elif command or any(map(is_given, _OF_RUNS)):
        raise InputError("a command, and the options described by 'With --run', need --run")
    else:
        click.echo(click.get_current_context().get_help())


# Parameters that apply only with --run.
_OF_RUNS = ("output", "largest", "sizes", "repetitions", "seconds", "mpicc")


def _run(
    command: tuple[str, ...],
    output: str,
    largest: str,
    numbers: tuple[int, int, int],
    mpicc: str | None,
) -> None:
    """Run the benchmark; say first how long that may take."""
    from tisim.studies.calibration.benchmark_run import BenchmarkSize, run_benchmark
    from tisim.support.progress import ProgressBar
    from tisim.support.quantities import parse_size

    size = BenchmarkSize(round(parse_size(largest, "--largest")), *numbers)
    click.echo(
        f"tisim: measures for up to about {size.seconds} s; time limit {size.time_limit:g} s",
        err=True,
    )
    with ProgressBar("benchmark") as bar:
        found = run_benchmark(
            command,
            output,
            size,
            compiler=mpicc,
            progress=lambda elapsed, count: bar.show(
                min(elapsed / size.seconds, 0.99), f"{count:,} times measured"
            ),
        )
    click.echo(f"tisim: {found.times:,} times measured", err=True)
    if not found.ended:
        click.echo(
            f"warning: stopped after {size.time_limit:g} s, before all sizes were measured; the "
            "measurements so far are kept. To measure all, raise --seconds or lower --largest and "
            "--sizes",
            err=True,
        )
    if not found.finalized and found.ended:
        click.echo(
            "warning: the ranks did not end after the last measurement and were stopped: "
            "MPI_Finalize hangs (as MPICH's may over UCX and TCP). The measurements are complete",
            err=True,
        )
    report_written(output)
