"""What the selectors decide at and around their thresholds."""

from __future__ import annotations

import doctest
import functools
import inspect
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, algorithm
from tisim.actions.selectors import (
    default,
    impi,
    impi_tables,
    mpich,
    mvapich2,
    mvapich2_tables,
    ompi,
    ompi_tables,
)
from tisim.actions.selectors.choice import Choice

OPERATIONS = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "reduce", "reduce_scatter", "scatter",
)  # fmt: skip
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "selectors.md"
MODULES = {"ompi": ompi, "mpich": mpich, "mvapich2": mvapich2, "impi": impi}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("selector", MODULES)
def test_signatures_are_those_of_the_default_selector(selector: str, operation: str) -> None:
    mine = inspect.signature(getattr(MODULES[selector], operation))
    assert mine == inspect.signature(getattr(default, operation))
    assert algorithm(operation, selector) is getattr(MODULES[selector], operation)


def tables_of(module: ModuleType) -> dict[str, Any]:
    return {
        name: value for name, value in vars(module).items() if name.isupper() and name != "REST"
    }


@pytest.mark.parametrize("module", [ompi_tables, mvapich2_tables, impi_tables])
def test_bounds_ascend_and_nothing_is_left_over(module: ModuleType) -> None:
    for name, table in tables_of(module).items():
        parts = [tuple(table)] if not isinstance(table, dict) else list(table.values())
        for rows in parts:
            check_bounds(f"{module.__name__}.{name}", rows)
            for row in rows:
                for entries in row[1:]:
                    if isinstance(entries, tuple):
                        check_bounds(f"{module.__name__}.{name} {row[0]}", entries)


def check_bounds(where: str, rows: Any) -> None:
    bounds = [row[0] for row in rows]
    assert bounds == sorted(set(bounds)), where
    assert bounds[-1] == math.inf, where


@functools.cache
def choices() -> list[tuple[str, str, Choice]]:
    """Every (selector, operation, choice) over many ranks, sizes and placements."""
    found: list[tuple[str, str, Choice]] = []
    sizes = sorted({0, 1, *(1 << k for k in range(1, 24)), 45, 10000, 170000})
    for ranks in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 300, 600, 1200, 3000, 9000):
        for nbytes in sizes:
            found += [("ompi", op, choice) for op, choice in choices_of(ompi, ranks, nbytes)]
            found += [("mpich", op, choice) for op, choice in choices_of(mpich, ranks, nbytes)]
            found += [("mvapich2", op, c) for op, c in choices_of(mvapich2, ranks, nbytes)]
            for per_host in (1, 2, 3, 4, 8, 16):
                more = choices_of(impi, ranks, nbytes, per_host=per_host)
                found += [("impi", op, choice) for op, choice in more]
    return found


