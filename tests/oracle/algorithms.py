"""Random choices of one collective algorithm by name, among those that SimGrid can do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from tisim.actions.collectives.registry import ALGORITHMS

#: SimGrid throws an exception unless the ranks are a power of two.
POWER_OF_TWO = {
    *(("alltoall", name) for name in ALGORITHMS["alltoall"] if name.startswith("pair")),
    *(("alltoallv", name) for name in ALGORITHMS["alltoallv"] if name.startswith("pair")),
    ("allgather", "rhv"),
    ("allreduce", "rab1"),
    ("allreduce", "smp_rsag_rab"),
    ("allgatherv", "mpich_rdb"),
    ("reduce", "scatter_gather"),
    ("bcast", "scatter_rdb_allgather"),
}
#: SimGrid's send messages that nobody receives (which spoils later calls), read or write past
#: their arrays, or do nothing, on some placements, sizes or roots: docs/collectives.md has them.
UNSOUND = {
    ("allgather", "2dmesh"),
    ("allgather", "3dmesh"),
    ("allgather", "loosely_lr"),
    ("allgather", "mvapich2_smp"),
    ("alltoall", "2dmesh"),
    ("alltoall", "3dmesh"),
    ("barrier", "ompi_two_procs"),
    ("bcast", "SMP_linear"),
    ("bcast", "mvapich2_intra_node"),
    ("bcast", "ompi_split_bintree"),
    ("gather", "mvapich2_two_level"),
    ("gather", "ompi_linear_sync"),
    ("scatter", "mvapich2_two_level_binomial"),
    ("scatter", "mvapich2_two_level_direct"),
}


def able(operation: str, name: str, hosts: Sequence[str]) -> bool:
    """Whether SimGrid's algorithm does what it should among ranks on these hosts."""
    together = set(Counter(hosts).values())
    if (operation, name) in UNSOUND:
        return False
    if (operation, name) in POWER_OF_TWO and len(hosts) & (len(hosts) - 1):
        return False
    if name.lower().startswith(("smp_", "mvapich2_two_level")):
        return len(together) == 1 and not (max(together) & (max(together) - 1))
    return True


def draw_algorithms(rng: random.Random, hosts: Sequence[str]) -> dict[str, str]:
    """Options that name an algorithm for some operations."""
    config = {}
    for operation, names in ALGORITHMS.items():
        found = [name for name in names if able(operation, name, hosts)]
        if found and rng.random() < 0.5:
            config[f"smpi/{operation}"] = rng.choice(found)
    return config
