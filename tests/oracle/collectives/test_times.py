"""Collectives, also on communicators: their times, their messages, and the choices of selectors."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import tisim
from tests.oracle.collectives import selector_grid as grid
from tests.oracle.collectives.messages import (
    OPERATIONS,
    Call,
    Trail,
    check,
    selected,
    simgrid,
    trail_of,
)
from tests.oracle.collectives.test_collectives import NOT_EMPTY, calls, fits
from tests.oracle.simgrid_exec import OracleError, run_oracle
from tests.unit.collectives.schedule_checks import comm_split, expand
from tisim._core import decode_call, type_width
from tisim.actions.collectives.catalogue import ALGORITHMS
from tisim.actions.script import Script

pytestmark = pytest.mark.oracle

WITH_ALGORITHMS = tuple(operation for operation, names in ALGORITHMS.items() if names)
WITH_FLOPS = {"reduce", "allreduce", "scan", "exscan"}
OF_VECTORS = {"bcast", *WITH_FLOPS}
HOSTS = [rank // 2 for rank in range(8)]
ROUNDS = max(len(ALGORITHMS[operation]) for operation in WITH_ALGORITHMS)


def trace_line(line: str, flops: str) -> str:
    """Convert a line of the message oracle to one of a trace: in bytes, with a reduction's flops.

    SimGrid fails if calls of different types follow one another and their messages overtake each
    other.
    """
    word, *numbers = line.split()
    if word in OF_VECTORS:
        numbers[0] = str(int(numbers[0]) * (type_width(int(numbers[-1])) or 0))
        numbers[-1] = "6"
    if word in WITH_FLOPS:
        numbers.insert(1, flops)
    return " ".join([word, *numbers])


def write_trace(folder: Path, names: dict[str, str], rng: random.Random) -> None:
    """Write calls of all operations, each after a computation of random length."""
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
    for operation in WITH_ALGORITHMS:
        possible = [name for name in ALGORITHMS[operation] if fits(operation, name, HOSTS)]
        names[operation] = possible[round_number % len(possible)]
    if names["bcast"] == "mvapich2_inter_node":  # on its own, it leaves ranks without the data
        names["bcast"] = "default"
    write_trace(tmp_path, names, random.Random(round_number))
    # SimGrid hangs with graphene's smpi/async-small-thresh.
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


def members_of(rank: int, colors: Sequence[int], keys: Sequence[int]) -> list[int]:
    """Return the world ranks of a rank's new communicator, in its order."""
    same = [other for other in range(len(colors)) if colors[other] == colors[rank]]
    return sorted(same, key=lambda other: (keys[other], other))


def trails(
    rank: int, members: Sequence[int], hosts: Sequence[int], lines: Sequence[str], config: Call
) -> list[Trail]:
    """Return tisim's schedule of a rank for calls on a communicator; peers are world ranks."""
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
            exchanged_parts=known,
        )
        known = script.exchanged_parts
        trail = trail_of(script)
        trail.events = [
            event if event[0] == "wait" else (event[0], members[event[1]], event[2])  # type: ignore[index, misc]
            for event in trail.events
        ]
        found.append(trail)
    return found


def append(trail: Trail, later: Trail) -> None:
    """Append later events of a rank; waits count its requests from the first."""
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


SCATTERED = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
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
    ranks = range(len(SCATTERED))
    first = [f"split {PARTS[rank]} {keys[rank]}\n{lines[0]}" for rank in ranks]
    calls = [Call(first, selected(selector))]
    calls += [Call(line, selected(selector)) for line in lines[1:]]
    theirs = simgrid(calls, SCATTERED)
    for rank in ranks:
        members = members_of(rank, PARTS, keys)
        # The broadcast of the split itself comes first.
        ours = trails(rank, members, SCATTERED, ["bcast 1 0 1", *lines], calls[-1])[1:]
        for line, call, our in zip(lines, theirs, ours, strict=True):
            assert call[rank].events == our.events, f"{line}: rank {rank} of {members}"


PLACEMENTS = {
    "3 hosts": [0, 1, 2],
    "8 hosts": list(range(8)),
    "2 on each of 4": [0, 0, 1, 1, 2, 2, 3, 3],
    "4 on each of 4": [rank // 4 for rank in range(16)],
    "dealt out to 3": [rank % 3 for rank in range(9)],
    "uneven": [0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 1, 1],
    "18 hosts": list(range(18)),
    "16 on each of 2": [rank // 16 for rank in range(32)],
}


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("selector", grid.SELECTORS)
def test_all_operations(selector: str, placement: str) -> None:
    hosts = PLACEMENTS[placement]
    rng = random.Random(f"{selector} {placement}")
    calls = [
        call
        for operation in OPERATIONS
        for call in grid.calls_across(selector, operation, len(hosts), rng, 60 // len(hosts))
    ]
    rng.shuffle(calls)
    check([call for call in calls if not grid.beyond_simgrid(call, hosts)], hosts)


@pytest.mark.parametrize(
    ("selector", "line", "ranks"),
    [
        ("ompi", "alltoallv 3 1 1 1 3 1 1 1 6 6", 3),
        ("ompi", "alltoall 524288 524288 6 6", 6),
        ("mpich", "alltoall 32768 32768 6 6", 3),
        ("mvapich2", "alltoall 262145 262145 6 6", 3),
        ("impi", "allreduce 16000 6", 12),
    ],
)
def test_what_simgrid_cannot_do(selector: str, line: str, ranks: int) -> None:
    call, hosts = Call(line, selected(selector)), list(range(ranks))
    assert grid.beyond_simgrid(call, hosts)
    with pytest.raises(OracleError, match=re.escape("non power of two")):
        check([call], hosts)


def test_simgrid_sends_nothing_in_some_allgathers() -> None:
    hosts = [rank // 16 for rank in range(32)]
    call = Call("allgather 10 10 6 6", selected("mvapich2"))
    assert grid.beyond_simgrid(call, hosts)
    with pytest.raises(AssertionError, match="differs"):
        check([call], hosts)
