"""Gathers, scatters, alltoalls and reduce-scatters make the messages that SimGrid's make."""

from __future__ import annotations

import pytest

from tests.oracle.collectives.messages import Call, check
from tisim.actions.collectives.catalogue import ALGORITHMS

pytestmark = pytest.mark.oracle

POWER_OF_TWO = {
    "pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "rhv", "mpich_noncomm",
}  # fmt: skip
#: Below and above the thresholds of segments and of eager messages; bytes.
COUNTS = (0, 1500, 100_000)
BYTE = 6

HOSTS = {
    "8 ranks": range(8),
    "7 ranks": range(7),
    "11 ranks": range(11),
    "2 ranks": range(2),
    "1 rank": range(1),
    "4 hosts of 2": [rank // 2 for rank in range(8)],
    "2 hosts of 4": [rank // 4 for rank in range(8)],
    "dealt to 3 hosts": [rank % 3 for rank in range(6)],
    "uneven hosts": [0, 1, 1, 1, 2, 2, 3],
    "1 host": [0] * 6,
}


def fits(operation: str, name: str, hosts: list[int]) -> bool:
    """Whether SimGrid can do it: it crashes, throws or does nothing otherwise."""
    size = len(hosts)
    sizes = {hosts.count(host) for host in hosts}
    blocked = hosts == sorted(hosts)
    if name in POWER_OF_TWO:
        return size & (size - 1) == 0
    if name == "2dmesh":
        return size not in (1, 7, 11)
    if name == "3dmesh":
        return size not in (1, 2, 11)
    if name == "mvapich2_smp":
        return len(sizes) == 1 and blocked
    if (operation, name) == ("gather", "mvapich2_two_level"):
        return len(sizes) == 1
    return True


def roots(name: str, hosts: list[int]) -> list[int]:
    """Roots to try; SimGrid's two-level gather needs the first rank of a host."""
    if name == "mvapich2_two_level":
        return sorted({0, hosts.index(hosts[-1])})
    return sorted({0, len(hosts) // 2, len(hosts) - 1})


def words(*numbers: int) -> str:
    return " ".join(str(number) for number in numbers)


def calls(operation: str, name: str, hosts: list[int]) -> list[Call]:
    """Calls of one algorithm with all sizes."""
    size, choose = len(hosts), {operation: name}
    if operation in ("allgather", "alltoall"):
        return [Call(f"{operation} {count} {count} 6 6", choose) for count in COUNTS]
    if operation in ("gather", "scatter"):
        return [
            Call(f"{operation} {count} {count} {root} 6 6", choose)
            for count in COUNTS
            for root in roots(name, hosts)
        ]
    if operation == "alltoallv":
        return [Call(alltoallv(size, count), choose) for count in COUNTS]
    regular = [[count] * size for count in COUNTS]
    irregular = [[count * (rank % 3) + rank for rank in range(size)] for count in COUNTS]
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
@pytest.mark.parametrize(
    "operation",
    ["allgather", "allgatherv", "alltoall", "alltoallv", "gather", "reduce_scatter", "scatter"],
)
def test_same_messages(operation: str, where: str) -> None:
    hosts = list(HOSTS[where])
    programme = []
    for name in ("default", *ALGORITHMS[operation]):
        if fits(operation, name, hosts):
            programme += calls(operation, name, hosts)
    check(programme, hosts)


@pytest.mark.parametrize("where", ["8 ranks", "7 ranks", "4 hosts of 2"])
def test_same_messages_of_nested_collectives(where: str) -> None:
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
