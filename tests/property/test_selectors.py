"""Whatever a selector chooses for whatever call, it ends, and the data reach whom they must."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.collectives.schedule_checks import Outcome, execute
from tisim.actions.collectives.catalogue import SELECTORS, Algorithm, algorithm
from tisim.actions.script import Script

OPERATIONS = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "reduce", "reduce_scatter", "scatter",
)  # fmt: skip


@st.composite
def placements(draw: st.DrawFn) -> list[int]:
    """The hosts of some ranks: any, or the same number on each."""
    if draw(st.booleans()):
        hosts, each = draw(st.integers(1, 6)), draw(st.integers(1, 6))
        placement = [rank // each for rank in range(hosts * each)]
        return placement if draw(st.booleans()) else draw(st.permutations(placement))
    return draw(st.lists(st.integers(0, 5), min_size=1, max_size=40))


@st.composite
def counts(draw: st.DrawFn) -> int:
    """A number of elements of any order of magnitude."""
    return draw(st.integers(0, 1 << draw(st.integers(0, 19))))


def arguments_of(operation: str, count: int, size: int, root: int) -> tuple[Any, ...]:
    if operation == "barrier":
        return ()
    if operation in ("bcast", "reduce"):
        return count, 8, root
    if operation == "allreduce":
        return count, 8
    if operation == "reduce_scatter":
        return [count] * size, 8
    if operation in ("gather", "scatter"):
        return count, 8, count, 8, root
    if operation in ("allgatherv", "alltoallv"):
        sent: int | list[int] = count if operation == "allgatherv" else [count] * size
        return sent, 8, [count] * size, 8
    return count, 8, count, 8


@given(
    selector=st.sampled_from(SELECTORS),
    operation=st.sampled_from(OPERATIONS),
    placement=placements(),
    count=counts(),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_every_choice_does_the_operation(
    selector: str, operation: str, placement: list[int], count: int, data: st.DataObject
) -> None:
    size = len(placement)
    root = data.draw(st.integers(0, size - 1))
    call = arguments_of(operation, count, size, root)
    known = [frozenset[int]()] * size
    for _ in range(2):  # the second time the ranks know where they are
        scripts = [
            Script(rank, size, placement, surveyed=known[rank], choose=chooser(selector))
            for rank in range(size)
        ]
        for script in scripts:
            algorithm(operation, selector)(script, *call)
        known = [script.surveyed for script in scripts]
        if count > 0 or operation == "barrier":
            check(operation, execute(scripts), root)
        else:
            execute(scripts)


def chooser(selector: str) -> Any:
    def choose(operation: str) -> Algorithm:
        return algorithm(operation, selector)

    return choose


def check(operation: str, outcomes: list[Outcome], root: int) -> None:
    """Who must have heard of whom, at least."""
    everybody = set(range(len(outcomes)))
    if operation in ("gather", "reduce"):
        assert outcomes[root].seen == everybody
    elif operation in ("bcast", "scatter"):
        assert all(root in outcome.seen for outcome in outcomes)
    else:
        assert all(outcome.seen == everybody for outcome in outcomes)
