"""Gathers, scatters, alltoalls and reduce-scatters of any shape end and bring what they must."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.collectives.schedule_checks import execute, write_schedules
from tisim.actions.collectives.catalogue import ALGORITHMS, algorithm
from tisim.errors import InputError

SIZES = st.integers(1, 40)
COUNTS = st.integers(0, 300_000)


@st.composite
def placements(draw: st.DrawFn) -> list[int]:
    """The hosts of some ranks, in any order and of any number of ranks."""
    return draw(st.lists(st.integers(0, 5), min_size=1, max_size=24))


@given(
    operation=st.sampled_from(["allgather", "alltoall"]),
    placement=placements(),
    count=COUNTS,
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_regular(operation: str, placement: list[int], count: int, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ALGORITHMS[operation]))
    function, size = algorithm(operation, name), len(placement)
    try:
        scripts = write_schedules(size, lambda s: function(s, count, 8, count, 8), placement)
    except InputError:
        return
    for outcome in execute(scripts):
        assert outcome.received >= (size - 1) * count * 8
        assert count == 0 or outcome.seen == set(range(size))


@given(
    operation=st.sampled_from(["gather", "scatter"]),
    placement=placements(),
    count=COUNTS,
    data=st.data(),
)
@settings(max_examples=100, deadline=None)
def test_rooted(operation: str, placement: list[int], count: int, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ALGORITHMS[operation]))
    function, size = algorithm(operation, name), len(placement)
    root = data.draw(st.integers(0, size - 1))
    outcomes = execute(
        write_schedules(size, lambda s: function(s, count, 8, count, 8, root), placement)
    )
    if operation == "gather":
        assert outcomes[root].received >= (size - 1) * count * 8
    else:
        assert all(o.received >= count * 8 for r, o in enumerate(outcomes) if r != root)


@given(data=st.data(), size=SIZES)
@settings(max_examples=100, deadline=None)
def test_blocks_of_any_size(data: st.DataObject, size: int) -> None:
    counts = data.draw(st.lists(COUNTS, min_size=size, max_size=size))
    operation = data.draw(st.sampled_from(["allgatherv", "reduce_scatter"]))
    name = data.draw(st.sampled_from(ALGORITHMS[operation]))
    function = algorithm(operation, name)
    try:
        if operation == "allgatherv":
            scripts = write_schedules(size, lambda s: function(s, counts[s.rank], 8, counts, 8))
        else:
            scripts = write_schedules(size, lambda s: function(s, counts, 8))
    except InputError:
        return
    for rank, outcome in enumerate(execute(scripts)):
        if operation == "allgatherv":
            assert outcome.received >= 8 * (sum(counts) - counts[rank])


@given(data=st.data(), size=st.integers(1, 20))
@settings(max_examples=80, deadline=None)
def test_alltoallv_of_any_matrix(data: st.DataObject, size: int) -> None:
    name = data.draw(st.sampled_from(ALGORITHMS["alltoallv"]))
    function = algorithm("alltoallv", name)
    row = st.lists(COUNTS, min_size=size, max_size=size)
    matrix = data.draw(st.lists(row, min_size=size, max_size=size))
    columns = list(zip(*matrix, strict=True))
    try:
        scripts = write_schedules(
            size, lambda s: function(s, matrix[s.rank], 1, columns[s.rank], 1)
        )
    except InputError:
        return
    for rank, outcome in enumerate(execute(scripts)):
        assert outcome.received >= sum(columns[rank]) - matrix[rank][rank]
