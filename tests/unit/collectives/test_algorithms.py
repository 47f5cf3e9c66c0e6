"""The schedules of all algorithms and selectors move the data and cannot deadlock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.collectives.schedule_checks import (
    PARTIAL,
    Outcome,
    check,
    comm_split,
    execute,
    write_schedules,
)
from tisim.actions.collectives import nonblocking, segments, trees
from tisim.actions.collectives.catalogue import ALGORITHMS, APPROXIMATIONS, SELECTORS, algorithm
from tisim.actions.collectives.halving import reversed_bits
from tisim.actions.collectives.mesh import mesh_2d_sides, mesh_3d_sides
from tisim.actions.collectives.segments import Pieces
from tisim.actions.script import Script
from tisim.errors import InputError

PLACEMENTS = {
    "one each": tuple(range(12)),
    "two each": tuple(rank // 2 for rank in range(12)),
    "three each": tuple(rank // 3 for rank in range(12)),
    "dealt out": tuple(rank % 4 for rank in range(12)),
    "uneven": (0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 5),
    "together": (0,) * 12,
}
ROOTED = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16]
COUNTS = [0, 1, 5, 3001, 40_000]
POWER_OF_TWO = {
    "pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "pair_rma", "rhv",
    "mpich_noncomm", "rab1", "smp_rsag_rab",
}  # fmt: skip


def possible(operation: str, size: int, *, even_hosts: bool = True) -> list[str]:
    """Return the algorithms that support `size` ranks, and the selectors."""
    names = {*SELECTORS, *ALGORITHMS[operation], *APPROXIMATIONS.get(operation, ())}
    if size & (size - 1):
        names -= POWER_OF_TWO
    if size != 2:
        names -= {"ompi_two_procs"}
    if size == 1:
        names -= {"ompi_doublering"}  # the rank sends to itself, as in SimGrid: eager sends only
    if size in (5, 7, 11):
        names -= {"2dmesh"}
    if size in (2, 11):
        names -= {"3dmesh"}
    if not even_hosts:
        names -= {"mvapich2_smp"}
    return sorted(names)


def arguments(operation: str, name: str, rank: int, size: int, root: int, count: int) -> Any:
    """Return the arguments of a rank, with different block sizes if the algorithm takes them."""
    if operation == "barrier":
        return ()
    if operation in ("bcast", "reduce"):
        return count, 8, root
    if operation in ("allreduce", "scan", "exscan"):
        return count, 8
    if operation in ("gather", "scatter", "allgather", "alltoall"):
        blocks = 4 * count, 1, count, 4
        return (*blocks, root) if operation in ROOTED else blocks
    counts = [count + (0 if name == "mpich_noncomm" else i % 3 * count) for i in range(size)]
    if operation == "alltoallv":
        row = [count + rank + 3 * column for column in range(size)]
        return row, 2, [count + other + 3 * rank for other in range(size)], 2
    return {
        "allgatherv": (counts[rank], 2, counts, 2),
        "gatherv": (counts[rank], 2, counts, 2, root),
        "scatterv": (counts, 2, counts[rank], 2, root),
        "reduce_scatter": (counts, 2),
    }[operation]


def run(
    operation: str, name: str, size: int, given: Any, placement: tuple[int, ...] | None = None
) -> list[Outcome]:
    """Return the outcomes of the ranks; `given`: arguments of all ranks, or a function of rank."""
    function = algorithm(operation, name)
    of = given if callable(given) else lambda rank: given
    return execute(write_schedules(size, lambda s: function(s, *of(s.rank)), placement))


def check_all(operation: str, size: int, names: list[str], placement: Any = None) -> None:
    for name in names:
        for root in sorted({0, size - 1}) if operation in ROOTED else [0]:
            for count in [1] if operation == "barrier" else COUNTS:
                given = [arguments(operation, name, r, size, root, count) for r in range(size)]
                outcomes = run(operation, name, size, given.__getitem__, placement)
                if name not in PARTIAL:
                    check(operation, outcomes, root, given)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_any_number_of_ranks(operation: str, size: int) -> None:
    check_all(operation, size, possible(operation, size, even_hosts=size > 1))


@pytest.mark.parametrize("where", PLACEMENTS)
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_any_placement(operation: str, where: str) -> None:
    even = where not in ("dealt out", "uneven")
    check_all(operation, 12, possible(operation, 12, even_hosts=even), PLACEMENTS[where])


@pytest.mark.parametrize("size", SIZES)
def test_non_blocking_collectives_waited_for_at_once(size: int) -> None:
    def write(s: Script) -> None:
        counts = range(1, size + 1)
        s.waitall(
            nonblocking.ibarrier(s)
            + nonblocking.ibcast(s, 10, 8, size - 1)
            + nonblocking.iallreduce(s, 10, 8)
            + nonblocking.ialltoall(s, 10, 8, 20, 4)
            + nonblocking.ireduce_scatter(s, counts, 8)
            + nonblocking.ibarrier(s)
        )

    for outcome in execute(write_schedules(size, write)):
        assert outcome.seen == set(range(size)) or size == 1


def test_a_split_tells_every_member() -> None:
    groups = [(6, 2, 0), (5, 1), (3,)]
    members = {rank for group in groups for rank in group}
    outcomes = execute(write_schedules(7, lambda s: comm_split(s, s.rank in members, groups)))
    for rank in members:
        assert outcomes[rank].seen == set(range(7))
    assert outcomes[4].seen == {4}


def test_a_barrier_s_messages_meet_no_others() -> None:
    script = Script(0, 3)
    nonblocking.ibarrier(script)
    barrier = set(script.tags)
    nonblocking.ibcast(script, 1, 1, 0)
    assert barrier.isdisjoint(script.tags[len(script.tags) - 2 :])


@pytest.mark.parametrize(
    ("operation", "name", "size"),
    [
        *(
            ("alltoall", name, 6)
            for name in ("pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier")
        ),
        ("allgather", "pair", 12),
        ("allgather", "rhv", 3),
        ("alltoall", "2dmesh", 7),
        ("allgather", "2dmesh", 13),
        ("alltoall", "3dmesh", 2),
        ("allgather", "3dmesh", 13),
        ("allreduce", "rab1", 6),
        ("allreduce", "smp_rsag_rab", 6),
        ("barrier", "ompi_two_procs", 3),
    ],
)
def test_a_number_of_ranks_that_does_not_fit(operation: str, name: str, size: int) -> None:
    arguments = {"barrier": (), "allreduce": (10, 8)}.get(operation, (1, 1, 1, 1))
    with pytest.raises(InputError, match=f"{operation} algorithm {name} .*choose another"):
        algorithm(operation, name)(Script(0, size), *arguments)


@pytest.mark.parametrize("where", ["dealt out", "uneven"])
def test_mvapich2_smp_refuses_other_hosts(where: str) -> None:
    script = Script(0, 12, PLACEMENTS[where])
    with pytest.raises(InputError, match="same number of ranks on every host"):
        algorithm("allgather", "mvapich2_smp")(script, 1, 1, 1, 1)


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


def test_counts_beyond_32_bits() -> None:
    for name in ("binomial_tree", "scatter_LR_allgather", "scatter_rdb_allgather"):
        for rank, outcome in enumerate(run("bcast", name, 8, (1 << 40, 8, 3))):
            assert rank == 3 or outcome.received >= 1 << 43


def test_elements_of_no_width_are_one_segment() -> None:
    for name in ("NTSB", "NTSL", "flattree_pipeline", "ompi_pipeline"):
        run("bcast", name, 4, (1 << 40, 0, 0))
    for name in ALGORITHMS["reduce"]:
        run("reduce", name, 4, (1 << 40, 0, 0))


def test_what_is_left_goes_to_the_configured_algorithm() -> None:
    asked = []

    def choose(operation: str) -> Callable[..., None]:
        def algorithm_of_user(s: Script, *arguments: int) -> None:
            asked.append((operation, *arguments))

        return algorithm_of_user

    for name in ("NTSB", "NTSL", "SMP_binary", "SMP_linear"):
        script = Script(0, 4, choose=choose)
        algorithm("bcast", name)(script, 8200, 1, 2)
        assert asked.pop() == ("bcast", 8, 1, 2)
    algorithm("allreduce", "lr")(Script(0, 4, choose=choose), 10, 8)
    assert asked.pop() == ("allreduce", 2, 8)


@pytest.mark.parametrize("name", ["binomial_tree", "ompi_pipeline", "NTSB", "ompi_split_bintree"])
def test_a_rank_of_a_million_writes_a_short_schedule(name: str) -> None:
    size = 1 << 20
    for rank in (0, 1, 12_345, size - 1):
        script = Script(rank, size)
        algorithm("bcast", name)(script, 3000, 1, 0)
        assert len(script.kinds) <= 40


@pytest.mark.parametrize("size", SIZES)
def test_trees_reach_every_rank_once(size: int) -> None:
    for root in (0, size // 2):
        built = {
            "binary": [trees.binary_tree(rank, size, root) for rank in range(size)],
            "binomial": [trees.binomial_tree(rank, size, root) for rank in range(size)],
            "in order": [trees.in_order_binomial_tree(rank, size, root) for rank in range(size)],
            "chains": [trees.chains(rank, size, root, 3) for rank in range(size)],
            "chain": [trees.chains(rank, size, root, 1) for rank in range(size)],
        }
        for name, places in built.items():
            check_tree(name, places, root)
    check_tree("last", [trees.in_order_binary_tree(r, size) for r in range(size)], size - 1)


def check_tree(name: str, places: list[trees.Place], root: int) -> None:
    children = [child for place in places for child in place.children]
    assert sorted(children) == [rank for rank in range(len(places)) if rank != root], name
    for rank, place in enumerate(places):
        assert (place.parent is None) == (rank == root), name
        assert all(places[child].parent == rank for child in place.children), name


@pytest.mark.parametrize("factor", [2, 3, 4, 8])
@pytest.mark.parametrize("size", SIZES)
def test_knomial_trees_reach_every_rank_once(size: int, factor: int) -> None:
    found = [trees.knomial_tree(rank, size, 0, factor) for rank in range(size)]
    places = [
        trees.Place(parent, tuple(child for level in levels for child in level))
        for parent, levels in found
    ]
    check_tree("k-nomial", places, 0)


def test_segments_are_rounded_as_open_mpi_does() -> None:
    assert segments.segment_elements(1024, 8, 1000) == 128
    assert segments.segment_elements(1024, 10, 1000) == 102
    assert segments.segment_elements(1024, 11, 1000) == 93
    assert segments.segment_elements(1000, 600, 1000) == 2  # 1.67 elements
    assert segments.segment_elements(1024, 8, 128) == 128
    assert segments.segment_elements(4, 8, 1000) == 1000
    assert segments.cut(10, 4) == [4, 4, 2]
    assert segments.cut(0, 0) == []


def test_pieces_cover_a_message() -> None:
    for total in (0, 1, 5, 16, 17, 100):
        pieces = Pieces(total, 7)
        assert sum(pieces.nbytes(i) for i in range(7)) == total
        assert pieces.nbytes(2, 7) == sum(pieces.nbytes(i) for i in range(2, 7))


def test_noncommutative_blocks_must_be_equal() -> None:
    with pytest.raises(InputError, match="same count for every rank"):
        algorithm("reduce_scatter", "mpich_noncomm")(Script(0, 2), (1, 2), 8)


def test_alltoall_counts_beyond_32_bits() -> None:
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
