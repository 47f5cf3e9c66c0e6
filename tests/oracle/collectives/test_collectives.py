"""Collectives send the same messages as SimGrid's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracle.collectives.messages import Call, check, selected
from tests.oracle.simgrid_exec import OracleError
from tisim.actions.collectives.catalogue import ALGORITHMS

pytestmark = pytest.mark.oracle

HOSTS = {
    "8 ranks": range(8),
    "7 ranks": range(7),
    "11 ranks": range(11),
    "2 ranks": range(2),
    "1 rank": range(1),
    "4 hosts of 2": [rank // 2 for rank in range(8)],
    "2 hosts of 4": [rank // 4 for rank in range(8)],
    "dealt to 3 hosts": [rank % 3 for rank in range(6)],
    "dealt to 4 hosts": [rank % 4 for rank in range(8)],
    "uneven hosts": [0, 1, 1, 1, 2, 2, 3],
    "2 hosts of 3": [rank // 3 for rank in range(6)],
    "1 host": [0] * 6,
}
#: Counts and types: below and above the thresholds of segments, of detached messages, and of the
#: algorithms' own decisions. Each is tested with one root, the first with all roots.
SIZES = ((100, 6), (3000, 0), (20_001, 6), (5003, 0), (40_000, 0), (257, 14))
#: Bytes of blocks, below and above the thresholds of segments and of eager messages.
BLOCKS = (0, 1500, 100_000)
POWER_OF_TWO = {
    "pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "rhv", "mpich_noncomm",
    "rab1", "smp_rsag_rab",
}  # fmt: skip
#: SimGrid's versions crash or deadlock in a communicator of one rank.
NOT_ALONE = {
    ("allreduce", "rab"), ("allreduce", "rab1"), ("barrier", "ompi_two_procs"), ("reduce", "NTSL"),
    ("reduce", "ompi_binary"), ("reduce", "ompi_binomial"), ("reduce", "ompi_chain"),
    ("reduce", "ompi_in_order_binary"), ("reduce", "ompi_pipeline"), ("reduce", "rab"),
}  # fmt: skip
#: SimGrid's versions divide by the number of elements, or call themselves again for empty vectors.
NOT_EMPTY = {
    "ompi_pipeline", "ompi_chain", "ompi_in_order_binary", "ompi_binary", "ompi_binomial", "rab",
    "smp_binomial_pipeline", "ompi_ring_segmented",
}  # fmt: skip


def fits(operation: str, name: str, hosts: Sequence[int]) -> bool:
    """Return False if SimGrid crashes, throws, deadlocks or sends too much."""
    size = len(hosts)
    cores = {list(hosts).count(host) for host in hosts}
    if name in POWER_OF_TWO and size & (size - 1):
        return False
    if size == 1 and (operation, name) in NOT_ALONE:
        return False
    conditions = {
        "ompi_two_procs": size == 2,
        "2dmesh": size not in (1, 7, 11),
        "3dmesh": size not in (1, 2, 11),
        "mvapich2_smp": len(cores) == 1 and list(hosts) == sorted(hosts),
        "SMP_linear": cores != {1},
    }
    if (operation, name) == ("gather", "mvapich2_two_level"):
        return len(cores) == 1
    two_levels = operation in ("bcast", "allreduce") and name.lower().startswith("smp_")
    return conditions.get(name, not (two_levels and cores == {3}))


def calls(operation: str, name: str, hosts: Sequence[int]) -> list[Call]:
    choose, size = {operation: name}, len(hosts)
    if operation == "barrier":
        return [Call("barrier", choose)] * 2
    if operation not in ("bcast", "reduce", "allreduce", "scan", "exscan"):
        return calls_of_blocks(operation, name, hosts)
    size_rows = sizes(name, hosts)
    if operation in ("allreduce", "scan", "exscan"):
        return [Call(f"{operation} {count} {kind}", choose) for count, kind in size_rows]
    roots = [0] if name == "mvapich2_intra_node" else sorted({0, 1 % size, size - 1})
    pairs = [(size_rows[0], root) for root in roots]
    pairs += [(one, roots[i % len(roots)]) for i, one in enumerate(size_rows[1:], 1)]
    return [Call(f"{operation} {count} {root} {kind}", choose) for (count, kind), root in pairs]


def sizes(name: str, hosts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the counts and types that SimGrid's algorithm supports."""
    if name == "ompi_split_bintree" and len({*hosts}) == len(hosts):
        return [size for size in SIZES if size[0] > 3000]  # short ones use SMP_linear
    found = list(SIZES)
    if name not in NOT_EMPTY:
        found.append((0, 6))
    if name == "rab":  # supports no complex numbers
        found.remove((257, 14))
    # With fewer elements or bytes than ranks, two algorithms have buffers of a wrong length.
    if name not in {"scatter_gather", "scatter_rdb_allgather"} or len(hosts) in (2, 4, 8):
        found.append((1, 0))
    return found


