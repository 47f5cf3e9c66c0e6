"""Broadcasts and reductions along trees, a vector in one piece."""

from __future__ import annotations

from tisim.actions.collectives.topology import Place, knomial_tree
from tisim.actions.script import Endpoint


def knomial(rank: int, size: int, root: int, radix: int) -> Place:
    """A rank's place in a tree of up to ``radix - 1`` children on each level.

    `ompi_coll_base_topo_build_kmtree` (`coll_base_topo.c`).
    """
    parent, levels = knomial_tree(rank, size, root, radix)
    return Place(parent, tuple(child for level in levels for child in level))


def send_down(s: Endpoint, nbytes: int, place: Place) -> None:
    """Receive from the parent, then send to all children at once.

    `ompi_coll_base_bcast_intra_generic` (`coll_base_bcast.c`) with one segment.
    """
    if place.parent is not None:
        s.wait(s.irecv(place.parent, nbytes))
    s.waitall([s.isend(child, nbytes) for child in place.children])


def send_up(s: Endpoint, nbytes: int, place: Place) -> None:
    """Receive from the children, the receive from the next one posted ahead; send to the parent.

    `ompi_coll_base_reduce_generic` (`coll_base_reduce.c`) with one segment.
    """
    last = None
    for child in place.children:
        request = s.irecv(child, nbytes)
        if last is not None:
            s.wait(last)
        last = request
    if last is not None:
        s.wait(last)
    if place.parent is not None:
        s.send(place.parent, nbytes)
