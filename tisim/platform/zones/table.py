"""Zones whose routes are declared one by one: Full, Floyd and Dijkstra.

SimGrid's order breaks ties between paths of equal length, which determines the route of a message.
networkx breaks them differently. Choosing among all of its shortest paths takes 2.8 times as long
as this search (2,500 hosts in a grid: 9.1 ms instead of 3.3 ms per source), its Floyd-Warshall
with predecessors is a Python loop over all triples of hosts, and its import would delay replays.
Therefore the searches are implemented here; tests compare their lengths with those of networkx.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.platform.routing import find_route
from tisim.platform.zones.base import LocalRoute, NoRoute, Zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.platform.zones.base import Term


class TableZone(Zone):
    """A zone with a table of declared routes between its vertices.

    Parameters
    ----------
    name, parent
        As in any zone.
    """

    def __init__(self, name: str, parent: Zone | None) -> None:
        super().__init__(name, parent)
        self.routes: dict[tuple[int, int], LocalRoute] = {}

    def add_route(self, src: int, dst: int, route: LocalRoute) -> bool:
        """Declare a route; return False if the pair already has one."""
        if (src, dst) in self.routes:
            return False
        self.routes[src, dst] = route
        return True

    def add_default_loopbacks(self, loopback: Callable[[], int]) -> None:
        """Give every vertex without a declared loopback the default one.

        `loopback` returns the link that SimGrid's network models provide for messages from a
        host to itself; zones that contain zones do not need it.
        """
        if not self.children:
            for vertex in range(self.size):
                if (vertex, vertex) not in self.routes:
                    self.routes[vertex, vertex] = LocalRoute((loopback(),))

    def _missing(self, src: int, dst: int) -> NoRoute:
        return NoRoute(
            f"zone {self.name} ({self.kind}) has no route from {self.label(src)} to "
            f"{self.label(dst)}"
        )

    def _join(self, steps: list[LocalRoute]) -> LocalRoute:
        """Join consecutive declared routes, with the paths through the zones between them."""
        links: list[int] = list(steps[0].links)
        terms: list[Term] = list(links)
        for before, after in itertools.pairwise(steps):
            end, begin = before.gw_dst, after.gw_src
            if end is not None and begin is not None and end != begin:
                find_route(end, begin, links, terms)
            links += after.links
            terms += after.links
        return LocalRoute(tuple(links), steps[0].gw_src, steps[-1].gw_dst, terms)


class FullZone(TableZone):
    """Zone in which every communicating pair has a declared route."""

    kind = "Full"

    def local_route(self, src: int, dst: int) -> LocalRoute:
        route = self.routes.get((src, dst))
        if route is None:
            raise self._missing(src, dst)
        return route


class FloydZone(TableZone):
    """Shortest paths by number of links, computed for all pairs at once (Floyd-Warshall)."""

    kind = "Floyd"

    @cached_property
    def _predecessors(self) -> NDArray[np.int64]:
        """Predecessor of each destination on the path from each source; -1: no path."""
        import numpy as np

        unreachable = np.iinfo(np.int64).max // 4
        cost = np.full((self.size, self.size), unreachable, dtype=np.int64)
        before = np.full((self.size, self.size), -1, dtype=np.int64)
        for (src, dst), route in self.routes.items():
            cost[src, dst] = len(route.links)
            before[src, dst] = src
        for via in range(self.size):
            detour = cost[:, via, None] + cost[None, via, :]
            shorter = detour < cost
            cost[shorter] = detour[shorter]
            before[shorter] = np.broadcast_to(before[via], before.shape)[shorter]
        return before

    def local_route(self, src: int, dst: int) -> LocalRoute:
        before = self._predecessors[src]
        steps: list[LocalRoute] = []
        at = dst
        while True:
            previous = int(before[at])
            if previous < 0:
                raise self._missing(src, dst)
            steps.append(self.routes[previous, at])
            at = previous
            if at == src:
                break
        return self._join(steps[::-1])


class DijkstraZone(TableZone):
    """Shortest paths by number of links, computed per source when it first sends.

    SimGrid builds these routes from their end: the links of each declared route are reversed and
    precede those of other zones on the path; latencies are summed from the end, too. This affects
    times in the last bit only, and routes are equal to SimGrid's link by link.
    """

    kind = "Dijkstra"
    prepends = True

    @cached_property
    def _order(self) -> dict[int, int]:
        """Index of each vertex in the order of first mention by a route."""
        order: dict[int, int] = {}
        for pair in self.routes:
            for vertex in pair:
                order.setdefault(vertex, len(order))
        return order

    @cached_property
    def _neighbours(self) -> dict[int, list[tuple[int, int]]]:
        """For each vertex, the vertices one route away and the number of links to them."""
        found: dict[int, list[tuple[int, int]]] = {vertex: [] for vertex in self._order}
        for (src, dst), route in self.routes.items():
            found[src].append((dst, len(route.links)))
        return found

    @cached_property
    def _trees(self) -> dict[int, dict[int, int]]:
        return {}

    def _tree(self, src: int) -> dict[int, int]:
        """Return the predecessor of each vertex on the shortest path from `src`."""
        tree = self._trees.get(src)
        if tree is None:
            tree = self._trees[src] = self._search(src)
        return tree

    def _search(self, src: int) -> dict[int, int]:
        before: dict[int, int] = {}
        cost = {src: 0}
        queue = [(0, self._order.get(src, 0), src)]
        while queue:
            reached, _, vertex = heapq.heappop(queue)
            if reached > cost[vertex]:
                continue
            for neighbour, links in self._neighbours.get(vertex, ()):
                if neighbour not in cost or reached + links < cost[neighbour]:
                    cost[neighbour] = reached + links
                    before[neighbour] = vertex
                    heapq.heappush(queue, (reached + links, self._order[neighbour], neighbour))
        return before

    def local_route(self, src: int, dst: int) -> LocalRoute:
        if src == dst:
            own = self.routes.get((src, dst))
            if own is None:
                raise self._missing(src, dst)
            return own._replace(links=own.links[::-1], terms=own.links)
        before = self._tree(src)
        steps: list[LocalRoute] = []
        at = dst
        while at != src:
            if at not in before:
                raise self._missing(src, dst)
            step = self.routes[before[at], at]
            steps.append(step._replace(links=step.links[::-1]))
            at = before[at]
        joined = self._join(steps[::-1])
        return joined._replace(terms=joined.summands[::-1])
