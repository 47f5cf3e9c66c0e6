"""Waits that injected delays make are ascribed to them: programs and delays drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tisim
from tisim.analysis.timeline.event_log import EventLog
from tisim.platform import new
from tisim.traces.generate import Halo2D, Halo3D, Ring, TreeAllreduce, Wavefront
from tisim.traces.generate.pattern import Pattern

PATTERNS: dict[str, Callable[[int, int, int], Pattern]] = {
    "wavefront": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, iterations=3, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "wavefront, allreduce": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, iterations=3, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed, allreduce=40
    ),
    "pipeline": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, grid=(ranks, 1), iterations=2, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "halo": lambda ranks, nbytes, seed: Halo2D(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "halo, allreduce": lambda ranks, nbytes, seed: Halo3D(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed, allreduce=8
    ),
    "tree": lambda ranks, nbytes, seed: TreeAllreduce(
        ranks=ranks, iterations=6, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "ring": lambda ranks, nbytes, seed: Ring(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed
    ),
}
EAGER, RENDEZVOUS = 1024, 200_000


def replay(
    folder: Path, pattern: Pattern, delays: dict[tuple[int, int], float]
) -> tuple[EventLog, set[tuple[int, int]]]:
    """Replay a program whose n-th computation of a rank is longer by so many flops.

    Returns the events, and rank and line of the computations.
    """
    folder.mkdir()
    places = set()
    for rank in range(pattern.ranks):
        lines = "".join(pattern.pieces(rank)).splitlines()
        computes = [place for place, line in enumerate(lines) if " compute " in line]
        for (late, number), flops in delays.items():
            if late == rank:
                place = computes[number % len(computes)]
                head, volume = lines[place].rsplit(" ", 1)
                lines[place] = f"{head} {float(volume) + flops}"
                places.add((rank, place + 1))
        (folder / f"r{rank}").write_text("\n".join(lines) + "\n")
    platform = new.cluster(pattern.ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    return tisim.replay(folder, platform=platform, event_log=True).require_event_log(), places


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("nbytes", [EAGER, RENDEZVOUS], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("name", PATTERNS)
def test_lost_time_is_ascribed_to_the_delays(
    tmp_path: Path, name: str, nbytes: int, case: int
) -> None:
    drawn = random.Random(f"{name} {nbytes} {case}")
    pattern = PATTERNS[name]((8, 27, 64, 128)[case], nbytes, drawn.randrange(1 << 30))
    delays = {
        (drawn.randrange(pattern.ranks), drawn.randrange(1000)): drawn.choice([5e6, 2e7, 5e7])
        for _ in range(drawn.randint(1, 3))
    }
    before, _ = replay(tmp_path / "before", pattern, {})
    log, places = replay(tmp_path / "late", pattern, delays)
    waited = float(log.waits["seconds"].sum())
    lost = waited - float(before.waits["seconds"].sum())
    states = log.store.read("states")
    sums = [
        log.wait_causes.sum_of(int(row))[0]
        for row in np.flatnonzero(
            np.isin(
                states["rank"].astype(np.int64) << 32 | states["line"],
                [rank << 32 | line for rank, line in places],
            )
        )
    ]
    assert 0.95 * lost <= sum(sums) <= waited
    # All of it is ascribed to something.
    assert sum(cause.seconds for cause in log.wait_causes.all) == pytest.approx(waited, rel=1e-9)
