"""Broadcasts, reductions and barriers bring everybody's data where they must, without deadlock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.unit.collectives.schedule_checks import Outcome, comm_split, execute, write_schedules
from tisim.actions.collectives import nonblocking, segments, trees
from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, algorithm
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
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16]
COUNTS = [0, 1, 5, 1000, 3001, 40_000]
POWER_OF_TWO = {"rab1", "smp_rsag_rab"}
#: SimGrid's starts some of its broadcasts on hosts at ranks that do not have the data yet.
NOT_FROM_THE_ROOT = {"mvapich2_intra_node"}


def run(
    operation: str, name: str, size: int, arguments: Sequence[int], placement: Sequence[int] | None
) -> list[Outcome]:
    function = algorithm(operation, name)
    return execute(write_schedules(size, lambda s: function(s, *arguments), placement))


def possible(operation: str, size: int) -> list[str]:
    names = set(SELECTORS) | set(ALGORITHMS[operation])
    if size & (size - 1):
        names -= POWER_OF_TWO
    if size != 2:
        names -= {"ompi_two_procs"}
    if size == 1:
        names -= {"ompi_doublering"}  # the rank sends to itself, as in SimGrid: eager sends only
    if operation == "bcast":
        names -= {"mvapich2_inter_node"}  # it leaves the hosts' other ranks alone
    return sorted(names)


def check_bcast(name: str, size: int, placement: Sequence[int] | None = None) -> None:
    for root in sorted({0, 1 % size, size - 1}):
        for count in COUNTS:
            outcomes = run("bcast", name, size, (count, 8, root), placement)
            if count == 0 or (root and name in NOT_FROM_THE_ROOT):
                continue
            sent = count - count % 1024 if name == "flattree_pipeline" and count > 1024 else count
            for rank, outcome in enumerate(outcomes):
                assert rank == root or outcome.received >= sent * 8, (name, root, count, rank)
                assert root in outcome.seen, (name, root, count, rank)


def check_reduce(name: str, size: int, placement: Sequence[int] | None = None) -> None:
    for root in sorted({0, 1 % size, size - 1}):
        for count in COUNTS:
            outcomes = run("reduce", name, size, (count, 8, root), placement)
            assert count == 0 or outcomes[root].seen == set(range(size)), (name, root, count)


def check_allreduce(name: str, size: int, placement: Sequence[int] | None = None) -> None:
    for count in COUNTS:
        for outcome in run("allreduce", name, size, (count, 8), placement):
            assert count == 0 or outcome.seen == set(range(size)), (name, count)


def check_barrier(name: str, size: int, placement: Sequence[int] | None = None) -> None:
    for outcome in run("barrier", name, size, (), placement):
        assert outcome.seen == set(range(size)), name


CHECKS: dict[str, Callable[..., None]] = {
    "bcast": check_bcast,
    "reduce": check_reduce,
    "allreduce": check_allreduce,
    "barrier": check_barrier,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operation", CHECKS)
def test_any_number_of_ranks(operation: str, size: int) -> None:
    for name in possible(operation, size):
        CHECKS[operation](name, size)


@pytest.mark.parametrize("where", PLACEMENTS)
@pytest.mark.parametrize("operation", CHECKS)
def test_any_placement(operation: str, where: str) -> None:
    for name in possible(operation, 12):
        CHECKS[operation](name, 12, PLACEMENTS[where])


@pytest.mark.parametrize("operation", ["scan", "exscan"])
@pytest.mark.parametrize("size", SIZES)
def test_prefixes(operation: str, size: int) -> None:
    for rank, outcome in enumerate(run(operation, "default", size, (100, 8), None)):
        assert outcome.seen == set(range(rank + 1))
        assert outcome.received == rank * 800


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
    ("operation", "name", "size", "message"),
    [
        ("allreduce", "rab1", 6, "rab1 needs a number of ranks that is a power of two"),
        ("allreduce", "smp_rsag_rab", 6, "smp_rsag_rab needs a number of ranks"),
        ("barrier", "ompi_two_procs", 3, "ompi_two_procs is for 2 ranks, not 3"),
    ],
)
def test_a_number_of_ranks_that_does_not_fit(
    operation: str, name: str, size: int, message: str
) -> None:
    arguments = (10, 8) if operation == "allreduce" else ()
    with pytest.raises(InputError, match=message):
        algorithm(operation, name)(Script(0, size), *arguments)


def test_counts_beyond_32_bits() -> None:
    for name in ("binomial_tree", "scatter_LR_allgather", "scatter_rdb_allgather"):
        for rank, outcome in enumerate(run("bcast", name, 8, (1 << 40, 8, 3), None)):
            assert rank == 3 or outcome.received >= 1 << 43


def test_elements_of_no_width_are_one_segment() -> None:
    for name in ("NTSB", "NTSL", "flattree_pipeline", "ompi_pipeline"):
        run("bcast", name, 4, (1 << 40, 0, 0), None)
    for name in ALGORITHMS["reduce"]:
        run("reduce", name, 4, (1 << 40, 0, 0), None)


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
