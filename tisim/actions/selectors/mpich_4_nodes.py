"""Two-level collectives of MPICH 4.0: on each node, and among the nodes' leaders.

`maint/tuning/coll/ch4/generic.json` chooses these compositions (`src/mpid/ch4/src/ch4_coll_impl.h`)
if some node has several ranks of the communicator. The leader of a node is its lowest rank. The
parts, a node or the leaders, are not divided further: `flat` is their algorithm.
"""

from __future__ import annotations

from tisim.actions.collectives.bcast import among_leaders
from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.nodes import Layout, Nodes, host_groups, is_part, layout
from tisim.actions.script import Endpoint

_INT = 4  # bytes


def layout_of(s: Endpoint) -> Layout | None:
    """Return the placement of the ranks of `s`; None for one rank per node, and for parts."""
    if is_part(s):
        return None
    found = layout(s, by_rank=True)
    return found if len(found.leaders) < s.size else None


def _place(s: Endpoint, where: Nodes, rank: int) -> int | None:
    """Return the place of `rank` on the node of `s`; None if it is on another node."""
    node = where.layout.node
    return where.layout.ranks[node[rank]].index(rank) if node[rank] == node[s.rank] else None


def bcast_by_leaders(
    s: Endpoint, found: Layout, count: int, size: int, root: int, flat: Algorithm
) -> None:
    """The root first sends to its leader (`MPIDI_Bcast_intra_composition_alpha`)."""
    if count:
        where = host_groups(s, found)
        among_leaders(s, where, count, size, root, flat)
        flat(where.intra, count, size, 0)


def bcast_by_nodes(
    s: Endpoint, found: Layout, count: int, size: int, root: int, flat: Algorithm
) -> None:
    """The root first broadcasts on its node (`MPIDI_Bcast_intra_composition_beta`)."""
    where = host_groups(s, found)
    place = _place(s, where, root)
    if place:
        flat(where.intra, count, size, place)
    if where.leaders is not None:
        flat(where.leaders, count, size, found.node[root])
    if not place:
        flat(where.intra, count, size, 0)


def reduce_by_nodes(
    s: Endpoint, found: Layout, count: int, size: int, root: int, flat: Algorithm
) -> None:
    """The root's node is the last to reduce (`MPIDI_Reduce_intra_composition_beta`)."""
    where = host_groups(s, found)
    place = _place(s, where, root)
    if place is None:
        flat(where.intra, count, size, 0)
    if where.leaders is not None:
        flat(where.leaders, count, size, found.node[root])
    if place is not None:
        flat(where.intra, count, size, place)


def reduce_to_rank_0(
    s: Endpoint, found: Layout, count: int, size: int, root: int, flat: Algorithm
) -> None:
    """Rank 0 sends the result to the root (`MPIDI_Reduce_intra_composition_alpha`)."""
    where = host_groups(s, found)
    flat(where.intra, count, size, 0)
    if where.leaders is not None:
        flat(where.leaders, count, size, 0)
    if root and s.rank == 0:
        s.send(root, count * size)
    elif root and s.rank == root:
        s.recv(0, count * size)


def scan(
    s: Endpoint,
    found: Layout,
    count: int,
    size: int,
    flat: Algorithm,
    bcast: Algorithm,
    *,
    announced: bool,
) -> None:
    """Each leader broadcasts the preceding nodes' result (`MPIDI_Scan_intra_composition_alpha`).

    `announced`: it first broadcasts whether there is a result.
    """
    if count == 0:
        return
    where = host_groups(s, found)
    nbytes, last = count * size, where.intra.size - 1
    flat(where.intra, count, size)
    if last and where.intra.rank == last:
        where.intra.send(0, nbytes)
    if where.leaders is not None:
        if last:
            where.intra.recv(last, nbytes)
        flat(where.leaders, count, size)
        if where.leaders.rank + 1 < where.leaders.size:
            where.leaders.send(where.leaders.rank + 1, nbytes)
        if where.leaders.rank:
            where.leaders.recv(where.leaders.rank - 1, nbytes)
    if announced:
        bcast(where.intra, 1, _INT, 0)
    if found.node[s.rank]:
        bcast(where.intra, count, size, 0)
        s.combine(nbytes)
