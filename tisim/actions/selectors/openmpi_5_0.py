"""The selector `openmpi-5.0`: what Open MPI 5.0 does by default, one rank a node.

`coll_tuned_decision_fixed.c` of 5.0.6 is that of 4.1.4, and the algorithms that it takes send the
same messages, but for alltoallv, which leaves empty ones out (`coll_base_alltoallv.c`). The
component `coll/han` steps back where every node has one rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint
from tisim.actions.selectors.openmpi_4_1 import (
    allgather,
    allgatherv,
    allreduce,
    alltoall,
    barrier,
    bcast,
    exscan,
    gather,
    gatherv,
    reduce,
    reduce_scatter,
    scan,
    scatter,
    scatterv,
    write_alltoallv,
)

__all__ = [
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "scan",
    "scatter",
    "scatterv",
]


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """By the number of ranks; no message is empty."""
    write_alltoallv(s, scounts, ssize, rcounts, rsize, empty=False)
