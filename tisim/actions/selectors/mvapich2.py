"""The selector `mvapich2`: the decisions of MVAPICH2, tuned for the Stampede cluster.

The thresholds are in `mvapich2.txt`. A decision depends on sizes, on the number of ranks, and in
some operations on the number of ranks of a host and on whether they are consecutive. Most
algorithms work in two levels; the keyword arguments of the choice name the algorithms on a host
and among the hosts.
"""

from __future__ import annotations

from tisim.actions.collectives.halving import is_power_of_two, power_of_two_up_to
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import (
    Argument,
    Choice,
    Facts,
    first_at_least,
    read_tables,
    sizes,
    supported_algorithm,
    write_choice,
)


def choose(operation: str, call: Facts) -> Choice | None:
    """Return the choice for a call, by the mean block for allgatherv; None: nothing to do."""
    if operation in ("bcast", "reduce", "allreduce") and call.count == 0:
        return None
    if operation == "barrier":
        return Choice("mvapich2_pair")
    if operation == "alltoallv":
        return Choice("ring")
    if operation == "gather" and not call.blocked:
        return Choice("mpich")
    tables = read_tables("mvapich2")
    table = tables.get(f"{operation} {call.per_host or 1}") or tables.get(f"{operation} 1")
    row = first_at_least(table or tables[operation], call.ranks)
    nbytes = call.received / call.ranks if operation == "allgatherv" else call.received
    found = first_at_least(row.sizes, nbytes)[1]
    name = found.removesuffix("+")
    if name != found or name.startswith("mvapich2_two_level"):
        on_host = first_at_least(row.on_host, nbytes)[1] if row.on_host else ""
        return _two_level_choice(operation, name, on_host, blocked=call.blocked)
    if operation == "reduce" and name == "scatter_gather":
        return Choice(name if call.count >= power_of_two_up_to(call.ranks) else "binomial")
    if name == "mpich_rdb" and not is_power_of_two(call.ranks):
        return Choice("ompi_bruck")
    return Choice(supported_algorithm(name, call.ranks) if operation == "alltoall" else name)


def _two_level_choice(operation: str, name: str, on_host: str, *, blocked: bool) -> Choice:
    """Return the two-level choice; `blocked`: the ranks of every host are consecutive."""
    if operation == "bcast":
        return Choice("mvapich2_inter_node", {"inter": name})
    if operation == "reduce":
        return Choice("mvapich2_two_level", {"intra": on_host, "inter": name})
    if operation == "allreduce":
        return Choice("mvapich2_two_level", {"intra": "reduce", "inter": name})
    if operation == "allgather":
        return Choice("mvapich2_smp" if blocked else "mpich")
    return Choice(name, {"intra": on_host}) if blocked else Choice("ompi_binomial")


def write(operation: str, s: Endpoint, *arguments: Argument) -> None:
    """Write the choice into the schedule of `s`.

    After a broadcast among the hosts, each leader broadcasts the message on its host.
    """
    if operation == "bcast" and arguments[0]:
        found = nodes(s)
        choice = choose(operation, Facts(s.size, *sizes(operation, s, arguments)))
        assert choice is not None
        choice.call("bcast", s, *arguments)
        if choice.name == "mvapich2_inter_node":
            Choice("mpich").call("bcast", found.intra, arguments[0], arguments[1], 0)
    else:
        write_choice(
            operation,
            s,
            arguments,
            choose,
            exchanges_placement=operation in ("scatter", "allgather"),
        )
