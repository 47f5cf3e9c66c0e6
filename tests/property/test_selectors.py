"""With any algorithm or selector, a call ends and the data reach the required ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import campaign
from tests.unit.collectives.schedule_checks import PARTIAL, check, execute
from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, Algorithm, algorithm
from tisim.actions.script import Script
from tisim.errors import InputError


@st.composite
def placements(draw: st.DrawFn) -> list[int]:
    """Draw the hosts of ranks: arbitrary, or with the same number of ranks on each."""
    if draw(st.booleans()):
        hosts, each = draw(st.integers(1, 6)), draw(st.integers(1, 6))
        placement = [rank // each for rank in range(hosts * each)]
        return placement if draw(st.booleans()) else draw(st.permutations(placement))
    return draw(st.lists(st.integers(0, 5), min_size=1, max_size=40))


@st.composite
def counts(draw: st.DrawFn) -> int:
    """Draw a number of elements of any order of magnitude."""
    return draw(st.integers(0, 1 << draw(st.integers(0, 19))))


def drawn_arguments(
    operation: str, size: int, root: int, data: st.DataObject
) -> Callable[[int], tuple[Any, ...]]:
    """Draw the arguments of each rank: equal counts, or arbitrary ones if the operation allows."""
    count, width = data.draw(counts()), data.draw(st.sampled_from([0, 1, 4, 8, 16]))
    lists = st.lists(counts(), min_size=size, max_size=size)
    if operation == "barrier":
        return lambda rank: ()
    if operation in ("bcast", "reduce"):
        return lambda rank: (count, width, root)
    if operation in ("allreduce", "scan", "exscan"):
        return lambda rank: (count, width)
    if operation in ("gather", "scatter"):
        return lambda rank: (count, width, count, width, root)
    if operation in ("allgather", "alltoall"):
        return lambda rank: (count, width, count, width)
    if operation == "alltoallv":
        equal = [[count] * size] * size
        few = size <= 20 and data.draw(st.booleans())
        matrix = data.draw(st.lists(lists, min_size=size, max_size=size)) if few else equal
        return lambda rank: (matrix[rank], width, [row[rank] for row in matrix], width)
    parts = data.draw(lists) if data.draw(st.booleans()) else [count] * size
    own: dict[str, Callable[[int], tuple[Any, ...]]] = {
        "allgatherv": lambda rank: (parts[rank], width, parts, width),
        "gatherv": lambda rank: (parts[rank], width, parts, width, root),
        "scatterv": lambda rank: (parts, width, parts[rank], width, root),
        "reduce_scatter": lambda rank: (parts, width),
    }
    return own[operation]


@given(
    operation=st.sampled_from(sorted(ALGORITHMS)),
    selects=st.booleans(),
    placement=placements(),
    data=st.data(),
)
@settings(max_examples=campaign(200, 900), deadline=None)
def test_every_call_does_the_operation(
    operation: str, selects: bool, placement: list[int], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(SELECTORS if selects else ALGORITHMS[operation] or SELECTORS))
    size = len(placement)
    root = data.draw(st.integers(0, size - 1))
    arguments = drawn_arguments(operation, size, root, data)
    if size == 1 and name == "ompi_doublering":  # sends to itself, as in SimGrid: eager sends only
        return
    known = [frozenset[int]()] * size
    for _ in range(2):  # the second time, the ranks know their placement
        scripts = [
            Script(rank, size, placement, exchanged_parts=known[rank], choose=chooser(name))
            for rank in range(size)
        ]
        try:
            for script in scripts:
                algorithm(operation, name)(script, *arguments(script.rank))
        except InputError:
            return  # unsupported number of ranks, or of ranks per host
        known = [script.exchanged_parts for script in scripts]
        outcomes = execute(scripts)
        if name not in PARTIAL:
            check(operation, outcomes, root, [arguments(rank) for rank in range(size)])


def chooser(name: str) -> Callable[[str], Algorithm]:
    selector = name if name in SELECTORS else "default"
    return lambda operation: algorithm(operation, selector)
