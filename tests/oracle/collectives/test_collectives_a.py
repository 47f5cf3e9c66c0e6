"""Broadcasts, reductions, barriers and scans make the messages that SimGrid's make."""

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
    "2 ranks": range(2),
    "1 rank": range(1),
    "4 hosts of 2": [rank // 2 for rank in range(8)],
    "2 hosts of 4": [rank // 4 for rank in range(8)],
    "dealt to 4 hosts": [rank % 4 for rank in range(8)],
    "uneven hosts": [0, 1, 1, 1, 2, 2, 3],
    "2 hosts of 3": [rank // 3 for rank in range(6)],
    "1 host": [0] * 6,
}
#: Counts and types: below and above the limits of segments, of detached messages, and of the
#: algorithms' own decisions. Each is tried with one root, the first with all roots.
SIZES = ((100, 6), (3000, 0), (20_001, 6), (5003, 0), (40_000, 0), (257, 14))
POWER_OF_TWO = {"rab1", "smp_rsag_rab"}
#: SimGrid's crash or deadlock in a communicator of one rank.
NOT_ALONE = {
    ("allreduce", "rab"), ("allreduce", "rab1"), ("barrier", "ompi_two_procs"), ("reduce", "NTSL"),
    ("reduce", "ompi_binary"), ("reduce", "ompi_binomial"), ("reduce", "ompi_chain"),
    ("reduce", "ompi_in_order_binary"), ("reduce", "ompi_pipeline"), ("reduce", "rab"),
}  # fmt: skip
#: SimGrid's divide by a number of elements, or take a vector of nothing for themselves again.
NOT_EMPTY = {
    "ompi_pipeline", "ompi_chain", "ompi_in_order_binary", "ompi_binary", "ompi_binomial", "rab",
    "smp_binomial_pipeline", "ompi_ring_segmented",
}  # fmt: skip


def fits(operation: str, name: str, hosts: Sequence[int]) -> bool:
    """Whether SimGrid can do it: it crashes, throws, deadlocks or sends too much otherwise."""
    size = len(hosts)
    cores = {list(hosts).count(host) for host in hosts}
    if name in POWER_OF_TWO and size & (size - 1):
        return False
    if name == "ompi_two_procs":
        return size == 2
    if size == 1 and (operation, name) in NOT_ALONE:
        return False
    if name == "SMP_linear":
        return cores != {1}
    return not (name.lower().startswith("smp_") and cores == {3})


def calls(operation: str, name: str, hosts: Sequence[int]) -> list[Call]:
    choose, size = {operation: name}, len(hosts)
    if operation == "barrier":
        return [Call("barrier", choose)] * 2
    found = sizes(name, hosts)
    if operation in ("allreduce", "scan", "exscan"):
        return [Call(f"{operation} {count} {kind}", choose) for count, kind in found]
    roots = [0] if name == "mvapich2_intra_node" else sorted({0, 1 % size, size - 1})
    pairs = [(found[0], root) for root in roots]
    pairs += [(one, roots[i % len(roots)]) for i, one in enumerate(found[1:], 1)]
    return [Call(f"{operation} {count} {root} {kind}", choose) for (count, kind), root in pairs]


def sizes(name: str, hosts: Sequence[int]) -> list[tuple[int, int]]:
    """The counts and types that SimGrid's algorithm can do."""
    if name == "ompi_split_bintree" and len({*hosts}) == len(hosts):
        return [size for size in SIZES if size[0] > 3000]  # short ones go to SMP_linear
    found = list(SIZES)
    if name not in NOT_EMPTY:
        found.append((0, 6))
    if name == "rab":  # knows no complex numbers
        found.remove((257, 14))
    # With fewer elements or bytes than ranks, two have too short or too long a buffer.
    if name not in {"scatter_gather", "scatter_rdb_allgather"} or len(hosts) in (2, 4, 8):
        found.append((1, 0))
    return found


@pytest.mark.parametrize("where", HOSTS)
@pytest.mark.parametrize("operation", ["bcast", "reduce", "allreduce", "barrier"])
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
