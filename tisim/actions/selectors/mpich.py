"""The selector `mpich`: the decisions of MPICH.

On a whole communicator, MPICH's broadcast and reductions work in two levels, on hosts and among
them, even with one rank per host; its flat algorithms are for the parts: the ranks of a host, or
the leaders of the hosts.

References
----------
R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in MPICH,
International Journal of High Performance Computing Applications 19(1), 2005, 49-66. The thresholds
are those of SimGrid 3.32 (`smpi_mpich_selector.cpp`).
"""

from __future__ import annotations

from tisim.actions.collectives.halving import is_power_of_two, power_of_two_up_to
from tisim.actions.nodes import is_part
from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import Argument, Choice, Facts, write_choice

_FIXED_ALGORITHMS = {
    "barrier": "ompi_bruck",
    "gather": "ompi_binomial",
    "scatter": "ompi_binomial",
    "alltoallv": "bruck",
}


def choose(operation: str, call: Facts) -> Choice | None:
    """Return the choice for a call; None if there is nothing to do."""
    name = _FIXED_ALGORITHMS.get(operation) or _name(operation, call)
    return Choice(name) if name else None


def _name(operation: str, call: Facts) -> str | None:
    ranks, nbytes, count = call.ranks, call.sent, call.count
    if operation == "bcast":
        return _bcast(call)
    if operation == "alltoall":
        # For large blocks on an odd number of ranks, SimGrid chooses `pair`, which then fails.
        if nbytes >= 32768:
            return "ring"
        return "bruck" if nbytes < 256 and ranks >= 8 else "mvapich2_scatter_dest"
    if operation == "reduce_scatter":
        return "mpich_pair" if count > 524288 else "mpich_rdb"
    if operation in ("reduce", "allreduce"):
        if not call.part:
            return "mvapich2_two_level"
        enough = count >= power_of_two_up_to(ranks)
        if operation == "reduce":
            return "scatter_gather" if enough and nbytes >= 2048 else "binomial"
        return "rab_rdb" if enough and nbytes > 2048 else "rdb"
    # An allgather is chosen by bytes, an allgatherv by elements, whatever their width.
    total = nbytes * ranks if operation == "allgather" else count
    doubling, ring = ("rdb", "ring")
    bruck = "bruck"
    if operation == "allgatherv":
        if count == 0:
            return None
        doubling, ring, bruck = "mpich_rdb", "mpich_ring", "ompi_bruck"
    if is_power_of_two(ranks) and total < 524288:
        return doubling
    return bruck if total <= 81920 else ring


def _bcast(call: Facts) -> str:
    if call.per_host is not None and not call.part:
        return "SMP_binomial"
    if call.sent < 12288 or call.ranks <= 8:
        return "binomial_tree"
    if call.sent < 524288 and call.ranks % 2 == 0:
        return "scatter_rdb_allgather"
    return "scatter_LR_allgather"


def write(operation: str, s: Endpoint, *arguments: Argument) -> None:
    """Write the choice into the schedule of `s`; whole communicators exchange their placement.

    Ranks other than the root of a scatter use their receive arguments for the send arguments.
    """
    if operation == "scatter" and s.rank != arguments[4]:
        arguments = (*arguments[2:4], *arguments[2:])
    part = is_part(s)
    exchanges_placement = not part and operation in ("bcast", "reduce", "allreduce")
    write_choice(
        operation, s, arguments, choose, exchanges_placement=exchanges_placement, part=part
    )
