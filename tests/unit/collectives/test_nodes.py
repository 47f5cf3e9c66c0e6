"""Where the ranks are, and the exchange that the first call that asks makes."""

from __future__ import annotations

import pytest

from tisim.actions.nodes import is_part, layout, nodes, surveyed
from tisim.actions.script import Script


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
    # A communicator whose ranks are the world's 6, 4, 2, 0: the last one was started first.
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
    assert not surveyed(first)
    nodes(first)
    assert surveyed(first)
    written = len(first.kinds)
    assert written > 0
    nodes(first)
    assert len(first.kinds) == written
    later = script(0, [0, 0, 1, 1], surveyed=first.surveyed)
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
    assert s.surveyed == {0, 1}
