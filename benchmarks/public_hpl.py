"""Predict published runs of HPL on two clusters of Grid'5000, Taurus and Dahu.

``python -m benchmarks.public_hpl DIR`` reads clones of ``alegrand/mpi_calibration``,
``Ezibenroc/simulating_mpi_applications_at_scale`` and ``Ezibenroc/HPL-paper`` in DIR, makes a trace
of HPL's messages and computations for each run, and prints the figures of docs/validation.md.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tisim
from tisim import PlatformBuilder
from tisim.studies.calibration import calibrate, read_measurements

_WORD = 8
#: Algorithms of the trace's collectives in a column of processes.
ALGORITHMS = {"smpi/allreduce": "rdb", "smpi/scatter": "ompi_binomial", "smpi/allgather": "ring"}


@dataclass(frozen=True)
class Linpack:
    """A run of HPL: its parameters and the speed of its processes.

    Attributes
    ----------
    size, block
        Order of the matrix, and of its blocks.
    rows, columns
        Shape of the grid of processes, which are numbered by rows.
    rings
        Number of rings that broadcast a panel in its row of processes.
    ahead
        Whether a panel is factorised before the others' update is complete (depth 1).
    a_triple
        Seconds per multiplication and addition in dgemm.
    a_row, a_column, an_entry
        Additional seconds per entry of dgemm's operands and of its result.
    """

    size: int
    block: int
    rows: int
    columns: int
    rings: int
    ahead: bool
    a_triple: float
    a_row: float = 0.0
    a_column: float = 0.0
    an_entry: float = 0.0

    def lines(self, rank: int) -> Iterator[str]:
        """Yield the trace of one rank; the hosts' speed is 1e9."""
        row, column = divmod(rank, self.columns)
        yield "init"
        yield f"comm_split 0 1 {column} {row}"
        waiting: int | None = None  # the panel with an incomplete update
        for panel in range(-(-self.size // self.block)):
            owner = panel % self.columns
            if waiting is not None and column == owner and self.ahead:
                yield from self._update(waiting, row, self.block)
            elif waiting is not None and not self.ahead:
                yield from self._update(waiting, row, self._across(waiting + 1, column))
                waiting = None
            if column == owner:
                yield from self._factorise(panel, row)
            if waiting is not None:
                rest = self._across(panel, column) - (self.block if column == owner else 0)
                yield from self._update(waiting, row, rest)
            yield from self._hand_on(panel, row, column)
            waiting = panel
        yield "finalize"

    def _down(self, panel: int, row: int) -> int:
        """Return the rows of a process from a panel on."""
        return _of(self.size - panel * self.block, self.block, (row - panel) % self.rows, self.rows)

    def _across(self, panel: int, column: int) -> int:
        """Return the columns of a process from a panel on, without the right-hand side."""
        place = (column - panel) % self.columns
        return _of(self.size - panel * self.block, self.block, place, self.columns)

    def _factorise(self, panel: int, row: int) -> Iterator[str]:
        """Factorise the columns of a panel one by one: find the pivot, update the rows below."""
        width = min(self.block, self.size - panel * self.block)
        seconds = self._down(panel, row) * width * self._triple(width) / 2
        for _ in range(width):
            yield f"compute {seconds * 1e9:.0f}"
            yield f"allreduce {(2 * width + 4) * _WORD} 0 comm=1"

    def _triple(self, width: int) -> float:
        return self.a_triple + (self.a_row + self.an_entry) / width

    def _hand_on(self, panel: int, row: int, column: int) -> Iterator[str]:
        """Send the factorised panel along the row of processes."""
        if self.columns == 1:
            return
        place = (column - panel) % self.columns
        nbytes = (self._down(panel, row) + self.block + 1) * self.block * _WORD
        length = -(-(self.columns - 1) // self.rings)
        first = row * self.columns

        def rank(at: int) -> int:
            return first + (at + panel) % self.columns

        if place == 0:
            for start in range(1, self.columns, length):
                yield f"send {rank(start)} 1 {nbytes}"
        else:
            before = 0 if (place - 1) % length == 0 else place - 1
            yield f"recv {rank(before)} 1 {nbytes}"
            if place % length and place + 1 < self.columns:
                yield f"send {rank(place + 1)} 1 {nbytes}"

    def _update(self, panel: int, row: int, width: int) -> Iterator[str]:
        """Update some columns: exchange rows, then compute the triangle and the rest."""
        if width <= 0:
            return
        part = -(-width * self.block * _WORD // self.rows)
        if self.rows > 1:
            yield f"scatter {part} {part} {panel % self.rows} comm=1"
            yield f"allgather {part} {part} comm=1"
        down = self._down(panel + 1, row)
        triangle = self.block * self.block * width / 2 * self.a_triple
        rest = down * width * self.block * self.a_triple + down * width * self.an_entry
        rest += (down * self.a_row + width * self.a_column) * self.block
        yield f"compute {(triangle + rest) * 1e9:.0f}"

    def seconds(self, platform: Path, cores: int) -> float:
        """Return the predicted time."""
        with tempfile.TemporaryDirectory() as directory:
            for rank in range(self.rows * self.columns):
                lines = (f"{rank} {line}\n" for line in self.lines(rank))
                (Path(directory) / f"rank-{rank}.txt").write_text("".join(lines))
            result = tisim.replay(
                directory, platform=platform, mapping=f"block:{cores}", config=ALGORITHMS
            )
        return result.simulated_time


def _of(size: int, block: int, place: int, processes: int) -> int:
    """Return the rows of the process at a place, out of `size` in a block-cyclic distribution."""
    if size <= 0:
        return 0
    whole, rest = divmod(size, block)
    turns, more = divmod(whole, processes)
    return turns * block + (block if place < more else rest if place == more else 0)


def taurus(directory: Path, into: Path) -> Iterator[tuple[str, float, float]]:
    """Yield runs of one size on 1, 4, 8 and 12 nodes: name, real time and predicted time.

    The speed of a core is taken from the run on one node, which does not use the network.
    """
    archive = directory / "mpi_calibration/results/taurus-15-taurus-5_2018-06-08.zip"
    table = directory / "simulating_mpi_applications_at_scale/hpl_analysis/taurus/real.csv"
    if not (archive.is_file() and table.is_file()):
        return
    names = [f"exp/exp_{name}.csv" for name in ("PingPong", "Isend", "Recv")]
    with zipfile.ZipFile(archive) as file:
        file.extractall(into, names)
    measured = read_measurements([into / name for name in names])
    platform = into / "taurus.xml"
    calibrate(measured, nodes=12, speed=1e9, cores=12).platform.write(platform)
    with table.open() as file:
        real = {int(row["nb_proc"]): float(row["time"]) for row in csv.DictReader(file)}
    base = Linpack(20000, 120, 12, 1, 1, ahead=False, a_triple=2e-10)
    twice = replace(base, a_triple=2 * base.a_triple).seconds(platform, 12)
    once = base.seconds(platform, 12)
    rate = base.a_triple * (1 + (real[12] - once) / (twice - once))
    for ranks, seconds in real.items():
        run = replace(base, a_triple=rate, columns=ranks // 12)
        yield f"Taurus, N = 20000 on {ranks} processes", seconds, run.seconds(platform, 12)


def dahu(directory: Path, into: Path, sizes: Sequence[int]) -> Iterator[tuple[str, float, float]]:
    """Yield runs on all 32 nodes: name, median real time and predicted time.

    The time of dgemm is the paper's measurement on a core (of node 2, M1 in section 5).
    """
    table = directory / "HPL-paper/data/validation_performance/hpl_reality.csv"
    if not table.is_file():
        return
    platform = into / "dahu.xml"
    builder = PlatformBuilder()
    builder.cluster("dahu", 32, speed="1Gf", cores=32, bandwidth="100Gbps", latency="0.5us")
    builder.build().write(platform)
    with table.open() as file:
        rows = [(int(row["matrix_size"]), float(row["time"])) for row in csv.DictReader(file)]
    for size in sizes:
        real = statistics.median(seconds for order, seconds in rows if order == size)
        run = Linpack(
            size,
            128,
            32,
            32,
            2,
            ahead=True,
            a_triple=7.01823e-11,
            an_entry=-4.171307e-10,
            a_row=1.428695e-09,
            a_column=2.710319e-09,
        )
        yield f"Dahu, N = {size} on 1024 processes", real, run.seconds(platform, 32)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clones", type=Path, help="directory of the clones")
    parser.add_argument("--sizes", type=int, nargs="*", default=[50000], help="of Dahu's matrices")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as into:
        for cases in (
            taurus(given.clones, Path(into)),
            dahu(given.clones, Path(into), given.sizes),
        ):
            for name, real, predicted in cases:
                print(
                    f"| {name} | {real:.4g} s | {predicted:.4g} s | {predicted / real - 1:+.0%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
