"""Making a communicator, and calls on one, take the messages that they take in SimGrid.

The ranks of a communicator may be in any order. MPI_Comm_split ends with a broadcast of one integer
on the new communicator, so that what that broadcast asks about the placement is known to the first
call.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.oracle.collectives import selector_grid as grid
from tests.oracle.collectives.messages import Call, Trail, selected, simgrid, trail_of
from tests.unit.collectives.schedule_checks import comm_split, expand
from tisim._core import decode_call
from tisim.actions.script import Script

pytestmark = pytest.mark.oracle


def members_of(rank: int, colors: Sequence[int], keys: Sequence[int]) -> list[int]:
    """The world's ranks of the new communicator of a rank, in its order."""
    same = [other for other in range(len(colors)) if colors[other] == colors[rank]]
    return sorted(same, key=lambda other: (keys[other], other))


def trails(
    rank: int, members: Sequence[int], hosts: Sequence[int], lines: Sequence[str], config: Call
) -> list[Trail]:
    """What tisim schedules for a rank in calls on a communicator; peers are ranks of the world."""
    known: frozenset[int] = frozenset()
    found = []
    for line in lines:
        word, *numbers = line.split()
        script = expand(
            decode_call(word, [float(number) for number in numbers], len(members)),
            rank=members.index(rank),
            placement=[hosts[member] for member in members],
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
    return found


def append(trail: Trail, later: Trail) -> None:
    """Add what a rank does later, whose waits count its requests from the first."""
    before = len(trail.tags)
    for event in later.events:
        if event[0] == "wait":
            assert isinstance(event[1], frozenset)
            trail.events.append(("wait", frozenset(number + before for number in event[1])))
        else:
            trail.events.append(event)
    trail.tags += later.tags


PAIRS = [0, 0, 1, 1, 2, 2, 3, 3]
COLORS = [0, 1, 0, 2, -1, 1, 0, 1]
KEYS = [5, 0, 5, 0, 0, 9, 1, 0]


@pytest.mark.parametrize("selector", ["default", "ompi", "mpich", "mvapich2"])
def test_split(selector: str) -> None:
    lines = [f"comm_split {color} {key}" for color, key in zip(COLORS, KEYS, strict=True)]
    call = Call(lines, selected(selector))
    groups = [members_of(rank, COLORS, KEYS) for rank in (0, 1, 3)]
    for rank, theirs in enumerate(simgrid([call], PAIRS)[0]):
        script = Script(rank, len(PAIRS))
        comm_split(script, COLORS[rank] >= 0, groups)
        ours = trail_of(script)
        if COLORS[rank] >= 0:
            members = members_of(rank, COLORS, KEYS)
            append(ours, trails(rank, members, PAIRS, ["bcast 1 0 1"], call)[0])
        assert theirs.events == ours.events, rank


@pytest.mark.parametrize("selector", ["default", "mpich"])
def test_dup(selector: str) -> None:
    call = Call("comm_dup", selected(selector))
    for rank, theirs in enumerate(simgrid([call], PAIRS)[0]):
        ours = trails(rank, range(len(PAIRS)), PAIRS, ["bcast 1 0 1"], call)[0]
        assert theirs.events == ours.events, rank


HOSTS = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
PARTS = [0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0]
ORDERS = {
    "in order": [0] * 12,
    "reversed": [12 - rank for rank in range(12)],
    "shuffled": [5, 1, 9, 2, 0, 7, 3, 3, 8, 1, 6, 4],
}
LINES = (
    "bcast 20000 1 6", "reduce 1000 2 0", "allreduce 100 0", "allreduce 5000 1", "barrier",
    "gather 50 50 1 6 6", "scatter 50 50 1 6 6", "allgather 64 64 6 6", "bcast 10 0 1",
)  # fmt: skip


@pytest.mark.parametrize("keys", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("selector", grid.SELECTORS)
def test_calls_on_a_part_of_the_world(selector: str, keys: list[int]) -> None:
    lines = random.Random(selector).sample(LINES, len(LINES))
    ranks = range(len(HOSTS))
    first = [f"split {PARTS[rank]} {keys[rank]}\n{lines[0]}" for rank in ranks]
    calls = [Call(first, selected(selector))]
    calls += [Call(line, selected(selector)) for line in lines[1:]]
    theirs = simgrid(calls, HOSTS)
    for rank in ranks:
        members = members_of(rank, PARTS, keys)
        # The split's own broadcast first.
        ours = trails(rank, members, HOSTS, ["bcast 1 0 1", *lines], calls[-1])[1:]
        for line, call, our in zip(lines, theirs, ours, strict=True):
            assert call[rank].events == our.events, f"{line}: rank {rank} of {members}"
