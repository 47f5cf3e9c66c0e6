"""The selector `impi`: the decisions of Intel MPI 4.1 on the Stampede cluster.

The thresholds are in `impi.txt`. A decision depends on the size, on the number of ranks, and on the
number of ranks of a host if it is 1, 2, 4, 8 or 16 and the same on every host; any other placement
counts as one rank per host. Intel's own algorithms are not public: where the manual names one, the
nearest known algorithm replaces it, as in SimGrid 3.32.
"""

from __future__ import annotations

from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import (
    Argument,
    Choice,
    Facts,
    first_above,
    first_at_least,
    read_tables,
    supported_algorithm,
    write_choice,
)

# Stand-ins for the algorithms 1, 2, ... of each I_MPI_ADJUST_<operation>.
_SUBSTITUTES = {
    "allreduce": (
        "rdb", "rab1", "redbcast", "mvapich2_two_level", "smp_binomial", "mvapich2_two_level",
        "ompi_ring_segmented", "ompi_ring_segmented",
    ),
    "alltoall": ("bruck", "mvapich2_scatter_dest", "pair", "mvapich2"),
    "alltoallv": ("ompi_basic_linear", "bruck"),
    "barrier": (
        "ompi_basic_linear", "ompi_recursivedoubling", "ompi_basic_linear",
        "ompi_recursivedoubling", "default", "default",
    ),
    "bcast": ("binomial_tree", "NTSL", "NTSL", "SMP_binomial", "NTSL", "SMP_linear", "mvapich2"),
    "reduce_scatter": (
        "ompi_basic_recursivehalving", "mpich_pair", "mpich_rdb", "default", "default",
    ),
    "allgather": ("rdb", "bruck", "ring", "GB"),
    "allgatherv": ("mpich_rdb", "ompi_bruck", "ring", "GB"),
    "gather": ("ompi_binomial", "ompi_binomial", "mvapich2"),
    "scatter": ("ompi_binomial", "ompi_binomial", "mvapich2"),
}  # fmt: skip


def choose(operation: str, call: Facts) -> Choice:
    """Return the choice for a call."""
    if operation == "reduce":  # Shumilin's or its topology-aware form: MVAPICH2 stands in for both
        return Choice("mvapich2")
    tables = read_tables("impi")
    table = tables.get(f"{operation} {call.per_host or 1}") or tables[f"{operation} 1"]
    nbytes = 1 if operation in ("barrier", "alltoallv") else call.received
    number = int(first_above(first_at_least(table, call.ranks).sizes, nbytes)[1])
    return Choice(supported_algorithm(_SUBSTITUTES[operation][number - 1], call.ranks))


def write(operation: str, s: Endpoint, *arguments: Argument) -> None:
    """Write the choice into the schedule of `s`; the first call exchanges the placement."""
    write_choice(operation, s, arguments, choose, exchanges_placement=True)
