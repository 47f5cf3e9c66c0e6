"""``make validate-io``: checkpoints on this machine's disk, compared with predictions."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.io_patterns import page
from benchmarks.io_patterns.programs import Checkpoints
from benchmarks.io_patterns.study import studied
from tisim.support.tables import align

_NEEDED = {"fio": "fio", "mpirun": "openmpi-bin", "mpicc": "libopenmpi-dev"}


@click.command()
@click.option("--ranks", default=4, show_default=True, help="Of each run.")
@click.option("--rank-size", default=64, show_default=True, help="MiB of a rank's checkpoint.")
@click.option("--block", default=4, show_default=True, help="MiB of a write.")
@click.option("--count", default=3, show_default=True, help="Checkpoints of a run.")
@click.option("--rounds", default=10, show_default=True, help="Runs of each pattern.")
@click.option("--patience", default=3.0, show_default=True, help="Seconds to wait for calm.")
@click.option("--directory", default=".", show_default=True, help="On the disk to be measured.")
@click.option("--write", "writes", is_flag=True, help=f"Write the tables into {page.PAGE.name}.")
def main(
    ranks: int,
    rank_size: int,
    block: int,
    count: int,
    rounds: int,
    patience: float,
    directory: str,
    writes: bool,
) -> None:
    """Record, run and predict checkpoints in three patterns, with a disk measured by fio.

    The exit status is 1 if the error of a prediction exceeds both 15 % and the spread of the runs.
    """
    for command, package in _NEEDED.items():
        if shutil.which(command) is None:
            click.echo(f"skipped: {command} is not installed (Debian: {package})")
            return
    with tempfile.TemporaryDirectory(prefix="tisim-io-", dir=Path(directory).absolute()) as made:
        files = Path(made) / "files"
        files.mkdir()
        checkpoints = Checkpoints(ranks, rank_size, block, count, files)
        study = studied(checkpoints, rounds, patience, Path(made), _tell)
    text = page.tables(study, checkpoints)
    click.echo(text)
    if writes:
        page.write(text)
    failed = [case for case in study.cases if case.is_judged and not case.holds]
    for line in align([(case.pattern, case.mode, f"{case.error:+.1%}") for case in failed]):
        click.echo(line, err=True)
    sys.exit(1 if failed else 0)


def _tell(text: str) -> None:
    click.echo(text, err=True)


main()
