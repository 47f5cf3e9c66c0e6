"""The rows that a schedule's calls write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tisim.actions.script import Endpoint, Script

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
