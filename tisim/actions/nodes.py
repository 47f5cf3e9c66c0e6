"""The ranks of a communicator by host, as two-level algorithms and selectors see them.

SimGrid's ranks do not know where the others are: the first call on a communicator that asks
(`Comm::init_smp`) exchanges it in four small collectives, which take simulated time. `nodes`
writes them into the schedule of that first call, and notes in `Script.surveyed` that it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tisim.actions.script import Endpoint, Group, Script

_INT = 4  # bytes of the integers that the ranks exchange


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the ranks of a communicator are.

    Attributes
    ----------
    node
        For each rank the index of its host in `leaders` and `sizes`.
    ranks
        For each host its ranks, in the order in which they were started.
    leaders
        For each host the first of its ranks; hosts are in the order of their first ranks.
    sizes
        For each host the number of its ranks.
    uniform
        Every host has the same number of ranks.
    blocked
        On every host each rank's number is one more than that of the rank before it.
    """

    node: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    sizes: tuple[int, ...]
    uniform: bool
    blocked: bool


@dataclass(frozen=True, slots=True)
class Nodes:
    """The layout of a communicator as one of its ranks uses it.

    Attributes
    ----------
    layout
        Where all ranks are.
    intra
        The ranks of this rank's host; the leader has rank 0 in it.
    leaders
        The first rank of every host; None on a rank that is not one of them.
    """

    layout: Layout
    intra: Group
    leaders: Group | None

    def leader_of(self, rank: int) -> int:
        """The leader, as a rank of the communicator, of the host of `rank`."""
        return self.layout.leaders[self.layout.node[rank]]


def nodes(s: Endpoint) -> Nodes:
    """Where the ranks of `s` are; the first call on a communicator writes the exchange.

    Parameters
    ----------
    s
        A rank of a communicator (`Script`) or of a part of one (`Group`).
    """
    script, context = _script_and_context(s)
    found = layout(s)
    members = s.members if isinstance(s, Group) else range(s.size)
    mine = found.ranks[found.node[s.rank]]
    # The parts of a communicator are numbered like the nodes of a binary heap.
    intra = script.group([members[r] for r in mine], 2 * context + 1)
    leaders = None
    if intra.rank == 0:
        leaders = script.group([members[r] for r in found.leaders], 2 * context + 2)
    result = Nodes(found, intra, leaders)
    if context not in script.surveyed:
        script.surveyed |= {context}
        _survey(s, result)
    return result


def surveyed(s: Endpoint) -> bool:
    """Whether an earlier call on the communicator of `s` asked where its ranks are."""
    script, context = _script_and_context(s)
    return context in script.surveyed


def is_part(s: Endpoint) -> bool:
    """Whether `s` is a part of a communicator: the ranks of a host, or the leaders of hosts."""
    return isinstance(s, Group)


def layout(s: Endpoint) -> Layout:
    """Where the ranks of `s` are, without any exchange."""
    script, _ = _script_and_context(s)
    members: Sequence[int] = s.members if isinstance(s, Group) else range(s.size)
    return _layout(
        tuple(script.placement[m] for m in members), tuple(script.order[m] for m in members)
    )


def _script_and_context(s: Endpoint) -> tuple[Script, int]:
    if isinstance(s, Group):
        return s.script, s.context
    if isinstance(s, Script):
        return s, 0
    raise TypeError(f"a Script or a Group is needed, got {type(s).__name__}")


@lru_cache(maxsize=256)
def _layout(hosts: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    ranks_of: dict[int, list[int]] = {}
    for rank in sorted(range(len(hosts)), key=order.__getitem__):
        ranks_of.setdefault(hosts[rank], []).append(rank)
    index = {host: i for i, host in enumerate(ranks_of)}
    ranks = tuple(tuple(r) for r in ranks_of.values())
    sizes = tuple(len(r) for r in ranks)
    return Layout(
        node=tuple(index[host] for host in hosts),
        ranks=ranks,
        leaders=tuple(r[0] for r in ranks),
        sizes=sizes,
        uniform=len(set(sizes)) == 1,
        blocked=all(b == a + 1 for r in ranks for a, b in pairwise(r)),
    )


def _survey(s: Endpoint, found: Nodes) -> None:
    """The exchange: leaders, sizes of the hosts, uniform (within a host), blocked."""
    from tisim.actions.collectives.registry import algorithm

    ring = algorithm("allgather", "ring")
    ring(s, 1, _INT, 1, _INT)
    if found.leaders is not None:
        ring(found.leaders, 1, _INT, 1, _INT)
    algorithm("bcast", "scatter_LR_allgather")(found.intra, 1, _INT, 0)
    algorithm("allreduce", "default")(s, 1, _INT)
