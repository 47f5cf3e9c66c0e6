"""Collectives that SimGrid supports: algorithms by name, and calls under a selector."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from tests.oracle.collectives.messages import Call, selected
from tests.oracle.collectives.selector_grid import beyond_simgrid
from tests.oracle.programs.program import WIDTH_OF_TYPE, Each, Peer, Word
from tisim.actions.collectives.catalogue import ALGORITHMS

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
#: SimGrid's versions send messages that nobody receives (which breaks later calls), access memory
#: beyond their arrays, or do nothing, for some placements, sizes or roots: see docs/collectives.md.
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

#: In SimGrid, a single rank sends itself a message that nobody receives.
TO_ITSELF = {("bcast", "NTSL"), ("bcast", "NTSL_Isend"), ("reduce", "ompi_binomial")}


def able(operation: str, name: str, hosts: Sequence[str]) -> bool:
    """Return True if SimGrid's algorithm is correct among ranks on these hosts."""
    together = set(Counter(hosts).values())
    if (operation, name) in UNSOUND:
        return False
    if (operation, name) in POWER_OF_TWO and len(hosts) & (len(hosts) - 1):
        return False
    if name.lower().startswith(("smp_", "mvapich2_two_level")):
        return len(together) == 1 and not (max(together) & (max(together) - 1))
    return True


def draw_algorithms(rng: random.Random, hosts: Sequence[str]) -> dict[str, str]:
    """Draw options that choose an algorithm for some operations."""
    config = {}
    for operation, names in ALGORITHMS.items():
        found = [name for name in names if able(operation, name, hosts)]
        if found and rng.random() < 0.5:
            config[f"smpi/{operation}"] = rng.choice(found)
    return config


#: Position of a call's type among its arguments.
_TYPE_AT = {
    "bcast": 2, "reduce": 3, "allreduce": 2, "allgather": 2, "alltoall": 2, "alltoallv": 4,
    "allgatherv": 2, "gather": 3,
}  # fmt: skip


def in_bytes(words: Sequence[Word], default_width: int) -> str | None:
    """Return a collective call in bytes, as in `selector_grid`; None for calls that never fail.

    Parameters
    ----------
    words
        The action and its arguments.
    default_width
        Bytes of the default type.
    """
    name, *arguments = words
    if name not in _TYPE_AT:
        return None
    kind = arguments[_TYPE_AT[str(name)] :][:1]
    width = WIDTH_OF_TYPE[int(str(kind[0]))] if kind else default_width
    size = int(str(arguments[0])) * width
    if name in ("bcast", "reduce"):
        return f"{name} {size} 0 6"
    if name == "allreduce":
        return f"allreduce {size} 6"
    if name == "gather":
        root = next((word.rank for word in arguments if isinstance(word, Peer)), 0)
        return f"gather {size} {size} {root} 6 6"
    if name == "allgatherv":
        counts = next(word.values for word in arguments if isinstance(word, Each))
        return f"allgatherv {size} {' '.join(str(count * width) for count in counts)} 6 6"
    return f"{name} {size} {size} 6 6"


def fails(
    words: Sequence[Word], default_width: int, *, selector: str, hosts: Sequence[str]
) -> str | None:
    """Return why SimGrid cannot perform a call correctly under a selector; None if it can."""
    line = in_bytes(words, default_width)
    if line is None or selector == "default":
        return None
    places = {host: place for place, host in enumerate(dict.fromkeys(hosts))}
    return beyond_simgrid(Call(line, selected(selector)), [places[host] for host in hosts])
