"""The selectors on parts of the world that MPI_Comm_split makes, whose ranks may be in any order.

MPI_Comm_split ends with a broadcast of one integer on the new communicator, so that what that
broadcast asks about the placement is known to the first call.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.oracle.collectives import selector_grid as grid
from tests.oracle.collectives.messages import Call, Trail, selected, simgrid, trail_of
from tisim._core import decode_call
from tisim.actions.vocabulary import expand

pytestmark = pytest.mark.oracle

HOSTS = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
COLORS = [0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0]
KEYS = {
    "in order": [0] * 12,
    "reversed": [12 - rank for rank in range(12)],
    "shuffled": [5, 1, 9, 2, 0, 7, 3, 3, 8, 1, 6, 4],
}
LINES = (
    "bcast 20000 1 6", "reduce 1000 2 0", "allreduce 100 0", "allreduce 5000 1", "barrier",
    "gather 50 50 1 6 6", "scatter 50 50 1 6 6", "allgather 64 64 6 6", "bcast 10 0 1",
)  # fmt: skip


def members_of(rank: int, keys: Sequence[int]) -> list[int]:
    """The world ranks of the new communicator of `rank`, in its order."""
    same = [other for other in range(len(HOSTS)) if COLORS[other] == COLORS[rank]]
    return sorted(same, key=lambda other: (keys[other], other))


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("selector", grid.SELECTORS)
def test_calls_on_a_part_of_the_world(selector: str, keys: list[int]) -> None:
    lines = random.Random(selector).sample(LINES, len(LINES))
    ranks = range(len(HOSTS))
    first = [f"split {COLORS[rank]} {keys[rank]}\n{lines[0]}" for rank in ranks]
    calls = [Call(first, selected(selector))]
    calls += [Call(line, selected(selector)) for line in lines[1:]]
    theirs = simgrid(calls, HOSTS)
    for rank in ranks:
        members = members_of(rank, keys)
        ours = trails(rank, members, lines, calls[-1])
        for line, call, our in zip(lines, theirs, ours, strict=True):
            assert call[rank].events == our.events, f"{line}: rank {rank} of {members}"


def trails(rank: int, members: list[int], lines: list[str], config: Call) -> list[Trail]:
    """What tisim schedules for a rank, with the world's ranks as peers."""
    known: frozenset[int] = frozenset()
    found = []
    for line in ["bcast 1 0 1", *lines]:  # the split's own broadcast first
        word, *numbers = line.split()
        script = expand(
            decode_call(word, [float(number) for number in numbers], len(members)),
            rank=members.index(rank),
            placement=[HOSTS[member] for member in members],
            order=members,
            config=config,
            surveyed=known,
        )
        known = script.surveyed
        trail = trail_of(script)
        trail.events = [
            event if event[0] == "wait" else (event[0], members[event[1]], event[2])  # type: ignore[index, misc]
            for event in trail.events
        ]
        found.append(trail)
    return found[1:]
