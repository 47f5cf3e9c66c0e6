"""Traces of collectives end when SimGrid says.

One replay runs one algorithm of every operation, so that nested collectives are not always the
default ones.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tisim
from tests.oracle.collectives.test_collectives import NOT_EMPTY, calls, fits
from tests.oracle.simgrid_exec import run_oracle
from tisim._core import type_width
from tisim.actions.collectives.catalogue import ALGORITHMS

pytestmark = pytest.mark.oracle

OPERATIONS = tuple(operation for operation, names in ALGORITHMS.items() if names)
WITH_FLOPS = {"reduce", "allreduce", "scan", "exscan"}
OF_VECTORS = {"bcast", *WITH_FLOPS}
HOSTS = [rank // 2 for rank in range(8)]
ROUNDS = max(len(ALGORITHMS[operation]) for operation in OPERATIONS)


def trace_line(line: str, flops: str) -> str:
    """A line of the oracle of messages as a line of a trace: in bytes, with a reduction's flops.

    SimGrid fails where calls of different types follow one another and their messages overtake
    each other.
    """
    word, *numbers = line.split()
    if word in OF_VECTORS:
        numbers[0] = str(int(numbers[0]) * (type_width(int(numbers[-1])) or 0))
        numbers[-1] = "6"
    if word in WITH_FLOPS:
        numbers.insert(1, flops)
    return " ".join([word, *numbers])


def write_trace(folder: Path, names: dict[str, str], rng: random.Random) -> None:
    """Calls of all operations, with work of random length before each."""
    lines: list[list[str]] = [[] for _ in HOSTS]
    empty = NOT_EMPTY.isdisjoint(names.values())
    for operation, name in {**names, "scan": "default", "exscan": "default"}.items():
        for call in calls(operation, name, HOSTS):
            flops = str(rng.choice([0, 10_000, 1_000_000]))
            for rank, trace in enumerate(lines):
                text = trace_line(call.line(rank), flops)
                if empty or operation not in OF_VECTORS or text.split()[1] != "0":
                    trace += [f"{rank} compute {rng.randint(1, 9)}e5", f"{rank} {text}"]
    for rank, trace in enumerate(lines):
        (folder / f"rank-{rank}.txt").write_text("\n".join(trace) + "\n")


@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_ends_when_simgrid_says(round_number: int, tmp_path: Path, root: Path) -> None:
    names = {}
    for operation in OPERATIONS:
        possible = [name for name in ALGORITHMS[operation] if fits(operation, name, HOSTS)]
        names[operation] = possible[round_number % len(possible)]
    if names["bcast"] == "mvapich2_inter_node":  # alone it leaves ranks without the data
        names["bcast"] = "default"
    write_trace(tmp_path, names, random.Random(round_number))
    # With graphene's smpi/async-small-thresh SimGrid's own hang.
    hangs = names["bcast"] == "mvapich2_intra_node" or names["gather"] == "ompi_linear_sync"
    machine = "backbone" if hangs else "graphene"
    platform = root / "platforms" / f"{machine}.xml"
    known = (root / "platforms" / f"{machine}.hosts").read_text().split()
    hosts = [known[host] for host in HOSTS]
    hostfile = tmp_path / "hosts"
    hostfile.write_text("\n".join(hosts) + "\n")
    cfg = [f"smpi/{operation}:{name}" for operation, name in names.items()]
    theirs = run_oracle(platform, hostfile, tmp_path, cfg)
    result = tisim.replay(
        sorted(tmp_path.glob("rank-*.txt")),
        platform=platform,
        hosts=hosts,
        config=dict(item.split(":", 1) for item in cfg),
    )
    assert result.ranks["finish"].tolist() == pytest.approx(theirs, rel=1e-6, abs=1e-9)
