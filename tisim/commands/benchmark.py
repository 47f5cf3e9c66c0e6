"""``tisim benchmark``."""

from __future__ import annotations

from pathlib import Path

import click

from tisim.commands.written import report_written
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
@click.option("--run", "runs", is_flag=True, help="Compile it, run it, and write what it measures.")
@click.option(
    "-o",
    "--output",
    default="measured.csv",
    show_default=True,
    metavar="FILE",
    help="Of --run: the measurements to write.",
)
@click.option(
    "--largest",
    default="4MiB",
    show_default=True,
    metavar="SIZE",
    help="Of --run: the largest message.",
)
@click.option(
    "--sizes",
    type=click.IntRange(1, 10000),
    default=100,
    show_default=True,
    metavar="N",
    help="Of --run: how many sizes up to it.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1, 10000),
    default=10,
    show_default=True,
    metavar="N",
    help="Of --run: how often each, at least.",
)
@click.option(
    "--seconds",
    type=click.IntRange(1, 1 << 20),
    default=300,
    show_default=True,
    metavar="N",
    help="Of --run: how long sizes are repeated until their medians are known, at most.",
)
@click.option(
    "--mpicc",
    metavar="COMPILER",
    help="Of --run: the compiler of the MPI library.  [default: $MPICC or mpicc]",
)
@click.option(
    "--print-source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the C source into a directory, with how to compile it.",
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
    """A small MPI program that measures what 'tisim calibrate' needs.

    COMMAND, behind --, starts its ranks: mpirun with its options, a rank on each host.
    """
    from tisim.studies.calibration.benchmark_run import benchmark_code, benchmark_source

    if print_source is not None:
        from tisim.support.mpi_compiler import write_source

        write_source(benchmark_code(), print_source)
        report_written(print_source)
    elif as_source:
        click.echo(benchmark_source(), nl=False)
    elif runs:
        _run(command, output, largest, (sizes, repetitions, seconds), mpicc)
    elif command:
        raise InputError("--run is missing, or there is no need of a command")
    else:
        click.echo(click.get_current_context().get_help())


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
        f"tisim: measures for about {size.seconds} s at most, and stops after "
        f"{size.time_limit:g} s",
        err=True,
    )
    with ProgressBar("benchmark") as bar:
        rows = run_benchmark(
            command,
            output,
            size,
            compiler=mpicc,
            progress=lambda elapsed, count: bar.show(
                min(elapsed / size.seconds, 0.99), f"{count:,} times measured"
            ),
        )
    click.echo(f"tisim: {rows:,} times measured", err=True)
    report_written(output)
