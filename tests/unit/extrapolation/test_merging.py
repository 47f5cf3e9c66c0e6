"""What keeps the search for a process grid short, and changes nothing of what is found."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import and_
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.unit.extrapolation.test_solvers import written
from tisim.traces.extrapolation.grids import Place, known_grids
from tisim.traces.extrapolation.guards import Evidence, Scene, known_conditions
from tisim.traces.extrapolation.merging import parted
from tisim.traces.extrapolation.recordings import Recordings

SIZES = (8, 16, 32)
CUBE = "an even grid of 3 dimensions, the longest last"


def ring_of_planes(rank: int, ranks: int) -> list[str]:
    """Each rank sends along the last axis, and rank 3 tells all of them something."""
    plane = {8: 4, 16: 4, 32: 8}[ranks]
    after, before = (rank + plane) % ranks, (rank - plane) % ranks
    exchange = [f"isend {after} 1 100", f"recv {before} 1 100", f"wait {rank} {after} 1"]
    return ["init", *exchange, "bcast 100 3", "finalize"]


def test_a_root_takes_no_class_apart(tmp_path: Path) -> None:
    recordings = Recordings.read([written(ring_of_planes, ranks, tmp_path) for ranks in SIZES])
    line, *grids = known_grids(SIZES, 64)
    cube = next(grid for grid in grids if grid.name == CUBE)
    places = [Place(ranks, [line, cube]) for ranks in SIZES]
    parts = parted(recordings.classes, places)
    assert [len(part.ranks) for part in parts] == list(SIZES)


def test_grids_have_axes_that_traces_show() -> None:
    grids = [grid for grid in known_grids(SIZES, 64) if grid.name != "a line"]
    sides = [[grid.sides(ranks) or () for ranks in SIZES] for grid in grids]
    assert all(max(axis) > 1 for of_grid in sides for axis in zip(*of_grid, strict=True))
    # What a trace does not show is an axis of that trace only.
    assert [(4, 2, 1), (4, 2, 2), (4, 4, 2)] in sides


@pytest.mark.parametrize("seed", range(40))
def test_guards_are_those_that_a_full_search_finds(seed: int) -> None:
    draw = Random(seed)
    places = [Place(ranks, known_grids((12, 20), 30)[:2]) for ranks in (12, 20)]
    scenes, target = [Scene(place) for place in places], Scene(Place(30, places[0].grids))
    chosen = draw.sample(known_conditions(places[0], False), draw.randint(1, 4))
    domain = [draw.choice(chosen).holds(scene) | (scene.place.all % 3 > 0) for scene in scenes]
    seen = [
        reduce(and_, (condition.holds(scene) for condition in chosen), among)
        for scene, among in zip(scenes, domain, strict=True)
    ]
    conditions: dict[tuple[bytes, bytes], str] = {}
    among, wanted = np.concatenate(domain), np.concatenate(seen)
    for condition in known_conditions(places[0], False):
        held = np.concatenate([condition.holds(scene) for scene in scenes]) & among
        if (held & wanted == wanted).all() and (held != among).any():
            key = (held.tobytes(), condition.holds(target).tobytes())
            conditions.setdefault(key, condition.text)
    found = next((level for level in Evidence(scenes, [target]).guards(domain, seen) if level), [])
    expected: list[str] = ["all ranks"] if (among == wanted).all() else []
    for count in range(1, 4):
        for several in combinations(conditions.items(), count):
            if expected and len(expected[0].split(" and ")) < count:
                break
            held = reduce(and_, (np.frombuffer(one[0][0], dtype=np.bool_) for one in several))
            if (held == wanted).all():
                expected.append(" and ".join(text for _, text in several))
    if expected or not found or len(found[0].conditions) < 4:
        assert [guard.text for guard in found] == expected
