"""The selector `ompi`: the decisions of Open MPI 4.1, by the number of ranks and the size alone.

The thresholds are in `ompi.txt`. Where Open MPI uses the bytes of a whole message, so does SimGrid,
with the arguments of the calling rank: ranks whose arguments differ may decide differently. Element
counts are multiplied by the width of the send side.
"""

from __future__ import annotations

from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import (
    Argument,
    Choice,
    Facts,
    first_above,
    read_tables,
    supported_algorithm,
    write_choice,
)


def choose(operation: str, call: Facts) -> Choice:
    """Return the choice for a call; an allgatherv is chosen by the mean block, rounded down."""
    nbytes = call.sent // call.ranks if operation == "allgatherv" else call.sent
    row = first_above(read_tables("ompi")[operation], call.ranks)
    return Choice(supported_algorithm(first_above(row.sizes, nbytes)[1], call.ranks))


def write(operation: str, s: Endpoint, *arguments: Argument) -> None:
    """Write the choice into the schedule of `s`."""
    write_choice(operation, s, arguments, choose)
