"""The rows that a schedule's calls write, the placement of ranks, and cached schedules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import BACKBONE
from tisim.actions.nodes import is_part, is_placement_exchanged, layout, nodes
from tisim.actions.script import Endpoint, Script
from tisim.kernel.driver import Driver
from tisim.platform import Platform
from tisim.simulation.settings import Settings
from tisim.traces import Trace

_ROWS = ("kinds", "peers", "sizes", "tags", "slots")


def _all_ranks(script: Script) -> Endpoint:
    return script


def _a_part(script: Script) -> Endpoint:
    return script.group([0, 2, 3, 5], 3)


@pytest.mark.parametrize("part", [_all_ranks, _a_part])
def test_many_at_once_are_the_same_as_one_after_the_other(
    part: Callable[[Script], Endpoint],
) -> None:
    one, many = Script(2, 6), Script(2, 6)
    a, b = part(one), part(many)
    first = a.irecv(0, 7), b.irecv(0, 7)
    received = [a.irecv(0, 10), a.irecv(3, 20)], b.irecvs([0, 3], [10, 20])
    sent = [a.isend(3, 30), a.isend(0, 0)], b.isends(range(3, -1, -3), [30, 0])
    last = a.isend(2, 5), b.isend(2, 5)
    assert first[0] == first[1] and received[0] == received[1]
    assert sent[0] == sent[1] and last[0] == last[1]
    assert b.irecvs([], []) == []
    for name in _ROWS:
        assert getattr(one, name) == getattr(many, name)


def test_a_wait_for_several_is_a_header_and_a_row_each() -> None:
    script = Script(0, 4)
    requests = script.irecvs([1, 2, 3], [5, 5, 5])
    script.waitall([])
    assert len(script.kinds) == 3
    script.waitall(requests)
    assert script.kinds[3:] == [6] * 4
    assert script.peers[3:] == [3, 0, 0, 0]
    assert script.slots[3:] == [-1, 0, 1, 2]
    assert len({len(getattr(script, name)) for name in _ROWS}) == 1


RANKS = 4
CALLS = 300


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Calls of different sizes, then the first ones again."""
    sizes = [*range(1, CALLS + 1), *range(1, 11)]
    for rank in range(RANKS):
        lines = "".join(f"{rank} allreduce {size} 0 6\n" for size in sizes)
        (tmp_path / f"r{rank}").write_text(lines)
    return Trace.open(tmp_path)


def replayed(trace: Trace, room: int | None) -> tuple[list[float], int]:
    """Return the end times of the ranks and the number of cached schedules."""
    config = {} if room is None else {"tisim/kept-operations": room}
    settings = Settings(Platform.load(BACKBONE), config)
    driver = Driver(settings)
    job = driver.add_job(
        trace.core_with(mistaken_null_is_any=True, custom_actions=(), speedups={}),
        list(range(RANKS)),
    )
    driver.run()
    return driver.core.rank_results(job)["finish"].tolist(), driver.core.kept_schedules()


def test_all_are_kept_where_there_is_room(trace: Trace) -> None:
    assert replayed(trace, None)[1] == RANKS * CALLS


def test_where_there_is_little_room_few_are_kept_and_nothing_else_changes(trace: Trace) -> None:
    ends, kept = replayed(trace, 400)
    assert kept < 60
    assert ends == replayed(trace, None)[0]


def script(rank: int, hosts: list[int], **more: object) -> Script:
    return Script(rank, len(hosts), tuple(hosts), **more)  # type: ignore[arg-type]


def test_layout_of_blocks() -> None:
    found = layout(script(0, [5, 5, 2, 2, 9]))
    assert found.node == (0, 0, 1, 1, 2)
    assert found.ranks == ((0, 1), (2, 3), (4,))
    assert found.leaders == (0, 2, 4)
    assert found.sizes == (2, 2, 1)
    assert not found.uniform
    assert found.blocked


def test_layout_of_ranks_dealt_out_in_turn() -> None:
    found = layout(script(0, [0, 1, 0, 1]))
    assert found.ranks == ((0, 2), (1, 3))
    assert found.uniform
    assert not found.blocked


def test_one_rank_a_host_is_uniform_and_blocked() -> None:
    found = layout(script(0, [3, 2, 1]))
    assert found.uniform
    assert found.blocked
    assert found.leaders == (0, 1, 2)


def test_the_order_of_start_decides_who_leads() -> None:
    # The communicator's ranks are the world's 6, 4, 2, 0: the last one was started first.
    found = layout(script(0, [1, 1, 0, 0], order=(6, 4, 2, 0)))
    assert found.ranks == ((3, 2), (1, 0))
    assert found.leaders == (3, 1)
    assert found.node == (1, 1, 0, 0)
    assert not found.blocked


@pytest.mark.parametrize("rank", range(4))
def test_parts(rank: int) -> None:
    found = nodes(script(rank, [0, 0, 1, 1]))
    assert found.intra.rank == rank % 2
    assert found.intra.size == 2
    assert is_part(found.intra)
    assert found.leader_of(3) == 2
    if rank % 2:
        assert found.leaders is None
    else:
        assert found.leaders is not None
        assert (found.leaders.rank, found.leaders.size) == (rank // 2, 2)


def test_only_the_first_call_exchanges() -> None:
    first = script(0, [0, 0, 1, 1])
    assert not is_placement_exchanged(first)
    nodes(first)
    assert is_placement_exchanged(first)
    written = len(first.kinds)
    assert written > 0
    nodes(first)
    assert len(first.kinds) == written
    later = script(0, [0, 0, 1, 1], exchanged_parts=first.exchanged_parts)
    nodes(later)
    assert not later.kinds


def test_a_part_exchanges_for_itself() -> None:
    s = script(0, [0, 0, 1, 1])
    found = nodes(s)
    written = len(s.kinds)
    inner = nodes(found.intra)
    assert len(s.kinds) > written
    assert inner.layout.sizes == (2,)
    assert inner.leaders is not None
    assert inner.leaders.size == 1
    assert s.exchanged_parts == {0, 1}
