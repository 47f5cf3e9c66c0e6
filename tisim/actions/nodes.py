"""The ranks of a communicator by host, as two-level algorithms and selectors see them.

SimGrid's ranks do not know where the others are: the first call on a communicator that asks
(`Comm::init_smp`) exchanges it in four small collectives, which take simulated time. `nodes`
writes them into the schedule of that first call, and notes in `Script.surveyed` that it did. MPI
libraries know it from the start: `parts`.
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

    `layout` is where all ranks are. `intra` is the ranks of this rank's host; the leader has rank 0
    in it. `leaders` is the first rank of every host; None on a rank that is not one of them.
    """

    layout: Layout
    intra: Endpoint
    leaders: Endpoint | None

    def leader_of(self, rank: int) -> int:
        """The leader, as a rank of the communicator, of the host of `rank`."""
        return self.layout.leaders[self.layout.node[rank]]


def nodes(s: Endpoint) -> Nodes:
    """Where the ranks of `s` are; the first call on a communicator writes the exchange.

    `s` is a rank of a communicator (`Script`) or of a part of one (`Group`).
    """
    script, context = _script_and_context(s)
    result = parts(s, layout(s))
    if context not in script.surveyed:
        script.surveyed |= {context}
        _survey(s, result)
    return result


def parts(s: Endpoint, found: Layout) -> Nodes:
    """The parts of the communicator of `s` where its ranks are as `found` says."""
    script, context = _script_and_context(s)
    # The parts of a communicator are numbered like the nodes of a binary heap.
    mine = _members(s, found.ranks[found.node[s.rank]])
    intra = script.group(mine, 2 * context + 1)
    leaders = None
    if intra.rank == 0:
        leaders = script.group(_members(s, found.leaders), 2 * context + 2)
    return Nodes(found, intra, leaders)


def surveyed(s: Endpoint) -> bool:
    """True if an earlier call on the communicator of `s` surveyed where its ranks are."""
    script, context = _script_and_context(s)
    return context in script.surveyed


def is_part(s: Endpoint) -> bool:
    """True for a part of a communicator: the ranks of a host, or the leaders of hosts."""
    return isinstance(s, Group)


def layout(s: Endpoint, *, by_rank: bool = False) -> Layout:
    """Where the ranks of `s` are, without any exchange.

    `by_rank`: those of a host in the order of their ranks, not of their start.
    """
    script, _ = _script_and_context(s)
    if isinstance(s, Group):
        hosts = tuple(script.placement[m] for m in s.members)
        return _layout_of(hosts, tuple(script.order[m] for m in s.members))
    # The ranks of a communicator share these sequences, which are long and do not change.
    order = range(s.size) if by_rank else script.order
    key = _identity(script.placement), _identity(order)
    known = _of_communicator.get(key)
    if known is None:
        if len(_of_communicator) >= _MAX_KNOWN:
            _of_communicator.clear()
        found = _layout_of(tuple(script.placement), tuple(order))
        known = _of_communicator[key] = (script.placement, order, found)
    return known[2]


# The layouts of the communicators met last; the sequences are kept so that none takes their place.
_of_communicator: dict[tuple[object, object], tuple[Sequence[int], Sequence[int], Layout]] = {}
_MAX_KNOWN = 64


def _identity(sequence: Sequence[int]) -> object:
    return sequence if isinstance(sequence, range) else id(sequence)


def _members(s: Endpoint, ranks: Sequence[int]) -> Sequence[int]:
    """Ranks of `s` as ranks of the whole communicator."""
    return [s.members[r] for r in ranks] if isinstance(s, Group) else ranks


def _script_and_context(s: Endpoint) -> tuple[Script, int]:
    if isinstance(s, Group):
        return s.script, s.context
    if isinstance(s, Script):
        return s, 0
    raise TypeError(f"a Script or a Group is needed, got {type(s).__name__}")


@lru_cache(maxsize=256)
def _layout_of(hosts: tuple[int, ...], order: tuple[int, ...]) -> Layout:
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
    from tisim.actions.collectives.catalogue import algorithm

    ring = algorithm("allgather", "ring")
    ring(s, 1, _INT, 1, _INT)
    if found.leaders is not None:
        ring(found.leaders, 1, _INT, 1, _INT)
    algorithm("bcast", "scatter_LR_allgather")(found.intra, 1, _INT, 0)
    algorithm("allreduce", "default")(s, 1, _INT)
