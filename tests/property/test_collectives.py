"""Collectives of any shape end and bring what they must."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.unit.collectives.schedule_checks import Outcome, execute, write_schedules
from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, algorithm
from tisim.errors import InputError

COUNTS = st.one_of(st.integers(0, 40), st.integers(0, 60_000))
WIDTHS = st.sampled_from([0, 1, 4, 8, 16])
PLACEMENTS = st.lists(st.integers(0, 5), min_size=1, max_size=20)
#: They do not reach every rank with the root's data, or not with all of it.
PARTIAL = {"mvapich2_inter_node", "mvapich2_intra_node", "flattree_pipeline"}


def run(
    operation: str, name: str, placement: list[int], arguments: tuple[int, ...]
) -> list[Outcome] | None:
    """What the ranks have in the end; None where the algorithm is not for that many ranks."""
    function = algorithm(operation, name)
    try:
        scripts = write_schedules(len(placement), lambda s: function(s, *arguments), placement)
    except InputError:
        return None
    return execute(scripts)


def some_name(operation: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*SELECTORS, *ALGORITHMS[operation]])


@given(some_name("bcast"), PLACEMENTS, COUNTS, WIDTHS, st.data())
@settings(max_examples=250, deadline=None)
def test_bcast(
    name: str, placement: list[int], count: int, width: int, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, len(placement) - 1))
    outcomes = run("bcast", name, placement, (count, width, root))
    if outcomes is None or name in PARTIAL or count * width == 0:
        return
    for rank, outcome in enumerate(outcomes):
        assert root in outcome.seen
        assert rank == root or outcome.received >= count * width


@given(some_name("reduce"), PLACEMENTS, COUNTS, WIDTHS, st.data())
@settings(max_examples=200, deadline=None)
def test_reduce(
    name: str, placement: list[int], count: int, width: int, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, len(placement) - 1))
    outcomes = run("reduce", name, placement, (count, width, root))
    assert outcomes is not None
    assert count == 0 or outcomes[root].seen == set(range(len(placement)))


@given(some_name("allreduce"), PLACEMENTS, COUNTS, WIDTHS)
@settings(max_examples=250, deadline=None)
def test_allreduce(name: str, placement: list[int], count: int, width: int) -> None:
    outcomes = run("allreduce", name, placement, (count, width))
    if outcomes is not None and count:
        assert all(outcome.seen == set(range(len(placement))) for outcome in outcomes)


@given(some_name("barrier"), PLACEMENTS)
@settings(max_examples=60, deadline=None)
def test_barrier(name: str, placement: list[int]) -> None:
    # Alone, a rank of this one sends to itself, as in SimGrid; that ends with eager sends only.
    assume(name != "ompi_doublering" or len(placement) > 1)
    outcomes = run("barrier", name, placement, ())
    if outcomes is not None:
        assert all(outcome.seen == set(range(len(placement))) for outcome in outcomes)


SIZES = st.integers(1, 40)
LARGE_COUNTS = st.integers(0, 300_000)


@st.composite
def placements(draw: st.DrawFn) -> list[int]:
    """The hosts of some ranks, in any order and of any number of ranks."""
    return draw(st.lists(st.integers(0, 5), min_size=1, max_size=24))


@given(
    operation=st.sampled_from(["allgather", "alltoall"]),
    placement=placements(),
    count=LARGE_COUNTS,
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
    count=LARGE_COUNTS,
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
    counts = data.draw(st.lists(LARGE_COUNTS, min_size=size, max_size=size))
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
    row = st.lists(LARGE_COUNTS, min_size=size, max_size=size)
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
