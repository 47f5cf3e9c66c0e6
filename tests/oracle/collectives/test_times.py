"""Traces of collectives end when SimGrid says.

One replay runs one algorithm of every operation, so that nested collectives are not always the
default ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import tisim
from tests.oracle.collectives import test_collectives_a as a
from tests.oracle.collectives import test_collectives_b as b
from tests.oracle.simgrid_exec import run_oracle
from tisim._core import type_width
from tisim.actions.collectives.catalogue import ALGORITHMS

pytestmark = pytest.mark.oracle

SYNCHRONOUS = ("bcast", "reduce", "allreduce", "barrier")
EXCHANGES = (
    "gather", "scatter", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter",
)  # fmt: skip
WITH_FLOPS = {"reduce", "allreduce", "scan", "exscan"}
HOSTS = [rank // 2 for rank in range(8)]
# SimGrid's own of these hang with graphene's smpi/async-small-thresh.
NOT_ON_GRAPHENE = {"mvapich2_intra_node", "ompi_linear_sync"}


def trace_line(line: str, rng: random.Random) -> str:
    """A line of the oracle of messages as a line of a trace: in bytes, with a reduction's flops.

    SimGrid fails where calls of different types follow one another and their messages overtake
    each other.
    """
    word, *numbers = line.split()
    if numbers:
        numbers[0] = str(int(numbers[0]) * (type_width(int(numbers[-1])) or 0))
        numbers[-1] = "6"
    if word in WITH_FLOPS:
        numbers.insert(1, str(rng.choice([0, 10_000, 1_000_000])))
    return " ".join([word, *numbers])


def synchronous(names: dict[str, str], rng: random.Random) -> Iterator[list[str]]:
    """Each call, a line for each rank."""
    empty = a.NOT_EMPTY.isdisjoint(names.values())
    for operation, name in {**names, "scan": "default", "exscan": "default"}.items():
        for call in a.calls(operation, name, HOSTS):
            text = trace_line(call.line(0), rng)
            if text.split()[1:2] != ["0"] or empty:
                yield [text] * len(HOSTS)


def exchanges(names: dict[str, str], rng: random.Random) -> Iterator[list[str]]:
    for operation, name in names.items():
        for call in b.calls(operation, name, HOSTS):
            yield [call.line(rank) for rank in range(len(HOSTS))]


@pytest.mark.parametrize(
    ("operations", "number"),
    [
        (operations, number)
        for operations in (SYNCHRONOUS, EXCHANGES)
        for number in range(max(len(ALGORITHMS[operation]) for operation in operations))
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_ends_when_simgrid_says(
    operations: tuple[str, ...], number: int, tmp_path: Path, root: Path
) -> None:
    module, calls = (a, synchronous) if operations is SYNCHRONOUS else (b, exchanges)
    names = {}
    for operation in operations:
        possible = [name for name in ALGORITHMS[operation] if module.fits(operation, name, HOSTS)]
        names[operation] = possible[number % len(possible)]
    if names.get("bcast") == "mvapich2_inter_node":  # alone it leaves ranks without the data
        names["bcast"] = "default"
    # Work of random length before each call.
    rng = random.Random(number)
    lines: list[list[str]] = [[] for _ in HOSTS]
    for call in calls(names, rng):
        for rank, (trace, text) in enumerate(zip(lines, call, strict=True)):
            trace += [f"{rank} compute {rng.randint(1, 9)}e5", f"{rank} {text}"]
    for rank, trace in enumerate(lines):
        (tmp_path / f"rank-{rank}.txt").write_text("\n".join(trace) + "\n")
    machine = "graphene" if NOT_ON_GRAPHENE.isdisjoint(names.values()) else "backbone"
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
