"""Predict published tables of the OSU and Intel MPI benchmarks from their own ping-pongs.

``python -m benchmarks.public_tables DIR`` reads clones of ``stackhpc/hpc-tests`` (two nodes of
AlaSKA and of CSD3, InfiniBand and RoCE) and ``gbrandino/juno_board_testing`` (two ARM boards on
Ethernet) in DIR. For each network ``tisim calibrate`` makes a platform from its ping-pongs and
streams; everything else in the tables is predicted. It prints the figures of docs/validation.md.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tisim
from tisim.studies.calibration import calibrate, read_measurements

#: Rows of a table: bytes, and the reported value.
Rows = Sequence[tuple[int, float]]
#: The lines of each rank of a program.
Program = Sequence[Sequence[str]]

#: Predicted sizes: short, below and above the eager limits, long.
SIZES = (8, 1024, 8192, 65536, 1048576)
#: Messages in flight in OSU's bandwidth tests.
WINDOW = 64
#: Selectors of collectives, by library; the names of the directories begin with the network.
SELECTORS = {"ompi3": "ompi", "openmpi4": "ompi", "impi": "impi"}
#: Predicted tables of the Intel MPI benchmarks.
IMB = ("Exchange", "Allreduce", "Reduce", "Allgather", "Gather", "Scatter", "Alltoall", "Bcast")


@dataclass(frozen=True)
class Network:
    """A calibrated network of two nodes.

    Attributes
    ----------
    name
        Name in the table.
    platform
        Platform file.
    selector
        Selector of the collectives of its MPI library.
    """

    name: str
    platform: Path
    selector: str

    def seconds(self, program: Program) -> float:
        """Return the mean time of the ranks; the first half of them is on the first node."""
        with tempfile.TemporaryDirectory() as directory:
            trace = Path(directory) / "trace"
            texts = [
                f"{rank} {line}\n"
                for rank, lines in enumerate(program)
                for line in ["init", "barrier", *lines, "finalize"]
            ]
            trace.write_text("".join(texts))
            result = tisim.replay(
                trace,
                platform=self.platform,
                mapping=f"block:{len(program) // 2}",
                config={"smpi/coll-selector": self.selector},
            )
        return statistics.fmean(result.finish)

    def after_a_barrier(self, program: Program) -> float:
        """Return the time of a program after an initial barrier, without the barrier."""
        return self.seconds(program) - self.seconds([()] * len(program))


@dataclass(frozen=True)
class Case:
    """Measured and predicted seconds."""

    network: str
    program: str
    size: int
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def read_osu(text: str) -> Rows:
    """Return the rows of a table of the OSU benchmarks."""
    found = re.findall(r"^(\d+)[ \t]+([\d.]+)", text, re.MULTILINE)
    return [(int(size), float(value)) for size, value in found]


def read_imb(path: Path) -> Mapping[str, Rows]:
    """Return the tables of the Intel MPI benchmarks: mean times in microseconds."""
    tables: dict[str, list[tuple[int, float]]] = {}
    name, column = "", 0
    for line in path.read_text().splitlines():
        words = line.split()
        if match := re.match(r"# Benchmarking (\w+)", line):
            name, column = match[1], 0
        elif "t_avg[usec]" in words and "#bytes" in words:
            column = words.index("t_avg[usec]")
        elif column and len(words) > column and words[0].isdigit():
            tables.setdefault(name, []).append((int(words[0]), float(words[column])))
    return tables


def windows(pairs: int, size: int) -> Program:
    """Return a window of messages from each rank of the first half to its pair, and the answer."""
    sends = [
        [f"isend {pairs + rank} 0 {size}"] * WINDOW + ["waitall", f"recv {pairs + rank} 1 4"]
        for rank in range(pairs)
    ]
    receives = [
        [f"irecv {rank} 0 {size}"] * WINDOW + ["waitall", f"send {rank} 1 4"]
        for rank in range(pairs)
    ]
    return sends + receives


def both_windows(size: int) -> Program:
    """Return concurrent windows of messages in both directions."""
    return [
        [f"irecv {peer} 0 {size}"] * WINDOW + [f"isend {peer} 0 {size}"] * WINDOW + ["waitall"]
        for peer in (1, 0)
    ]


def collective(name: str, size: int, root: int = 0) -> str:
    """Return a trace line: a collective with `size` bytes per rank and peer."""
    arguments = {
        "allreduce": f"{size} 0",
        "bcast": f"{size} {root}",
        "reduce": f"{size} 0 {root}",
        "gather": f"{size} {size} {root}",
        "scatter": f"{size} {size} {root}",
    }
    return f"{name} {arguments.get(name, f'{size} {size}')}"


def turns(name: str, size: int, count: int) -> Program:
    """Return `count` calls in a row on two ranks, as in the Intel MPI benchmarks."""
    if name == "Exchange":
        return [
            [*[f"isend {peer} 0 {size}"] * 2, *[f"recv {peer} 0 {size}"] * 2, "waitall"] * count
            for peer in (1, 0)
        ]
    # The root alternates between calls.
    return [[collective(name.lower(), size, turn % 2) for turn in range(count)]] * 2


def osu_cases(network: Network, directory: Path) -> Iterator[Case]:
    """Yield all tables of one network except those used for its calibration."""
    for path in sorted(directory.glob("*/rfm_Osu_*_job.out")):
        name = path.parent.name.removeprefix("Osu_")
        text = path.read_text()
        pairs = int(match[1]) if (match := re.search(r"pairs: (\d+)", text)) else 1
        if name in ("latency", "bw") or (name.startswith("mbw_mr") and pairs == 1):
            continue
        for size, value in read_osu(text):
            if size not in SIZES:
                continue
            title = f"{name} on 64"
            program: Program = [[collective(name, size)]] * 64
            measured = value * 1e-6
            if name == "bibw":
                title, program = "bibw", both_windows(size)
                measured = 2 * WINDOW * size / (value * 1e6)
            elif name.startswith("mbw_mr"):
                title, program = f"mbw_mr of {pairs} pairs", windows(pairs, size)
                measured = pairs * WINDOW * size / (value * 1e6)
            yield Case(network.name, title, size, measured, network.after_a_barrier(program))


def imb_cases(network: Network, path: Path) -> Iterator[Case]:
    """Yield all tables of two boards except those used for their calibration."""
    for name, rows in read_imb(path).items():
        for size, value in rows:
            if name in IMB and size in SIZES:
                # A call among many: of twenty, the second half.
                one, two = (network.seconds(turns(name, size, count)) for count in (10, 20))
                title = f"{name.lower()} on 2"
                yield Case(network.name, title, size, value * 1e-6, (two - one) / 10)


def all_cases(directory: Path, into: Path) -> Iterator[Case]:
    """Yield the cases of existing networks, whose platforms are written into a directory."""

    def calibrated(name: str, files: Sequence[Path], selector: str) -> Network:
        found = calibrate(read_measurements(files), nodes=2, speed=1e9, cores=32)
        path = into / f"{name.replace(' ', '-')}.xml"
        found.platform.write(path)
        return Network(name, path, selector)

    for omb in sorted((directory / "hpc-tests" / "output").glob("*/*/omb")):
        library = next(known for known in SELECTORS if known in omb.parent.name)
        files = [omb / f"Osu_{name}" / f"rfm_Osu_{name}_job.out" for name in ("latency", "bw")]
        name = f"{omb.parents[1].name} {omb.parent.name}"
        yield from osu_cases(calibrated(name, files, SELECTORS[library]), omb)
    imb = directory / "juno_board_testing" / "data" / "IMB-MPI1_internode.txt"
    if imb.is_file():
        yield from imb_cases(calibrated("juno ethernet openmpi", [imb], "ompi"), imb)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clones", type=Path, help="directory of the clones")
    directory: Path = parser.parse_args(arguments).clones
    with tempfile.TemporaryDirectory() as into:
        for case in all_cases(directory, Path(into)):
            print(
                f"| {case.network} | {case.program} | {case.size} | {case.measured:.4g} s | "
                f"{case.predicted:.4g} s | {case.error:+.0%} |"
            )


if __name__ == "__main__":
    main()
