"""Fit NCCL's primitives to all-reduces of 4 and 8 GPUs, and predict those of 2 to 8.

``python -m benchmarks.nccl_tables DIR`` reads ``DIR/allreduce.{a100,v100}.{2..8}.csv``, tables of
nccl-tests (bytes, count, type, and nanoseconds and bus bandwidth out of place and in place)
published by VIA-Research/vTrain, and prints the figures of docs/ai_validation.md.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tisim.gpu.machines import MACHINES, Machine, Primitive
from tisim.gpu.nccl import Communicator

#: Versions whose choices of protocol match the steps in the tables of 4 and 8 GPUs.
VERSIONS = {"a100": "2.18", "v100": "2.12"}
#: The tables show no use of LL.
PROTOCOLS = ("LL128", "Simple")
FITTED = (4, 8)
GPUS = range(2, 9)

Table = Sequence[tuple[int, float]]


def read_table(path: Path) -> Table:
    """Return bytes and out-of-place seconds of each row."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [(int(row[0]), float(row[3]) * 1e-9) for row in rows]


def errors(machine: Machine, gpus: int, table: Table, version: str) -> list[float]:
    """Return the relative error of the predicted time of each row."""
    group = Communicator(machine, tuple(range(gpus)), version, protocols=PROTOCOLS)
    return [group.collective("all_reduce", size).time / time - 1 for size, time in table]


def fit(name: str, tables: Mapping[int, Table]) -> Machine:
    """Return the machine with the primitives that fit the tables of 4 and 8 GPUs best."""
    from scipy.optimize import least_squares

    known = MACHINES[name]
    copies = known.gpu.copy_rate < float("inf")

    def made(logs: Sequence[float]) -> Machine:
        hop128, rate128, hop, link, *copy = np.exp(logs).tolist()
        steps = {"LL128": Primitive(hop128, rate128), "Simple": Primitive(hop)}
        gpu = replace(known.gpu, primitives=steps, nvlink_achieved_rate=link)
        return replace(known, gpu=replace(gpu, copy_rate=copy[0]) if copy else gpu)

    def residuals(logs: Sequence[float]) -> list[float]:
        machine = made(logs)
        rows = {gpus: tables[gpus] for gpus in FITTED}
        return [e for n, rows in rows.items() for e in errors(machine, n, rows, VERSIONS[name])]

    start = np.log([3e-6, 7e9, 5e-6, 21e9, *([400e9] if copies else [])])
    return made(least_squares(residuals, start, loss="soft_l1", f_scale=0.05).x)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, help="directory of the tables")
    directory: Path = parser.parse_args(arguments).tables
    means, firsts = [], []
    for name in MACHINES:
        if name not in VERSIONS:
            continue
        tables = {n: read_table(directory / f"allreduce.{name}.{n}.csv") for n in GPUS}
        gpu = fit(name, tables).gpu
        print(
            f"{name}: {gpu.primitives}, NVLink {gpu.nvlink_achieved_rate:.4g}, "
            f"copy {gpu.copy_rate:.4g}"
        )
        for gpus, table in tables.items():
            found = errors(MACHINES[name], gpus, table, VERSIONS[name])
            mean = statistics.fmean(map(abs, found))
            use = "fitted" if gpus in FITTED else "predicted"
            print(
                f"| {name} | {gpus} | {use} | {mean:.1%} | {statistics.fmean(found):+.1%} | "
                f"{found[0]:+.1%} | {found[63]:+.1%} | {found[-1]:+.1%} |"
            )
            if gpus not in FITTED:
                means.append(mean)
                firsts.append(abs(found[0]))
    print(f"predicted: mean {statistics.fmean(means):.1%}, 1 MiB {statistics.fmean(firsts):.1%}")


if __name__ == "__main__":
    main()
