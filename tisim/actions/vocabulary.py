"""From the decoded call of a collective to the schedule of a rank.

The core decodes the arguments of calls (`tisim._core.decode_call`); what follows here is which
of them an algorithm takes, and which algorithm it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tisim._core import CollectiveCall, Stage
from tisim.actions.collectives import communicators, nonblocking
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


def expand(
    call: CollectiveCall,
    *,
    rank: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None = None,
    surveyed: frozenset[int] = frozenset(),
) -> Script:
    """Write the schedule of one rank for one collective call.

    Parameters
    ----------
    call
        The decoded call (`tisim._core.decode_call`). A non-blocking collective gives a schedule
        that starts requests and does not wait for them.
    rank
        This rank in the communicator.
    placement, order, surveyed
        See `Script`; its attribute `surveyed` is to be given to the rank's next call on the same
        communicator. Schedules of two calls with other values of `surveyed` may differ.
    config
        Names the algorithm or selector of an operation.

    Returns
    -------
    Script
        The messages of the rank, and after them the flops of a `reducescatter`.

    Raises
    ------
    InputError
        `config` names an algorithm that does not exist or that cannot work on this communicator.
    """
    name, arguments_of = _OPERATIONS[call.operation]
    arguments = arguments_of(call)
    script = new_script(rank, call.size, placement, config, order, surveyed)
    if not call.blocking:
        getattr(nonblocking, f"i{name}")(script, *arguments)
    elif call.size > 1 or name != "bcast":  # MPI_Bcast of one rank ends before it chooses
        config.algorithm(name)(script, *arguments)
    script.compute(call.flops)
    return script


def expand_communicator(
    stage: Stage,
    member: bool,
    groups: Sequence[Sequence[int]],
    *,
    rank: int,
    size: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None = None,
    surveyed: frozenset[int] = frozenset(),
) -> Script:
    """Write the schedule of one rank in a stage of a `comm_split` or `comm_dup`.

    Parameters
    ----------
    stage
        What comes: ``COLORS`` on rank 0 of the parent, then ``GROUPS`` there; ``GROUPS`` for
        both on its other ranks; ``NUMBER`` on the ranks of the new communicator.
    member
        Whether the rank will be in a new communicator.
    groups
        The ranks of each new communicator (`communicators.tell_groups`), in ``GROUPS`` on rank 0.
    rank, size, placement, config, order, surveyed
        This rank and the number of ranks, and see `expand`; of the parent, in ``NUMBER`` of the
        new communicator.
    """
    script = new_script(rank, size, placement, config, order, surveyed)
    if stage == Stage.NUMBER:
        communicators.agree_on_number(script)
    elif stage == Stage.COLORS:
        communicators.gather_colors(script)
    elif rank == 0:
        communicators.tell_groups(script, groups)
    else:
        communicators.comm_split(script, member, groups)
    return script


def new_script(
    rank: int,
    size: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None,
    surveyed: frozenset[int],
) -> Script:
    """An empty schedule of one rank, whose algorithms are those of a configuration."""
    return Script(rank, size, placement, order=order, surveyed=surveyed, choose=config.algorithm)
