"""Making a communicator takes the messages that it takes in SimGrid."""

from __future__ import annotations

import pytest

from tests.oracle.collectives.messages import Call, Trail, selected, simgrid, trail_of
from tests.unit.collectives.schedule_checks import comm_split
from tisim._core import decode_call
from tisim.actions.script import Script
from tisim.actions.vocabulary import expand

pytestmark = pytest.mark.oracle

HOSTS = [0, 0, 1, 1, 2, 2, 3, 3]
COLORS = [0, 1, 0, 2, -1, 1, 0, 1]
KEYS = [5, 0, 5, 0, 0, 9, 1, 0]


def members_of(rank: int) -> list[int]:
    """The world's ranks of the new communicator of a rank, in its order."""
    same = [other for other in range(len(HOSTS)) if COLORS[other] == COLORS[rank]]
    return sorted(same, key=lambda other: (KEYS[other], other))


def append_broadcast(trail: Trail, rank: int, members: list[int], config: Call) -> None:
    """Add what the rank does in the broadcast on a new communicator."""
    script = expand(
        decode_call("bcast", [1, 0, 1], len(members)),
        rank=members.index(rank),
        placement=[HOSTS[member] for member in members],
        order=members,
        config=config,
    )
    before = len(trail.tags)
    later = trail_of(script)
    for event in later.events:
        if event[0] == "wait":
            assert isinstance(event[1], frozenset)
            trail.events.append(("wait", frozenset(number + before for number in event[1])))
        else:
            assert isinstance(event[1], int)
            trail.events.append((event[0], members[event[1]], event[2]))  # type: ignore[misc]
    trail.tags += later.tags


@pytest.mark.parametrize("selector", ["default", "ompi", "mpich", "mvapich2"])
def test_split(selector: str) -> None:
    lines = [f"comm_split {color} {key}" for color, key in zip(COLORS, KEYS, strict=True)]
    call = Call(lines, selected(selector))
    groups = [members_of(rank) for rank in (0, 1, 3)]
    for rank, theirs in enumerate(simgrid([call], HOSTS)[0]):
        script = Script(rank, len(HOSTS))
        comm_split(script, COLORS[rank] >= 0, groups)
        ours = trail_of(script)
        if COLORS[rank] >= 0:
            append_broadcast(ours, rank, members_of(rank), call)
        assert theirs.events == ours.events, rank


@pytest.mark.parametrize("selector", ["default", "mpich"])
def test_dup(selector: str) -> None:
    call = Call("comm_dup", selected(selector))
    for rank, theirs in enumerate(simgrid([call], HOSTS)[0]):
        ours = Trail()
        append_broadcast(ours, rank, list(range(len(HOSTS))), call)
        assert theirs.events == ours.events, rank
