"""What the selectors decide at and around their thresholds."""

from __future__ import annotations

import doctest
import functools
import inspect
import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, algorithm
from tisim.actions.selectors import impi, mpich, mvapich2, ompi
from tisim.actions.selectors.choice import Choice, Facts, read_tables

OPERATIONS = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "reduce", "reduce_scatter", "scatter",
)  # fmt: skip
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "selectors.md"
MODULES = {"ompi": ompi, "mpich": mpich, "mvapich2": mvapich2, "impi": impi}
CHOOSE = {
    "ompi": ompi.choose,
    "mpich": mpich.choose,
    "mvapich2": mvapich2.choose,
    "impi": impi.choose,
}


@pytest.mark.parametrize("selector", ["ompi", "mvapich2", "impi", "openmpi"])
def test_bounds_ascend_and_nothing_is_left_over(selector: str) -> None:
    for operation, rows in read_tables(selector).items():
        for entries in (rows, *(row.sizes for row in rows), *(row.on_host for row in rows)):
            bounds = [entry[0] for entry in entries]
            assert bounds == sorted(set(bounds)), operation
            assert not bounds or bounds[-1] == math.inf, operation


# Inputs of a selector's decisions beside ranks and bytes.
FLAGS: dict[str, dict[str, tuple[int | None, ...]]] = {
    "ompi": {},
    "mpich": {"part": (False, True), "per_host": (None, 1)},
    "mvapich2": {"blocked": (False, True), "per_host": (None, 1, 2, 4, 16)},
    "impi": {"per_host": (1, 2, 3, 4, 8, 16)},
}


@functools.cache
def choices() -> set[tuple[str, str, str, tuple[tuple[str, str], ...]]]:
    """(selector, operation, name, parameters) over many ranks, sizes and placements."""
    found = set()
    sizes = sorted({0, 1, *(1 << k for k in range(1, 24)), 45, 10000, 170000})
    ranks = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 300, 600, 1200, 3000, 9000)
    for selector, flags in FLAGS.items():
        for p, n, width, *values in itertools.product(ranks, sizes, (1, 8), *flags.values()):
            flagged = dict(zip(flags, values, strict=True))
            call = replace(Facts(p, n, n, n // width), **flagged)  # type: ignore[arg-type]
            for operation in OPERATIONS:
                choice = CHOOSE[selector](operation, call)
                if choice is not None:
                    parameters = tuple(choice.parameters.items())
                    found.add((selector, operation, choice.name, parameters))
    return found


def test_every_choice_exists_and_takes_its_parameters() -> None:
    seen = {choice[1:] for choice in choices()}
    assert len(seen) > 60
    for operation, name, parameters in seen:
        assert name in ALGORITHMS[operation] or name in SELECTORS, (operation, name)
        taken = inspect.signature(algorithm(operation, name)).parameters
        assert set(dict(parameters)) <= set(taken), (operation, name)


def test_impi_counts_other_placements_as_one_rank_a_host() -> None:
    def choose(ranks: int, nbytes: int, per_host: int | None) -> Choice:
        return impi.choose("allreduce", Facts(ranks, 0, nbytes, per_host=per_host))

    for per_host in (None, 3, 5, 6, 32):
        assert choose(6, 20000, per_host) == choose(6, 20000, 1)
    assert choose(8, 15000, 2) != choose(8, 15000, 1)


def test_the_documentation_has_every_choice() -> None:
    documented = set()
    for operation, section in sections():
        for row in section.split("\n"):
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if row.startswith("| `") and len(cells) == 1 + len(MODULES):
                name = cells[0].strip("`")
                takers = [s for s, cell in zip(MODULES, cells[1:], strict=True) if cell]
                documented |= {(selector, operation, name) for selector in takers}
    assert documented == {choice[:3] for choice in choices()}


def test_the_documentation_has_every_algorithm() -> None:
    for operation, section in sections():
        for name in ALGORITHMS[operation]:
            assert f"`{name}`" in section, (operation, name)


def test_the_documentation_s_examples() -> None:
    assert doctest.testfile(str(DOCUMENTATION), module_relative=False).failed == 0


def sections() -> list[tuple[str, str]]:
    """The operations of the documentation with their texts."""
    parts = DOCUMENTATION.read_text().split("### ")[1:]
    return [(part.split()[0], part) for part in parts]