def choices_of(
    module: ModuleType, ranks: int, nbytes: int, **known: object
) -> list[tuple[str, Choice]]:
    """What the `choose_` functions of a module say, for every value of their flags."""
    values: dict[str, tuple[object, ...]] = {
        "ranks": (ranks,),
        "nbytes": (nbytes,),
        "count": (nbytes, nbytes // 8),
        "part": (False, True),
        "uniform": (False, True),
        "blocked": (False, True),
        "per_host": (None, 1, 2, 4, 16),
    }
    values |= {name: (value,) for name, value in known.items()}
    found = []
    for operation in OPERATIONS:
        function = getattr(module, f"choose_{operation}")
        combinations: list[dict[str, object]] = [{}]
        for name in inspect.signature(function).parameters:
            combinations = [c | {name: value} for c in combinations for value in values[name]]
        for arguments in combinations:
            choice = function(**arguments)
            if choice is not None:
                found.append((operation, choice))
    return found


def test_every_choice_exists_and_takes_its_parameters() -> None:
    seen = {(op, c.name, tuple(c.parameters.items())) for _, op, c in choices()}
    assert len(seen) > 60
    for operation, name, parameters in seen:
        assert name in ALGORITHMS[operation] or name in SELECTORS, (operation, name)
        assert set(dict(parameters)) <= set(
            inspect.signature(algorithm(operation, name)).parameters
        ), (operation, name)


@pytest.mark.parametrize(
    ("operation", "ranks", "nbytes", "name"),
    [
        ("bcast", 3, 31, "ompi_pipeline"),
        ("bcast", 3, 32, "NTSB"),
        ("bcast", 3, 1023, "mvapich2_knomial_intra_node"),
        ("bcast", 3, 1024, "NTSL"),
        ("bcast", 16, 4095, "mvapich2_knomial_intra_node"),
        ("bcast", 16, 4096, "binomial_tree"),
        ("bcast", 16, 1 << 20, "scatter_rdb_allgather"),
        ("bcast", 15, 1 << 20, "NTSL"),
        ("bcast", 600, 16384, "ompi_split_bintree"),
        ("reduce", 2, 15, "ompi_binary"),
        ("reduce", 2, 16, "ompi_pipeline"),
        ("reduce", 2, 524288, "ompi_chain"),
        ("reduce", 300, 8192, "ompi_in_order_binary"),
        ("allreduce", 3, 7, "lr"),
        ("allreduce", 3, 8, "rdb"),
        ("allreduce", 3, 65536, "ompi_ring_segmented"),
        ("allreduce", 3, 262144, "rab_rdb"),
        ("allreduce", 128, 131071, "redbcast"),
        ("alltoall", 2, 1, "pair"),
        ("alltoall", 2, 2, "basic_linear"),
        ("alltoall", 16, 511, "bruck"),
        ("alltoall", 16, 512, "basic_linear"),
        ("allgather", 2, 1 << 20, "pair"),
        ("allgather", 33, 1023, "rdb"),
        ("allgather", 33, 65535, "ompi_neighborexchange"),
        ("allgather", 33, 65536, "ring"),
        ("gather", 3, 1, "ompi_linear_sync"),
        ("gather", 7, 262144, "ompi_linear_sync"),
        ("gather", 8, 262144, "ompi_binomial"),
        ("scatter", 8, 16383, "ompi_binomial"),
        ("scatter", 8, 16384, "ompi_linear_nb"),
        ("reduce_scatter", 4, 7, "default"),
        ("reduce_scatter", 4, 8, "ompi_basic_recursivehalving"),
        ("reduce_scatter", 32, 2048, "ompi_butterfly"),
    ],
)
def test_ompi(operation: str, ranks: int, nbytes: int, name: str) -> None:
    assert getattr(ompi, f"choose_{operation}")(ranks, nbytes) == Choice(name)


def test_ompi_decides_on_the_mean_block_of_an_allgatherv() -> None:
    assert ompi.choose_allgatherv(4, 4 * 256 - 1) == Choice("GB")
    assert ompi.choose_allgatherv(4, 4 * 256) == Choice("ompi_neighborexchange")


@pytest.mark.parametrize(
    ("ranks", "name"),
    [(3, "ompi_recursivedoubling"), (4, "ompi_basic_linear"), (8, "ompi_recursivedoubling"),
     (64, "ompi_bruck"), (256, "ompi_tree")],
)  # fmt: skip
def test_ompi_barrier(ranks: int, name: str) -> None:
    assert ompi.choose_barrier(ranks) == Choice(name)


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (ompi.choose_alltoall(3, 1), "basic_linear"),
        (ompi.choose_alltoall(7, 524288), "ring"),
        (ompi.choose_alltoall(4, 524288), "pair"),
        (ompi.choose_alltoallv(2), "pair"),
        (ompi.choose_alltoallv(3), "ring"),
        (mpich.choose_alltoall(3, 32768), "ring"),
        (mvapich2.choose_alltoall(3, 262145), "ring"),
        (mvapich2.choose_alltoall(4, 262145), "pair"),
        (impi.choose_allreduce(12, 16000, 1), "rab_rdb"),
        (impi.choose_allreduce(16, 16000, 1), "rab1"),
    ],
)
def test_what_needs_a_power_of_two_has_a_stand_in(choice: Choice, name: str) -> None:
    assert choice == Choice(name)


def test_mpich_bcast() -> None:
    def choose(ranks: int, nbytes: int, part: bool = True, uniform: bool = False) -> str:
        return mpich.choose_bcast(ranks, nbytes, part=part, uniform=uniform).name

    assert choose(9, 12287) == "binomial_tree"
    assert choose(8, 12288) == "binomial_tree"
    assert choose(10, 12288) == "scatter_rdb_allgather"
    assert choose(9, 12288) == "scatter_LR_allgather"
    assert choose(10, 524288) == "scatter_LR_allgather"
    assert choose(9, 100, part=False, uniform=True) == "SMP_binomial"
    assert choose(9, 100, part=False, uniform=False) == "binomial_tree"


def test_mpich_reductions() -> None:
    assert mpich.choose_reduce(9, 8, 2048, part=True) == Choice("scatter_gather")
    assert mpich.choose_reduce(9, 7, 2048, part=True) == Choice("binomial")
    assert mpich.choose_reduce(9, 8, 2047, part=True) == Choice("binomial")
    assert mpich.choose_allreduce(9, 8, 2049, part=True) == Choice("rab_rdb")
    assert mpich.choose_allreduce(9, 8, 2048, part=True) == Choice("rdb")
    assert mpich.choose_allreduce(9, 7, 2049, part=True) == Choice("rdb")
    assert mpich.choose_reduce(9, 8, 8, part=False) == Choice("mvapich2_two_level")


def test_mpich_exchanges() -> None:
    assert mpich.choose_allgather(8, 524287) == Choice("rdb")
    assert mpich.choose_allgather(8, 524288) == Choice("ring")
    assert mpich.choose_allgather(7, 81920) == Choice("bruck")
    assert mpich.choose_allgather(7, 81921) == Choice("ring")
    assert mpich.choose_allgatherv(7, 0) is None
    assert mpich.choose_allgatherv(8, 1) == Choice("mpich_rdb")
    assert mpich.choose_alltoall(8, 255) == Choice("bruck")
    assert mpich.choose_alltoall(7, 255) == Choice("mvapich2_scatter_dest")
    assert mpich.choose_alltoall(8, 32768) == Choice("ring")
    assert mpich.choose_reduce_scatter(524288) == Choice("mpich_rdb")
    assert mpich.choose_reduce_scatter(524289) == Choice("mpich_pair")


