"""Placement of a communicator's ranks on hosts, for two-level algorithms and selectors.

In SimGrid, the first call on a communicator that needs the placement of its ranks
(`Comm::init_smp`) exchanges it in four small collectives, which take simulated time. `nodes`
writes them into the schedule of that first call and records this in `Script.exchanged_parts`. MPI
libraries know the placement from the start: use `host_groups` for these.
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
    """Placement of a communicator's ranks on hosts.

    Attributes
    ----------
    node
        Index of each rank's host in `leaders` and `sizes`.
    ranks
        Ranks of each host, in start order.
    leaders
        First rank of each host; hosts are ordered by their first ranks.
    sizes
        Number of ranks of each host.
    uniform
        Whether every host has the same number of ranks.
    blocked
        Whether the ranks of every host are consecutive.
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

    `layout` is the placement of all ranks. `intra` contains the ranks of this rank's host, with the
    leader as rank 0. `leaders` contains the first rank of every host; None on other ranks.
    """

    layout: Layout
    intra: Endpoint
    leaders: Endpoint | None

    def leader_of(self, rank: int) -> int:
        """Return the leader of the host of `rank`, as a rank of the communicator."""
        return self.layout.leaders[self.layout.node[rank]]


def nodes(s: Endpoint) -> Nodes:
    """Return the placement of the ranks of `s`; a communicator's first call writes the exchange.

    `s` is a rank of a communicator (`Script`) or of a part of one (`Group`).
    """
    script, context = _script_and_context(s)
    result = host_groups(s, layout(s))
    if context not in script.exchanged_parts:
        script.exchanged_parts |= {context}
        _exchange_placement(s, result)
    return result


def host_groups(s: Endpoint, found: Layout) -> Nodes:
    """Return the parts (hosts, leaders) of the communicator of `s` for the layout `found`."""
    script, context = _script_and_context(s)
    # The contexts of parts are numbered like the nodes of a binary heap.
    mine = _members(s, found.ranks[found.node[s.rank]])
    intra = script.group(mine, 2 * context + 1)
    leaders = None
    if intra.rank == 0:
        leaders = script.group(_members(s, found.leaders), 2 * context + 2)
    return Nodes(found, intra, leaders)


def is_placement_exchanged(s: Endpoint) -> bool:
    """True if an earlier call on the communicator of `s` exchanged the placement of its ranks."""
    script, context = _script_and_context(s)
    return context in script.exchanged_parts


def is_part(s: Endpoint) -> bool:
    """True for a part of a communicator: the ranks of a host, or the leaders of hosts."""
    return isinstance(s, Group)


def layout(s: Endpoint, *, by_rank: bool = False) -> Layout:
    """Return the placement of the ranks of `s`, without any exchange.

    `by_rank`: list the ranks of a host in rank order, not in start order.
    """
    script, _ = _script_and_context(s)
    if isinstance(s, Group):
        hosts = tuple(script.placement[m] for m in s.members)
        return _layout_of(hosts, tuple(script.order[m] for m in s.members))
    # All ranks of a communicator share these long, immutable sequences: identify them by id.
    order = range(s.size) if by_rank else script.order
    key = _identity(script.placement), _identity(order)
    known = _of_communicator.get(key)
    if known is None:
        if len(_of_communicator) >= _MAX_KNOWN:
            _of_communicator.clear()
        found = _layout_of(tuple(script.placement), tuple(order))
        known = _of_communicator[key] = (script.placement, order, found)
    return known[2]


# Layouts of recent communicators; the sequences are kept alive so that their ids are not reused.
_of_communicator: dict[tuple[object, object], tuple[Sequence[int], Sequence[int], Layout]] = {}
_MAX_KNOWN = 64


def _identity(sequence: Sequence[int]) -> object:
    return sequence if isinstance(sequence, range) else id(sequence)


def _members(s: Endpoint, ranks: Sequence[int]) -> Sequence[int]:
    """Convert ranks of `s` to ranks of the whole communicator."""
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


def _exchange_placement(s: Endpoint, found: Nodes) -> None:
    """Write the exchange: leaders, host sizes, uniform (within a host), blocked."""
    from tisim.actions.collectives.catalogue import algorithm

    ring = algorithm("allgather", "ring")
    ring(s, 1, _INT, 1, _INT)
    if found.leaders is not None:
        ring(found.leaders, 1, _INT, 1, _INT)
    algorithm("bcast", "scatter_LR_allgather")(found.intra, 1, _INT, 0)
    algorithm("allreduce", "default")(s, 1, _INT)
