"""Algorithms of Open MPI's `coll/base` and `coll/basic` that SimGrid's selector lacks.

Written from the sources of Open MPI 4.1.4 (`ompi/mca/coll/base/coll_base_*.c`): each function names
its source, and sends the same messages in the same order on each rank. The fixed decisions of
`coll/tuned` pass a segment size of 0 and a fan-out of 0, so messages are not segmented and every
chain is one chain (`coll_tuned_decision_fixed.c`). Code shared with SimGrid's algorithms, which use
segments, is in the modules of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import bcast, reduce
from tisim.actions.collectives.halving import exchange_doubling
from tisim.actions.collectives.segments import Pieces
from tisim.actions.collectives.trees import (
    Place,
    binary_tree,
    binomial_tree,
    chains,
    in_order_binomial_tree,
    knomial_tree,
)
from tisim.actions.script import Endpoint

_RADIX = 4  # coll_tuned_bcast_decision.c: coll_tuned_bcast_knomial_radix


def _tree(name: str, s: Endpoint, root: int) -> Place:
    if name == "chain":
        return chains(s.rank, s.size, root, 1)
    if name == "knomial":  # `ompi_coll_base_topo_build_kmtree` (`coll_base_topo.c`)
        parent, levels = knomial_tree(s.rank, s.size, root, _RADIX)
        return Place(parent, tuple(child for level in levels for child in level))
    return (binary_tree if name == "binary" else binomial_tree)(s.rank, s.size, root)


def bcast_tree(s: Endpoint, nbytes: int, root: int, tree: str) -> None:
    """Broadcast along a tree, in one piece.

    `ompi_coll_base_bcast_intra_chain`, `_pipeline` (the same), `_bintree`, `_binomial` and
    `_knomial`.
    """
    bcast.forward_segments(s, _tree(tree, s, root), [nbytes])


def bcast_split_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send one half down each side of a binary tree, then exchange the halves in pairs.

    `ompi_coll_base_bcast_intra_split_bintree`.
    """
    if count < 2:
        bcast_tree(s, count * size, root, "chain")
    else:
        bcast.send_halves(s, root, [[(count - count // 2) * size], [count // 2 * size]])


def bcast_scatter_allgather(s: Endpoint, count: int, size: int, root: int) -> None:
    """A binomial scatter, then an allgather by recursive doubling.

    `ompi_coll_base_bcast_intra_scatter_allgather`.
    """
    if count < s.size:
        bcast.flattree(s, count, size, root)
        return
    place = (s.rank - root) % s.size
    pieces = Pieces(count, s.size)

    def nbytes(first: int, number: int) -> int:
        return pieces.nbytes(first, number) * size

    parent, children = in_order_binomial_tree(place, s.size, 0)
    if parent is not None and (received := nbytes(place, place - parent)):
        s.recv((parent + root) % s.size, received)
    for child in reversed(children):
        if sent := nbytes(child, child - place):
            s.send((child + root) % s.size, sent)
    exchange_doubling(s, lambda ranks: nbytes(ranks.start, len(ranks)), root=root)


def reduce_tree(s: Endpoint, nbytes: int, root: int, tree: str) -> None:
    """Reduce along a tree, in one piece.

    `ompi_coll_base_reduce_intra_chain`, `_pipeline` (the same), `_binary`, and `_binomial`, whose
    tree keeps the ranks in order.
    """
    if tree == "binomial":
        place = in_order_binomial_tree(s.rank, s.size, root)
    else:
        place = _tree(tree, s, root)
    reduce.reduce_segments(s, place, 1, nbytes, nbytes)


def gatherv_linear(s: Endpoint, sent: int, received: Sequence[int], root: int) -> None:
    """Receive rank by rank on the root (`mca_coll_basic_gatherv_intra`); skips empty blocks."""
    if s.rank != root:
        if sent > 0:
            s.send(root, sent)
        return
    for other in range(s.size):
        if other != root and received[other] > 0:
            s.recv(other, received[other])


def scatterv_linear(s: Endpoint, sent: Sequence[int], received: int, root: int) -> None:
    """Send rank by rank from the root (`mca_coll_basic_scatterv_intra`); skips empty blocks."""
    if s.rank != root:
        if received > 0:
            s.recv(root, received)
        return
    for other in range(s.size):
        if other != root and sent[other] > 0:
            s.send(other, sent[other])


def alltoallv_linear(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """All messages at once, by rank (`ompi_coll_base_alltoallv_intra_basic_linear`).

    `sent`, `received`: bytes per rank; `empty`: send empty messages too, as before Open MPI 5.
    """
    sources = [r for r in range(s.size) if r != s.rank and (empty or received[r] > 0)]
    targets = [r for r in range(s.size) if r != s.rank and (empty or sent[r] > 0)]
    requests = s.irecvs(sources, [received[r] for r in sources])
    requests += s.isends(targets, [sent[r] for r in targets])
    s.waitall(requests)


def alltoallv_pairwise(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """Exchanges at growing distance (`ompi_coll_base_alltoallv_intra_pairwise`)."""
    for step in range(1, s.size):
        target, source = (s.rank + step) % s.size, (s.rank - step) % s.size
        request = s.irecv(source, received[source]) if empty or received[source] > 0 else None
        if empty or sent[target] > 0:
            s.send(target, sent[target])
        if request is not None:
            s.wait(request)


def scan_linear(s: Endpoint, nbytes: int) -> None:
    """Scan from rank to rank (`ompi_coll_base_scan_intra_linear`, `_exscan_intra_linear`)."""
    if s.rank > 0:
        s.recv(s.rank - 1, nbytes)
        s.combine(nbytes)
    if s.rank < s.size - 1:
        s.send(s.rank + 1, nbytes)