def test_mvapich2_bounds_are_included() -> None:
    inter = "mvapich2_inter_node"
    assert mvapich2.choose_bcast(16, 8192) == Choice(inter, {"inter": "mpich"})
    assert mvapich2.choose_bcast(16, 8193) == Choice(inter, {"inter": "binomial_tree"})
    assert mvapich2.choose_bcast(17, 8193) == Choice(inter, {"inter": "mpich"})
    assert mvapich2.choose_bcast(128, 524289) == Choice("scatter_LR_allgather")
    assert mvapich2.choose_alltoall(16, 64) == Choice("rdb")
    assert mvapich2.choose_alltoall(16, 65) == Choice("bruck")


def test_mvapich2_reductions() -> None:
    two_level = "mvapich2_two_level"
    linear, knomial = "ompi_basic_linear", "mvapich2_knomial"
    assert mvapich2.choose_reduce(16, 9000, 65537) == Choice(
        two_level, {"intra": "binomial", "inter": knomial}
    )
    assert mvapich2.choose_reduce(17, 1024, 8192) == Choice(
        two_level, {"intra": linear, "inter": knomial}
    )
    assert mvapich2.choose_reduce(16, 1, 262145) == Choice("binomial")
    assert mvapich2.choose_reduce(16, 16, 1048577) == Choice("scatter_gather")
    assert mvapich2.choose_reduce(16, 15, 1048577) == Choice("binomial")
    assert mvapich2.choose_allreduce(16, 1024) == Choice(
        two_level, {"intra": "reduce", "inter": "rdb"}
    )
    assert mvapich2.choose_allreduce(16, 1025) == Choice("mvapich2_rs")


def test_mvapich2_looks_at_the_placement() -> None:
    two_level = "mvapich2_two_level_direct"
    assert mvapich2.choose_scatter(8, 512, per_host=2, blocked=True) == Choice(
        two_level, {"intra": "ompi_binomial"}
    )
    assert mvapich2.choose_scatter(8, 512, per_host=2, blocked=False) == Choice("ompi_binomial")
    assert mvapich2.choose_scatter(8, 512, per_host=1, blocked=True) == Choice("ompi_basic_linear")
    assert mvapich2.choose_scatter(8, 512, per_host=None, blocked=True).name == "ompi_basic_linear"
    smp = {"per_host": 2, "blocked": True}
    assert mvapich2.choose_allgather(8, 32768, **smp) == Choice("rdb")  # type: ignore[arg-type]
    assert mvapich2.choose_allgather(8, 32769, **smp).name == "mvapich2_smp"  # type: ignore[arg-type]
    assert mvapich2.choose_allgather(8, 32769, per_host=2, blocked=False) == Choice("mpich")
    assert mvapich2.choose_gather(8, 10, blocked=False) == Choice("mpich")
    assert mvapich2.choose_gather(33, 256, blocked=True) == Choice(
        "mvapich2_two_level", {"intra": "mpich"}
    )


def test_mvapich2_allgather_of_16_ranks_a_host_does_gather() -> None:
    # SimGrid sends no message at all here.
    assert mvapich2.choose_allgather(32, 1024, per_host=16, blocked=True) == Choice("rdb")


def test_impi_bounds_are_excluded() -> None:
    assert impi.choose_allreduce(2, 5, 1) == Choice("ompi_ring_segmented")
    assert impi.choose_allreduce(2, 6, 1) == Choice("rdb")
    assert impi.choose_allreduce(16, 408, 16) == Choice("rdb")
    assert impi.choose_allreduce(16, 409, 16) == Choice("mvapich2_two_level")
    assert impi.choose_bcast(2, 0, 1) == Choice("NTSL")
    assert impi.choose_bcast(2, 1, 1) == Choice("mvapich2")
    assert impi.choose_bcast(8, 16336, 1) == Choice("mvapich2")
    assert impi.choose_reduce() == Choice("mvapich2")


def test_impi_counts_other_placements_as_one_rank_a_host() -> None:
    for per_host in (3, 5, 6, 32):
        assert impi.choose_allreduce(6, 20000, per_host) == impi.choose_allreduce(6, 20000, 1)
    assert impi.choose_allreduce(8, 15000, 2) != impi.choose_allreduce(8, 15000, 1)


def test_the_documentation_has_every_choice() -> None:
    documented = set()
    for operation, section in sections():
        for row in section.split("\n"):
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if row.startswith("| `") and len(cells) == 1 + len(MODULES):
                name = cells[0].strip("`")
                takers = [s for s, cell in zip(MODULES, cells[1:], strict=True) if cell]
                documented |= {(selector, operation, name) for selector in takers}
    assert documented == {(selector, op, choice.name) for selector, op, choice in choices()}


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