def roots(name: str, hosts: Sequence[int]) -> list[int]:
    """Return roots to test; SimGrid's two-level gather needs the first rank of a host."""
    if name == "mvapich2_two_level":
        return sorted({0, hosts.index(hosts[-1])})
    return sorted({0, len(hosts) // 2, len(hosts) - 1})


def words(*numbers: int) -> str:
    return " ".join(str(number) for number in numbers)


def calls_of_blocks(operation: str, name: str, hosts: Sequence[int]) -> list[Call]:
    """Return calls of one algorithm that moves blocks, with all sizes."""
    size, choose = len(hosts), {operation: name}
    if operation in ("allgather", "alltoall"):
        return [Call(f"{operation} {count} {count} 6 6", choose) for count in BLOCKS]
    if operation in ("gather", "scatter"):
        return [
            Call(f"{operation} {count} {count} {root} 6 6", choose)
            for count in BLOCKS
            for root in roots(name, hosts)
        ]
    if operation == "alltoallv":
        return [Call(alltoallv(size, count), choose) for count in BLOCKS]
    regular = [[count] * size for count in BLOCKS]
    irregular = [[count * (rank % 3) + rank for rank in range(size)] for count in BLOCKS]
    lists = regular + (irregular if name != "mpich_noncomm" else [])
    if operation == "reduce_scatter":
        return [Call(f"reducescatter {words(*counts)} 0 6", choose) for counts in lists]
    return [
        Call([f"allgatherv {mine} {words(*counts)} 6 6" for mine in counts], choose)
        for counts in lists
    ]


def alltoallv(size: int, count: int) -> list[str]:
    matrix = [[(7 * row + 3 * column) % 5 * count for column in range(size)] for row in range(size)]
    columns = list(zip(*matrix, strict=True))
    return [f"alltoallv 0 {words(*matrix[r])} 0 {words(*columns[r])} 6 6" for r in range(size)]


@pytest.mark.parametrize("where", HOSTS)
@pytest.mark.parametrize("operation", [name for name in ALGORITHMS if ALGORITHMS[name]])
def test_same_messages(operation: str, where: str) -> None:
    hosts = list(HOSTS[where])
    programme = []
    for name in ("default", *ALGORITHMS[operation]):
        if name == "default" or fits(operation, name, hosts):
            programme += calls(operation, name, hosts)
    check(programme, hosts)


@pytest.mark.parametrize("operation", ["scan", "exscan"])
@pytest.mark.parametrize("where", ["7 ranks", "4 hosts of 2", "1 rank"])
def test_same_messages_of_prefixes(operation: str, where: str) -> None:
    hosts = list(HOSTS[where])
    check(calls(operation, "default", hosts), hosts)


@pytest.mark.parametrize("where", ["7 ranks", "4 hosts of 2", "2 ranks"])
def test_same_messages_of_non_blocking_collectives(where: str) -> None:
    hosts = list(HOSTS[where])
    parts = " ".join(str(7 * rank) for rank in range(len(hosts)))
    lines = [
        "ibarrier", "ibcast 100 1 6", "ireduce 100 1 6", "iallreduce 100 6", "ialltoall 100 100 6",
        f"ireducescatter {parts} 0 6", "ibcast 0 0 6",
    ]  # fmt: skip
    check([Call(line) for line in lines], hosts)


@pytest.mark.parametrize("ranks", [2, 3])
def test_same_messages_of_a_ring_in_segments(ranks: int) -> None:
    choose = {"allreduce": "ompi_ring_segmented"}
    lines = ["allreduce 600000 0", "allreduce 1000001 0", "allreduce 450000 0"]
    check([Call(line, choose) for line in lines], list(range(ranks)))


@pytest.mark.parametrize(
    ("lines", "choose"),
    [
        (["bcast 20001 1 6", "bcast 100 1 6"], {"bcast": "NTSB"}),
        (["bcast 20001 1 6"], {"bcast": "SMP_binary"}),
        (["allreduce 100 6"], {"allreduce": "redbcast", "reduce": "ompi_chain", "bcast": "NTSL"}),
        (["allreduce 1003 0", "allreduce 3 0"], {"allreduce": "lr"}),
        (["allreduce 100 6"], {"allreduce": "rab1", "allgather": "ring"}),
        (["allreduce 103 6"], {"allreduce": "rab2", "alltoall": "pair", "allgather": "rdb"}),
        (["allreduce 100 6"], {"allreduce": "mvapich2_two_level", "bcast": "flattree"}),
    ],
)
def test_same_messages_of_nested_collectives(lines: list[str], choose: dict[str, str]) -> None:
    hosts = list(HOSTS["4 hosts of 2"])
    check([Call(line, choose) for line in lines], hosts)


@pytest.mark.parametrize(
    ("line", "choose", "where"),
    [
        ("bcast 400000 0 6", {"bcast": "SMP_binomial"}, "2 hosts of 3"),
        ("bcast 400000 0 6", selected("mpich"), "2 hosts of 3"),
        ("allreduce 100 6", {"allreduce": "smp_rdb"}, "2 hosts of 3"),
        ("bcast 400000 0 6", {"bcast": "SMP_linear"}, "8 ranks"),
        ("reduce 0 0 6", {"reduce": "ompi_binary"}, "8 ranks"),
        ("reduce 3 0 6", {"reduce": "scatter_gather"}, "7 ranks"),
    ],
)
def test_where_simgrid_fails_there_is_an_answer(
    line: str, choose: dict[str, str], where: str
) -> None:
    with pytest.raises(OracleError):
        check([Call(line, choose)], list(HOSTS[where]))


def test_simgrid_sends_strays_where_ranks_of_a_host_are_no_power_of_two() -> None:
    with pytest.raises(AssertionError, match="differs"):
        check([Call("bcast 100 0 6", {"bcast": "SMP_binomial"})], list(HOSTS["2 hosts of 3"]))


@pytest.mark.parametrize("where", ["8 ranks", "7 ranks", "4 hosts of 2"])
def test_same_messages_of_nested_exchanges(where: str) -> None:
    hosts = list(HOSTS[where])
    nested = [
        Call("allgather 1500 1500 6 6", {"allgather": "GB", "gather": "ompi_binomial"}),
        Call(
            ["allgatherv 9 " + words(*[9] * len(hosts)) + " 6 6"] * len(hosts), {"allgatherv": "GB"}
        ),
        Call("alltoall 9 9 6 6", {"alltoall": "ring_mpi_barrier", "barrier": "ompi_bruck"}),
        Call("alltoall 9 9 6 6", {"alltoall": "ring_one_barrier", "barrier": "ompi_doublering"}),
        Call("allgather 9 9 6 6", {"allgather": "SMP_NTS", "bcast": "NTSL"}),
    ]
    check(nested, hosts)
