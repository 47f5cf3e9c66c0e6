"""Broadcasts, reductions and barriers of any shape end and bring what they must."""

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
