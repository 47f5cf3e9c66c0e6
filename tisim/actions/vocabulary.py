"""Translate the decoded call of a collective to the schedule of a rank.

The core decodes the arguments of calls (`tisim._core.decode_call`); this module selects the
algorithm and the arguments that it takes.
"""

from __future__ import annotations

from typing import Protocol

from tisim._core import PROC_NULL, CollectiveCall
from tisim.actions.collectives.catalogue import Algorithm, nonblocking
from tisim.actions.script import Script


class CollectiveConfig(Protocol):
    """The part of a configuration that collectives need."""

    def collective(self, operation: str) -> str:
        """Return the name of the algorithm or selector of `operation`."""
        ...

    def algorithm(self, operation: str) -> Algorithm:
        """Return the algorithm or selector of `operation`."""
        ...

    @property
    def selector(self) -> str:
        """The name of the selector, which determines the schedules of non-blocking collectives."""
        ...


_TWO_SIDES = "send_count send_width receive_count receive_width"
_ALL_RECEIVED = "send_count send_width receive_counts receive_width"
_ALL_SENT = "send_counts send_width receive_count receive_width"

# Operations in which a rank copies its own block, and the side of the call that gives the number
# and the width of its elements. Rooted operations copy on the root only. (An allreduce copies its
# vector to the receive buffer.)
_OWN_BLOCKS = {
    **dict.fromkeys(("allreduce", "allgather", "allgatherv", "gather", "gatherv"), "send"),
    **dict.fromkeys(("alltoall", "alltoallv"), "send"),
    **dict.fromkeys(("scatter", "scatterv"), "receive"),
}
_ROOTED = frozenset({"gather", "gatherv", "scatter", "scatterv"})

# Operation in traces -> (operation in the catalogue, fields of the call that its algorithm takes).
_OPERATIONS = {
    "barrier": ("barrier", ""),
    "bcast": ("bcast", "send_count send_width root"),
    "reduce": ("reduce", "send_count send_width root"),
    "allreduce": ("allreduce", "send_count send_width"),
    "scan": ("scan", "send_count send_width"),
    "exscan": ("exscan", "send_count send_width"),
    "gather": ("gather", f"{_TWO_SIDES} root"),
    "scatter": ("scatter", f"{_TWO_SIDES} root"),
    "gatherv": ("gatherv", f"{_ALL_RECEIVED} root"),
    "scatterv": ("scatterv", f"{_ALL_SENT} root"),
    "allgather": ("allgather", _TWO_SIDES),
    "allgatherv": ("allgatherv", _ALL_RECEIVED),
    "alltoall": ("alltoall", _TWO_SIDES),
    "alltoallv": ("alltoallv", "send_counts send_width receive_counts receive_width"),
    "reducescatter": ("reduce_scatter", "receive_counts send_width"),
}
_NEIGHBOURS = frozenset(
    {"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv"}
)

#: Names of the blocking collectives in traces.
COLLECTIVES = _NEIGHBOURS.union(_OPERATIONS)


def algorithm_name(operation: str, config: CollectiveConfig) -> str:
    """Name of a line's algorithm or selector; non-blocking operations keep their own name."""
    if operation.startswith("i") or operation in _NEIGHBOURS:
        return operation
    return config.collective(_OPERATIONS[operation][0])


def write_call(script: Script, call: CollectiveCall, config: CollectiveConfig) -> None:
    """Write the schedule of a rank in a collective call: its messages, then the call's flops.

    `call` is the decoded call (`tisim._core.decode_call`). The part of a non-blocking collective
    after its first `waitall` is executed after the call. `config` names the algorithm or selector
    of each operation. Raises an `InputError` if that algorithm does not exist or does not support
    this communicator.
    """
    if call.operation in _NEIGHBOURS:
        _exchange_with_neighbours(script, call)
        return
    name, taken = _OPERATIONS[call.operation]
    arguments = [getattr(call, field) for field in taken.split()]
    if not call.blocking:
        script.memory = None  # a round has messages only
        nonblocking(name, config.selector)(script, *arguments)
    elif call.size > 1 or name != "bcast":  # MPI_Bcast of one rank returns before choosing
        if script.memory is not None:
            script.copy(_own_block(script, call))
        config.algorithm(name)(script, *arguments)
    script.compute(call.flops)


def _own_block(script: Script, call: CollectiveCall) -> int:
    """Bytes that a rank copies from its send buffer to its receive buffer."""
    side = _OWN_BLOCKS.get(call.operation)
    if side is None or (call.operation in _ROOTED and script.rank != call.root):
        return 0
    if side == "receive":
        return call.receive_count * call.receive_width
    counts = call.send_counts
    return (counts[script.rank] if counts else call.send_count) * call.send_width


def _exchange_with_neighbours(script: Script, call: CollectiveCall) -> None:
    """Write the messages of a neighbourhood collective, and their wait if it blocks.

    All receives are posted, then all sends, and then the rank waits, whatever the selector, as in
    Open MPI 4.1 (``coll/basic``); MPICH 4 posts the sends first (``linear``).
    """
    received = _of_each(call.sources, call.receive_count, call.receive_counts, call.receive_width)
    sent = _of_each(call.destinations, call.send_count, call.send_counts, call.send_width)
    requests = [script.irecv(source, nbytes) for source, nbytes in received]
    requests += [script.isend(destination, nbytes) for destination, nbytes in sent]
    if call.blocking:
        script.waitall(requests)


def _of_each(ranks: list[int], count: int, counts: list[int], width: int) -> list[tuple[int, int]]:
    """Return the neighbours other than MPI_PROC_NULL, with their message sizes in bytes."""
    sizes = counts or [count] * len(ranks)
    pairs = zip(ranks, sizes, strict=True)
    return [(rank, number * width) for rank, number in pairs if rank != PROC_NULL]
