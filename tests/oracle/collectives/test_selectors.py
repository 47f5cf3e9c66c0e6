"""The selectors take the algorithms that SimGrid takes, message by message.

A small sample of the grid of `selector_grid`, which has the full one.
"""

from __future__ import annotations

import random
import re

import pytest

from tests.oracle.collectives import selector_grid as grid
from tests.oracle.collectives.messages import OPERATIONS, Call, check, selected
from tests.oracle.simgrid_exec import OracleError

pytestmark = pytest.mark.oracle

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
