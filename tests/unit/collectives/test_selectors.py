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
TWO_LEVEL = "mvapich2_two_level"


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


def chosen(selector: str, operation: str, call: Facts) -> tuple[str, dict[str, str]]:
    choice = CHOOSE[selector](operation, call)
    return (choice.name, dict(choice.parameters)) if choice else ("", {})


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
        ("allgatherv", 4, 4 * 256 - 1, "GB"),
        ("allgatherv", 4, 4 * 256, "ompi_neighborexchange"),
        ("barrier", 3, 0, "ompi_recursivedoubling"),
        ("barrier", 4, 0, "ompi_basic_linear"),
        ("barrier", 8, 0, "ompi_recursivedoubling"),
        ("barrier", 64, 0, "ompi_bruck"),
        ("barrier", 256, 0, "ompi_tree"),
        # Stand-ins for what needs a power of two of ranks.
        ("alltoall", 3, 1, "basic_linear"),
        ("alltoall", 7, 524288, "ring"),
        ("alltoall", 4, 524288, "pair"),
        ("alltoallv", 2, 0, "pair"),
        ("alltoallv", 3, 0, "ring"),
    ],
)
def test_ompi(operation: str, ranks: int, nbytes: int, name: str) -> None:
    assert ompi.choose(operation, Facts(ranks, nbytes)) == Choice(name)


@pytest.mark.parametrize(
    ("operation", "call", "name"),
    [
        ("bcast", Facts(9, 12287), "binomial_tree"),
        ("bcast", Facts(8, 12288), "binomial_tree"),
        ("bcast", Facts(10, 12288), "scatter_rdb_allgather"),
        ("bcast", Facts(9, 12288), "scatter_LR_allgather"),
        ("bcast", Facts(10, 524288), "scatter_LR_allgather"),
        ("bcast", Facts(9, 100, per_host=1), "SMP_binomial"),
        ("bcast", Facts(9, 100, per_host=1, part=True), "binomial_tree"),
        ("reduce", Facts(9, 2048, count=8, part=True), "scatter_gather"),
        ("reduce", Facts(9, 2048, count=7, part=True), "binomial"),
        ("reduce", Facts(9, 2047, count=8, part=True), "binomial"),
        ("reduce", Facts(9, 8, count=8), TWO_LEVEL),
        ("allreduce", Facts(9, 2049, count=8, part=True), "rab_rdb"),
        ("allreduce", Facts(9, 2048, count=8, part=True), "rdb"),
        ("allreduce", Facts(9, 2049, count=7, part=True), "rdb"),
        ("allgather", Facts(8, 65535), "rdb"),
        ("allgather", Facts(8, 65536), "ring"),
        ("allgather", Facts(5, 16384), "bruck"),
        ("allgather", Facts(5, 16385), "ring"),
        ("allgatherv", Facts(7), ""),
        ("allgatherv", Facts(8, count=1), "mpich_rdb"),
        ("alltoall", Facts(8, 255), "bruck"),
        ("alltoall", Facts(7, 255), "mvapich2_scatter_dest"),
        ("alltoall", Facts(8, 32768), "ring"),
        ("alltoall", Facts(3, 32768), "ring"),
        ("reduce_scatter", Facts(8, count=524288), "mpich_rdb"),
        ("reduce_scatter", Facts(8, count=524289), "mpich_pair"),
    ],
)
def test_mpich(operation: str, call: Facts, name: str) -> None:
    assert chosen("mpich", operation, call) == (name, {})


@pytest.mark.parametrize(
    ("operation", "call", "name", "parameters"),
    [
        ("bcast", Facts(16, 0, 8192, 1), "mvapich2_inter_node", {"inter": "mpich"}),
        ("bcast", Facts(16, 0, 8193, 1), "mvapich2_inter_node", {"inter": "binomial_tree"}),
        ("bcast", Facts(17, 0, 8193, 1), "mvapich2_inter_node", {"inter": "mpich"}),
        ("bcast", Facts(128, 0, 524289, 1), "scatter_LR_allgather", {}),
        ("alltoall", Facts(16, 0, 64), "rdb", {}),
        ("alltoall", Facts(16, 0, 65), "bruck", {}),
        ("alltoall", Facts(3, 0, 262145), "ring", {}),
        ("alltoall", Facts(4, 0, 262145), "pair", {}),
        ("reduce", Facts(16, 0, 65537, 9000), TWO_LEVEL,
         {"intra": "binomial", "inter": "mvapich2_knomial"}),
        ("reduce", Facts(17, 0, 8192, 1024), TWO_LEVEL,
         {"intra": "ompi_basic_linear", "inter": "mvapich2_knomial"}),
        ("reduce", Facts(16, 0, 262145, 1), "binomial", {}),
        ("reduce", Facts(16, 0, 1048577, 16), "scatter_gather", {}),
        ("reduce", Facts(16, 0, 1048577, 15), "binomial", {}),
        ("allreduce", Facts(16, 0, 1024, 1), TWO_LEVEL, {"intra": "reduce", "inter": "rdb"}),
        ("allreduce", Facts(16, 0, 1025, 1), "mvapich2_rs", {}),
        ("scatter", Facts(8, 0, 512, 0, 2, True), "mvapich2_two_level_direct",
         {"intra": "ompi_binomial"}),
        ("scatter", Facts(8, 0, 512, 0, 2, False), "ompi_binomial", {}),
        ("scatter", Facts(8, 0, 512, 0, 1, True), "ompi_basic_linear", {}),
        ("scatter", Facts(8, 0, 512, 0, None, True), "ompi_basic_linear", {}),
        ("allgather", Facts(8, 0, 32768, 0, 2, True), "rdb", {}),
        ("allgather", Facts(8, 0, 32769, 0, 2, True), "mvapich2_smp", {}),
        ("allgather", Facts(8, 0, 32769, 0, 2, False), "mpich", {}),
        # SimGrid sends no message at all here.
        ("allgather", Facts(32, 0, 1024, 0, 16, True), "rdb", {}),
        ("gather", Facts(8, 0, 10), "mpich", {}),
        ("gather", Facts(33, 0, 256, blocked=True), TWO_LEVEL, {"intra": "mpich"}),
    ],
)  # fmt: skip
def test_mvapich2(operation: str, call: Facts, name: str, parameters: dict[str, str]) -> None:
    assert chosen("mvapich2", operation, call) == (name, parameters)


@pytest.mark.parametrize(
    ("operation", "ranks", "nbytes", "per_host", "name"),
    [
        ("allreduce", 2, 5, 1, "ompi_ring_segmented"),
        ("allreduce", 2, 6, 1, "rdb"),
        ("allreduce", 16, 408, 16, "rdb"),
        ("allreduce", 16, 409, 16, TWO_LEVEL),
        ("allreduce", 12, 16000, 1, "rab_rdb"),
        ("allreduce", 16, 16000, 1, "rab1"),
        ("bcast", 2, 0, 1, "NTSL"),
        ("bcast", 2, 1, 1, "mvapich2"),
        ("bcast", 8, 16336, 1, "mvapich2"),
        ("reduce", 8, 8, 1, "mvapich2"),
    ],
)
def test_impi(operation: str, ranks: int, nbytes: int, per_host: int, name: str) -> None:
    assert impi.choose(operation, Facts(ranks, 0, nbytes, per_host=per_host)) == Choice(name)


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
