"""From the decoded call of a collective to the schedule of a rank.

The core decodes the arguments of calls (`tisim._core.decode_call`); what follows here is which
of them an algorithm takes, and which algorithm it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tisim._core import CollectiveCall
from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.script import Script


class Chooses(Protocol):
    """A configuration, as far as collectives need one."""

    def collective(self, operation: str) -> str:
        """Return the name of the algorithm or selector of `operation`."""
        ...

    def algorithm(self, operation: str) -> Algorithm:
        """Return that algorithm or selector."""
        ...


# The arguments of an operation's algorithm.
_Arguments = tuple[object, ...]


def _none(call: CollectiveCall) -> _Arguments:
    return ()


def _count(call: CollectiveCall) -> _Arguments:
    return call.send_count, call.send_width


def _rooted_count(call: CollectiveCall) -> _Arguments:
    return call.send_count, call.send_width, call.root


def _two_counts(call: CollectiveCall) -> _Arguments:
    return call.send_count, call.send_width, call.receive_count, call.receive_width


def _rooted_two_counts(call: CollectiveCall) -> _Arguments:
    return *_two_counts(call), call.root


def _allgatherv(call: CollectiveCall) -> _Arguments:
    return call.send_count, call.send_width, call.receive_counts, call.receive_width


def _gatherv(call: CollectiveCall) -> _Arguments:
    return *_allgatherv(call), call.root


def _scatterv(call: CollectiveCall) -> _Arguments:
    return call.send_counts, call.send_width, call.receive_count, call.receive_width, call.root


def _alltoallv(call: CollectiveCall) -> _Arguments:
    return call.send_counts, call.send_width, call.receive_counts, call.receive_width


def _reduce_scatter(call: CollectiveCall) -> _Arguments:
    return call.receive_counts, call.send_width


# Operation in traces -> (operation in the catalogue, arguments of its algorithm).
_OPERATIONS: dict[str, tuple[str, Callable[[CollectiveCall], _Arguments]]] = {
    "barrier": ("barrier", _none),
    "bcast": ("bcast", _rooted_count),
    "reduce": ("reduce", _rooted_count),
    "allreduce": ("allreduce", _count),
    "scan": ("scan", _count),
    "exscan": ("exscan", _count),
    "gather": ("gather", _rooted_two_counts),
    "scatter": ("scatter", _rooted_two_counts),
    "gatherv": ("gatherv", _gatherv),
    "scatterv": ("scatterv", _scatterv),
    "allgather": ("allgather", _two_counts),
    "allgatherv": ("allgatherv", _allgatherv),
    "alltoall": ("alltoall", _two_counts),
    "alltoallv": ("alltoallv", _alltoallv),
    "reducescatter": ("reduce_scatter", _reduce_scatter),
}

#: The blocking collectives that `expand` takes, as traces call them.
COLLECTIVES = frozenset(_OPERATIONS)


def algorithm_name(operation: str, config: Chooses) -> str:
    """Name of the algorithm or selector that a line uses; a non-blocking one has its own."""
    if operation.startswith("i"):
        return operation
    return config.collective(_OPERATIONS[operation][0])


def write_call(script: Script, call: CollectiveCall, config: Chooses) -> None:
    """Write what a rank does in a collective call: its messages, then the call's flops.

    `call` is the decoded call (`tisim._core.decode_call`). A non-blocking collective starts
    requests and does not wait for them. `config`: names the algorithm or selector of an operation.
    Raises an `InputError` where `config` names an algorithm that does not exist or that cannot work
    on this communicator.
    """
    name, arguments_of = _OPERATIONS[call.operation]
    arguments = arguments_of(call)
    if not call.blocking:
        getattr(nonblocking, f"i{name}")(script, *arguments)
    elif call.size > 1 or name != "bcast":  # MPI_Bcast of one rank ends before it chooses
        config.algorithm(name)(script, *arguments)
    script.compute(call.flops)


def expand(
    call: CollectiveCall,
    *,
    rank: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None = None,
    surveyed: frozenset[int] = frozenset(),
) -> Script:
    """The schedule of one rank for one collective call; see `Script` and `write_call`."""
    choose = config.algorithm
    script = Script(rank, call.size, placement, order=order, surveyed=surveyed, choose=choose)
    write_call(script, call, config)
    return script
