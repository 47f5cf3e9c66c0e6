"""Traces of gathers, scatters, alltoalls and reduce-scatters end when SimGrid says.

One replay runs one algorithm of every operation, so that nested collectives are not always the
default ones.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tisim
from tests.oracle.collectives.test_collectives_b import calls, fits
from tests.oracle.simgrid_exec import run_oracle
from tisim.actions.collectives.catalogue import ALGORITHMS

pytestmark = pytest.mark.oracle

OPERATIONS = (
    "gather", "scatter", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter",
)  # fmt: skip
HOSTS = [rank // 2 for rank in range(8)]
ROUNDS = max(len(ALGORITHMS[operation]) for operation in OPERATIONS)


def write_trace(folder: Path, names: dict[str, str], rng: random.Random) -> None:
    """Calls of all operations, with work of random length before each."""
    lines: list[list[str]] = [[] for _ in HOSTS]
    for operation, name in names.items():
        for call in calls(operation, name, HOSTS):
            for rank, trace in enumerate(lines):
                trace += [f"{rank} compute {rng.randint(1, 9)}e5", f"{rank} {call.line(rank)}"]
    for rank, trace in enumerate(lines):
        (folder / f"rank-{rank}.txt").write_text("\n".join(trace) + "\n")


@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_ends_when_simgrid_says(round_number: int, tmp_path: Path, root: Path) -> None:
    names = {}
    for operation in OPERATIONS:
        possible = [name for name in ALGORITHMS[operation] if fits(operation, name, HOSTS)]
        names[operation] = possible[round_number % len(possible)]
    write_trace(tmp_path, names, random.Random(round_number))
    # SimGrid's own gather ompi_linear_sync hangs with graphene's smpi/async-small-thresh.
    machine = "graphene" if names["gather"] != "ompi_linear_sync" else "backbone"
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
