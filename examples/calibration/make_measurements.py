"""Makes the synthetic measurements of this directory: tisim's times on truth.xml, with noise.

    python make_measurements.py [DIRECTORY]

Every time is multiplied by a log-normal error of 3 %; one in a hundred is an outlier, too long by a
factor of two to ten.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

import tisim
from tisim.studies.calibration import simulate, simulate_rate

HERE = Path(__file__).parent
HOSTS = ("node-0", "node-1")
NOISE, OUTLIERS = 0.03, 0.01
LARGEST = 4 << 20


class Laboratory:
    """Measures the synthetic cluster."""

    def __init__(self, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.platform = tisim.Platform.load(HERE / "truth.xml")

    def disturbed(self, seconds: float) -> float:
        """Return a time with measurement errors."""
        outlier = self.random.random() < OUTLIERS
        error = np.exp(NOISE * self.random.standard_normal())
        return float(seconds * error * (self.random.uniform(2, 10) if outlier else 1))

    def calls(self, sizes: Iterable[int]) -> pd.DataFrame:
        """Return the exact times of the calls, indexed by size."""
        return simulate(self.platform, HOSTS, sorted(set(sizes))).set_index("bytes")

    def rate(self, nbytes: int, directions: int) -> float:
        """Return a bandwidth in bytes/s, with measurement errors."""
        exact = simulate_rate(self.platform, HOSTS, nbytes, directions)
        return exact * float(np.exp(NOISE * self.random.standard_normal()))

    def sizes(self, count: int) -> list[int]:
        """Return sizes evenly spaced on a logarithmic scale, in random order."""
        drawn = np.exp(self.random.uniform(0, np.log(LARGEST), count))
        return [int(size) for size in drawn]


def powers() -> list[int]:
    """Return 1, 2, 4, ... bytes, up to the largest message."""
    return [1 << power for power in range(LARGEST.bit_length())]


def skampi(laboratory: Laboratory) -> str:
    """Return round trips in microseconds."""
    sizes = sorted({*powers(), *range(2048, 65536, 4096)})
    calls = laboratory.calls(sizes)
    lines = ["# Synthetic.", "# SKaMPI Version 5.0", 'begin result "Pingpong_Send_Recv"']
    for size in sizes:
        time = 2e6 * calls.loc[size, "pingpong"] * np.exp(0.01 * laboratory.random.normal())
        lines.append(
            f"count= {size} {size:8d} {time:9.1f} {time / 100:9.1f} 8 {time:9.1f} {time:9.1f}"
        )
    return "\n".join([*lines, 'end result "Pingpong_Send_Recv"', ""])


def osu(laboratory: Laboratory, benchmark: str) -> str:
    """Return one-way latencies in microseconds, or bandwidths in MB/s."""
    titles = {
        "osu_latency": ("OSU MPI Latency Test", "Latency (us)"),
        "osu_bw": ("OSU MPI Bandwidth Test", "Bandwidth (MB/s)"),
        "osu_bibw": ("OSU MPI Bi-Directional Bandwidth Test", "Bandwidth (MB/s)"),
    }
    title, column = titles[benchmark]
    lines = [f"# {title} v5.9 (synthetic)", f"# Size      {column:>16}"]
    calls = laboratory.calls(powers())
    for size in powers():
        if benchmark == "osu_latency":
            value = 1e6 * calls.loc[size, "pingpong"] * np.exp(0.01 * laboratory.random.normal())
        else:
            value = laboratory.rate(size, 2 if benchmark == "osu_bibw" else 1) / 1e6
        lines.append(f"{size:<10d}  {value:16.2f}")
    return "\n".join([*lines, ""])


def imb(laboratory: Laboratory) -> str:
    """Return one-way PingPong, and PingPing and Sendrecv per exchange, in microseconds."""
    calls = laboratory.calls(powers())
    lines = ["# Synthetic, in the format of the Intel MPI Benchmarks."]
    for name in ("PingPong", "PingPing", "Sendrecv"):
        times = "t[usec]" if name != "Sendrecv" else "t_min[usec]  t_max[usec]  t_avg[usec]"
        rule = "#" + "-" * 60
        lines += [rule, f"# Benchmarking {name}", "# #processes = 2", rule]
        lines.append(f"       #bytes #repetitions {times}   Mbytes/sec")
        for size in powers():
            if name == "PingPong":
                time = calls.loc[size, "pingpong"] * np.exp(0.01 * laboratory.random.normal())
            else:
                time = 2 * size / laboratory.rate(size, 2)
            repeated = 3 if name == "Sendrecv" else 1
            columns = " ".join([f"{1e6 * time:12.2f}"] * repeated)
            lines.append(f"{size:13d} {1000:12d} {columns} {size / time / 1e6:12.2f}")
        lines.append("")
    return "\n".join(lines)


def platform_calibration(laboratory: Laboratory) -> dict[str, str]:
    """Return times inside calls, without a header."""
    sizes = [size for size in laboratory.sizes(150) for _ in range(10)]
    calls = laboratory.calls(sizes)
    files: dict[str, list[str]] = {"PingPong": [], "Isend": [], "Recv": []}
    clock = 0.0
    for size in sizes:
        send = laboratory.disturbed(calls.loc[size, "send"])
        # The time of the ping-pong outside MPI_Send is spent in MPI_Recv.
        rest = max(2 * laboratory.disturbed(calls.loc[size, "pingpong"]) - send, 1e-7)
        clock += 0.01
        files["PingPong"] += [
            f"MPI_Send,{size},{clock:.6f},{send:.6e}",
            f"MPI_Recv,{size},{clock:.6f},{rest:.6e}",
        ]
        for name, call in (("Isend", "isend"), ("Recv", "recv")):
            time = laboratory.disturbed(calls.loc[size, call])
            files[name].append(f"MPI_{name},{size},{clock:.6f},{time:.6e}")
    return {f"synthetic_{name}.csv": "\n".join([*rows, ""]) for name, rows in files.items()}


def own(laboratory: Laboratory) -> str:
    """Return the output of the project's benchmark."""
    lines = ["# Synthetic.", "operation,bytes,pairs,directions,seconds,host,peer"]
    sizes = [size for size in laboratory.sizes(100) for _ in range(10)]
    calls = laboratory.calls(sizes)
    where = ",".join(HOSTS)
    for size in sizes:
        for call in ("pingpong", "send", "isend", "recv"):
            exact = calls.loc[size, call] * (2 if call == "pingpong" else 1)
            lines.append(f"{call},{size},1,1,{laboratory.disturbed(exact):.6e},{where}")
    for size in (1 << 20, 2 << 20, 4 << 20):
        for directions in (1, 2, 1, 2, 1, 2):
            time = directions * size / laboratory.rate(size, directions)
            lines.append(f"transfer,{size},1,{directions},{time:.6e},{where}")
    return "\n".join([*lines, ""])


def timed(laboratory: Laboratory) -> str:
    """Return computations of two problem classes, in and out of cache, on two hosts."""
    lines = ["# Synthetic.", "rank,volume,seconds,class,working_set,host"]
    for problem, working_set, speed in (("A", 1 << 20, 3.6e9), ("B", 16 << 20, 2.9e9)):
        for number in range(40):
            volume = 1e9 * float(laboratory.random.uniform(0.5, 2))
            seconds = volume / speed * float(np.exp(0.02 * laboratory.random.normal()))
            rank = number % 2
            what = f"{problem},{working_set},{HOSTS[rank]}"
            lines.append(f"{rank},{volume:.0f},{seconds:.6e},{what}")
    return "\n".join([*lines, ""])


def main(directory: Path) -> None:
    """Write all files."""
    laboratory = Laboratory()
    texts = {
        "synthetic.skampi.dat": skampi(laboratory),
        **{f"{name}.txt": osu(laboratory, name) for name in ("osu_latency", "osu_bw", "osu_bibw")},
        "imb.txt": imb(laboratory),
        **platform_calibration(laboratory),
        "synthetic.csv": own(laboratory),
        "timed.csv": timed(laboratory),
    }
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
