"""Gathers, scatters, alltoalls and reduce-scatters move every block, and cannot deadlock."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.collectives.schedule_checks import Outcome, execute, write_schedules
from tisim.actions.collectives.alltoall import pair_rma
from tisim.actions.collectives.catalogue import ALGORITHMS, algorithm
from tisim.actions.collectives.halving import reversed_bits
from tisim.actions.collectives.mesh import mesh_2d_sides, mesh_3d_sides
from tisim.actions.script import Script
from tisim.errors import InputError

POWER_OF_TWO = {
    "pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "rhv", "mpich_noncomm",
}  # fmt: skip
PLACEMENTS = {
    "one each": tuple(range(12)),
    "two each": tuple(rank // 2 for rank in range(12)),
    "dealt out": tuple(rank % 4 for rank in range(12)),
    "uneven": (0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 5),
    "together": (0,) * 12,
}
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16]
BLOCK = 100


def possible(operation: str, size: int) -> list[str]:
    """The algorithms of `operation` that work on `size` ranks."""
    names = set(ALGORITHMS[operation])
    if size & (size - 1):
        names -= POWER_OF_TWO
    if size in (5, 7, 11):
        names -= {"2dmesh"}
    if size in (2, 11):
        names -= {"3dmesh"}
    return sorted(names)


def rooted(
    operation: str, name: str, size: int, root: int, placement: Sequence[int] | None = None
) -> list[Outcome]:
    """A gather or a scatter of `BLOCK` bytes a rank."""
    function = algorithm(operation, name)
    return execute(
        write_schedules(size, lambda s: function(s, BLOCK, 1, BLOCK // 4, 4, root), placement)
    )


def regular(
    operation: str, name: str, size: int, placement: Sequence[int] | None = None
) -> list[Outcome]:
    """An allgather or an alltoall of `BLOCK` bytes a rank."""
    function = algorithm(operation, name)
    return execute(write_schedules(size, lambda s: function(s, BLOCK, 1, BLOCK // 4, 4), placement))


def allgatherv(name: str, counts: Sequence[int]) -> list[Outcome]:
    """Rank r contributes ``counts[r]`` elements of two bytes."""
    function = algorithm("allgatherv", name)
    return execute(
        write_schedules(len(counts), lambda s: function(s, counts[s.rank], 2, counts, 2))
    )


def alltoallv(name: str, matrix: Sequence[Sequence[int]]) -> list[Outcome]:
    """Rank r sends ``matrix[r][q]`` elements of two bytes to rank q."""
    function = algorithm("alltoallv", name)
    columns = list(zip(*matrix, strict=True))
    return execute(
        write_schedules(len(matrix), lambda s: function(s, matrix[s.rank], 2, columns[s.rank], 2))
    )


def reduce_scatter(name: str, counts: Sequence[int]) -> list[Outcome]:
    """Rank r keeps ``counts[r]`` elements of two bytes."""
    function = algorithm("reduce_scatter", name)
    return execute(write_schedules(len(counts), lambda s: function(s, counts, 2)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", ["allgather", "alltoall"])
def test_regular_exchanges(operation: str, size: int) -> None:
    for name in possible(operation, size):
        if name == "mvapich2_smp" and size > 1:
            continue
        for outcome in regular(operation, name, size):
            assert outcome.seen == set(range(size)), name
            assert outcome.received >= (size - 1) * BLOCK, name


@pytest.mark.parametrize("size", SIZES)
def test_allgatherv(size: int) -> None:
    counts = [BLOCK + rank for rank in range(size)]
    for name in possible("allgatherv", size):
        for rank, outcome in enumerate(allgatherv(name, counts)):
            assert outcome.seen == set(range(size)), name
            assert outcome.received >= 2 * (sum(counts) - counts[rank]), name


@pytest.mark.parametrize("size", SIZES)
def test_alltoallv(size: int) -> None:
    matrix = [[1 + row + 3 * column for column in range(size)] for row in range(size)]
    for name in possible("alltoallv", size):
        for rank, outcome in enumerate(alltoallv(name, matrix)):
            assert outcome.seen == set(range(size)), name
            assert outcome.received >= 2 * sum(row[rank] for row in matrix) - 2 * matrix[rank][rank]


@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter(size: int) -> None:
    for name in possible("reduce_scatter", size):
        counts = [BLOCK + (0 if name == "mpich_noncomm" else rank) for rank in range(size)]
        for rank, outcome in enumerate(reduce_scatter(name, counts)):
            assert outcome.seen == set(range(size)), name
            assert size == 1 or outcome.received >= 2 * counts[rank], name


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 12])
def test_gather(size: int) -> None:
    for name in ALGORITHMS["gather"]:
        for root in range(size):
            outcome = rooted("gather", name, size, root)[root]
            assert outcome.seen == set(range(size)), name
            assert outcome.received >= (size - 1) * BLOCK, name


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 12])
def test_scatter(size: int) -> None:
    for name in ALGORITHMS["scatter"]:
        for root in range(size):
            for rank, outcome in enumerate(rooted("scatter", name, size, root)):
                assert root in outcome.seen, name
                assert rank == root or outcome.received >= BLOCK, name


@pytest.mark.parametrize("where", PLACEMENTS)
def test_two_levels_on_hosts(where: str) -> None:
    placement, size = PLACEMENTS[where], 12
    for root in range(size):
        gathered = rooted("gather", "mvapich2_two_level", size, root, placement)
        assert gathered[root].seen == set(range(size))
        for name in ("mvapich2_two_level_direct", "mvapich2_two_level_binomial"):
            assert all(root in o.seen for o in rooted("scatter", name, size, root, placement))
    for name in ("loosely_lr", "SMP_NTS", "smp_simple"):
        assert all(o.seen == set(range(size)) for o in regular("allgather", name, size, placement))


@pytest.mark.parametrize("where", ["one each", "two each", "together"])
def test_mvapich2_smp_on_even_hosts(where: str) -> None:
    outcomes = regular("allgather", "mvapich2_smp", 12, PLACEMENTS[where])
    assert all(outcome.seen == set(range(12)) for outcome in outcomes)


@pytest.mark.parametrize("where", ["dealt out", "uneven"])
def test_mvapich2_smp_refuses_other_hosts(where: str) -> None:
    script = Script(0, 12, PLACEMENTS[where])
    with pytest.raises(InputError, match="same number of ranks on every host"):
        algorithm("allgather", "mvapich2_smp")(script, 1, 1, 1, 1)


@pytest.mark.parametrize("counts", [(0,) * 4, (0, 0, 3, 0, 700, 0), (5, 0, 0)])
def test_empty_blocks_are_no_obstacle(counts: tuple[int, ...]) -> None:
    size = len(counts)
    for name in possible("allgatherv", size):
        allgatherv(name, counts)
    for name in set(possible("reduce_scatter", size)) - {"mpich_noncomm"}:
        reduce_scatter(name, counts)
    for name in possible("alltoallv", size):
        alltoallv(name, [[0] * size, *[counts] * (size - 1)])


@pytest.mark.parametrize(
    ("operation", "name"), [("bcast", "NTSL"), ("bcast", "NTSL_Isend"), ("reduce", "ompi_binomial")]
)
def test_a_rank_that_is_alone_sends_itself_nothing(operation: str, name: str) -> None:
    script = Script(0, 1)
    algorithm(operation, name)(script, 1000, 8, 0)
    assert list(script.sizes) == []


def test_large_allgatherv_blocks_travel_in_pieces() -> None:
    counts = (500_000, 0, 300_000, 5)
    function = algorithm("allgatherv", "mpich_ring")
    scripts = write_schedules(4, lambda s: function(s, counts[s.rank], 2, counts, 2))
    outcomes = execute(scripts)
    assert max(max(script.sizes) for script in scripts) == 262144
    assert [o.received for o in outcomes] == [2 * (sum(counts) - own) for own in counts]


@pytest.mark.parametrize(
    ("operation", "name", "size"),
    [
        *(("alltoall", name, 6) for name in sorted(POWER_OF_TWO & set(ALGORITHMS["alltoall"]))),
        ("allgather", "pair", 12),
        ("allgather", "rhv", 3),
        ("alltoall", "2dmesh", 7),
        ("allgather", "2dmesh", 13),
        ("alltoall", "3dmesh", 2),
        ("allgather", "3dmesh", 13),
    ],
)
def test_a_number_of_ranks_that_does_not_fit(operation: str, name: str, size: int) -> None:
    with pytest.raises(
        InputError, match=f"{operation} algorithm {name} .*choose another algorithm"
    ):
        algorithm(operation, name)(Script(0, size), 1, 1, 1, 1)


def test_a_put_finds_its_receive_posted() -> None:
    outcomes = execute(write_schedules(8, lambda s: pair_rma(s, BLOCK, 1, BLOCK, 1)))
    assert all(outcome.seen == set(range(8)) for outcome in outcomes)


def test_noncommutative_blocks_must_be_equal() -> None:
    with pytest.raises(InputError, match="same count for every rank"):
        algorithm("reduce_scatter", "mpich_noncomm")(Script(0, 2), (1, 2), 8)


def test_counts_beyond_32_bits() -> None:
    count = 1 << 40
    script = Script(1, 4)
    algorithm("alltoall", "bruck")(script, count, 8, count, 8)
    assert script.sizes == [2 * 8 * count] * 4


def test_the_segments_of_a_synchronised_gather() -> None:
    for count, first in ((100, 800), (128, 1024), (11520, 1024), (11521, 32768)):
        script = Script(1, 2)
        algorithm("gather", "ompi_linear_sync")(script, count, 8, count, 8, 0)
        assert script.sizes == [0, first, 8 * count - first]


def test_meshes_are_as_square_as_they_can_be() -> None:
    assert [mesh_2d_sides(n, "x") for n in (1, 2, 6, 12, 14, 36)] == [
        (1, 1), (1, 2), (2, 3), (3, 4), (2, 7), (6, 6),
    ]  # fmt: skip
    assert [mesh_3d_sides(n, "x") for n in (1, 3, 8, 12, 27, 3375)] == [
        (1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (15, 15),
    ]  # fmt: skip


def test_reversed_bits() -> None:
    assert [reversed_bits(number, 8) for number in range(8)] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert reversed_bits(0, 1) == 0
