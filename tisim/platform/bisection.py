"""The bisection bandwidth of a cluster: the least cut between the halves of its hosts.

By the theorem of maximum flow and minimum cut (Ford & Fulkerson, Canad. J. Math. 8, 1956), all
links between the halves that a set of switches separates carry together what the hosts of one half
can send to those of the other, however messages are routed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.zones.wiring import Wiring

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# scipy's flows are whole numbers of 32 bits. They only tell which links are cut; what these carry
# is added up from their bandwidths.
_LARGEST_FLOW = 2**31 - 1
# Resolution of a bandwidth as a whole number, where the sum of all leaves room for it.
_RESOLUTION = 1 << 12
_FIRST_HALF, _SECOND_HALF = 0, 1


class _Edges(NamedTuple):
    """Directed edges of a graph with their capacities, in bytes/s."""

    tails: Integers
    heads: Integers
    capacities: Floats


def bisection_bandwidth(
    wiring: Wiring,
    hosts: int,
    bandwidths: Floats,
    is_fatpipe: NDArray[np.uint8] | NDArray[np.bool_],
) -> float | None:
    """Bandwidth of the least cut between the first half of the hosts and the second.

    Parameters
    ----------
    wiring
        How the hosts and switches are joined.
    hosts
        Number of hosts; of an odd number, the second half is the larger one.
    bandwidths
        Of every link of the platform, in bytes/s.
    is_fatpipe
        Which of the links bound each flow by itself, and never the sum of flows.

    Returns
    -------
    float or None
        In bytes/s, in the direction from the first half to the second. None if no set of links
        bounds the sum, or one of the halves is empty.
    """
    if hosts < 2:
        return None
    capacities = np.where(is_fatpipe, np.inf, bandwidths)
    edges = _contracted(wiring, hosts, capacities)
    return _least_cut(edges)


def _contracted(wiring: Wiring, hosts: int, capacities: Floats) -> _Edges:
    """The graph in which each half of the hosts is one vertex: 0 and 1; further ones follow.

    A vertex with a limiter is two, joined by the limiter; messages come into the one and leave
    from the other.
    """
    top = int(max(hosts - 1, wiring.tails.max(initial=0), wiring.heads.max(initial=0))) + 1
    entrances = np.arange(2, top + 2)
    exits = entrances.copy()
    exits[wiring.limited] = np.arange(top + 2, top + 2 + len(wiring.limited))
    half = hosts // 2
    # A host of the first half sends as if from its entrance, one of the second half receives at
    # its exit: its own limiter is on the way.
    for numbers, group, vertex in (
        (entrances, slice(0, half), _FIRST_HALF),
        (exits, slice(half, hosts), _SECOND_HALF),
    ):
        merged = numbers[group]
        other = exits if numbers is entrances else entrances
        is_plain = merged == other[group]
        merged[...] = vertex
        other[group][is_plain] = vertex
    tails = np.concatenate([exits[wiring.tails], entrances[wiring.limited]])
    heads = np.concatenate([entrances[wiring.heads], exits[wiring.limited]])
    links = np.concatenate([wiring.links, wiring.limiters])
    matters = tails != heads
    return _Edges(tails[matters], heads[matters], capacities[links[matters]])


def _least_cut(edges: _Edges) -> float | None:
    """The capacity of the least cut between vertices 0 and 1; None if it is not finite."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    finite = edges.capacities[np.isfinite(edges.capacities)]
    if not len(finite):
        return None
    # No flow exceeds what leaves the first half, nor does any link that nothing bounds.
    most = finite.sum()
    unit = max(float(most) / _LARGEST_FLOW, float(finite.min()) / _RESOLUTION)
    whole = np.minimum(np.rint(edges.capacities / unit), np.floor(most / unit)).astype(np.int32)
    size = int(max(edges.tails.max(), edges.heads.max())) + 1
    # Cables side by side become one.
    rows, inverse = np.unique(edges.tails * size + edges.heads, return_inverse=True)
    sums = np.minimum(np.bincount(inverse, weights=whole), _LARGEST_FLOW).astype(np.int32)
    tails, heads = np.divmod(rows, size)
    graph = csr_array((sums, (tails, heads)), shape=(size, size), dtype=np.int32)
    flow = maximum_flow(graph, _FIRST_HALF, _SECOND_HALF).flow
    residual = graph - flow
    residual.data[residual.data <= 0] = 0
    residual.eliminate_zeros()
    reached = np.zeros(size, dtype=np.bool_)
    reached[breadth_first_order(residual, _FIRST_HALF, return_predecessors=False)] = True
    cut = reached[edges.tails] & ~reached[edges.heads]
    total = float(edges.capacities[cut].sum())
    return total if np.isfinite(total) else None
