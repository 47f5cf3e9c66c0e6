r"""Transfers that share the links of their routes.

A message of :math:`s` bytes (its envelope included) pays the latency
:math:`f_\lambda(s)\,\lambda`, then moves until

.. math:: \int f_\beta(s)\, \rho(t)\, dt = s

with the share :math:`\rho` of its pair of hosts (`tisim.models.sharing`), whose penalty and bound
are

.. math::

   p = \lambda + \sum_l \frac{S}{C_l}, \qquad
   b = \min\left(\min_l C_l, \frac{\gamma}{2\lambda}\right)

(Casanova and Marchal, INRIA RR-4596, 2002; Velho and Legrand, SimuTools, 2009). All flows from one
host to another have the same share, so that they are one variable (ADR 3).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.models.clock import Clock, Progress
from tisim.models.sharing import Sharing
from tisim.support.model_results import check_result

if TYPE_CHECKING:
    from tisim.simulation.settings import Settings

# The share of a flow on the links of the reverse route (network/crosstraffic).
_CROSSTRAFFIC = 0.05
# Flows end together if their dates differ by rounding only, as in core/solver/tolerances.hpp; flows
# of one pair of hosts, if their progress does.
_SAME_DATE = 1 + 1e-12
_SAME_PROGRESS = 1 + 4e-15


@dataclass(frozen=True, slots=True)
class Route:
    """The route from one host to another.

    Attributes
    ----------
    source, destination
        Names of hosts.
    links, back
        Indices of its links, and of those of the reverse route, which it also loads with
        ``network/crosstraffic``.
    latency
        In seconds.
    bandwidths
        Bandwidths of its links, in bytes/s.
    """

    source: str
    destination: str
    links: tuple[int, ...]
    back: tuple[int, ...]
    latency: float
    bandwidths: tuple[float, ...]


@dataclass(slots=True, eq=False, kw_only=True)
class _Pair(Progress[Callable[[], None]]):
    """The flows from one host to another, with equal shares; each has a callback for its end."""

    penalty: float
    bound: float
    links: np.ndarray[tuple[int], np.dtype[np.intp]]
    weights: np.ndarray[tuple[int], np.dtype[np.float64]]
    end: float = float("inf")  # date of the next end of a flow, in seconds


class NetworkModel:
    """Max-min fair sharing with factors that depend on the message size.

    A custom model overrides `latency`, `length`, `penalty` or `bound`, which are called once per
    message or per pair of hosts, or `shares`.
    """

    def latency(self, route: Route, size: float) -> float:
        """Return the seconds before the first byte of a message of `size` bytes moves."""
        return route.latency * self.parameters.latency_factor.at(size)

    def length(self, route: Route, size: float) -> float:
        """Return the bytes that a message of `size` bytes moves at its share of the links."""
        return size / self.parameters.bandwidth_factor.at(size)

    def penalty(self, route: Route) -> float:
        """Return the ratio of level to share: ``latency + sum(S / bandwidth)``."""
        penalty = route.latency
        for bandwidth in route.bandwidths:
            penalty += self.parameters.weight_s / bandwidth if bandwidth > 0 else 0.0
        return penalty

    def bound(self, route: Route) -> float:
        """Return the rate bound of a flow, in bytes/s; infinite if there is none.

        With ``network/TCP-gamma:0``, a flow with a latency has none, as in SimGrid.
        """
        least = min(route.bandwidths, default=float("inf"))
        if route.latency <= 0:
            return least
        by_latency = self.parameters.tcp_gamma / (2.0 * route.latency)
        return min(least, by_latency) if by_latency > 0 else float("inf")

    def shares(self, sharing: Sharing) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return the share of each flow for every pair of hosts with flows, in bytes/s."""
        return sharing.shares(self.parameters.precision_maxmin)

    def attach(self, clock: Clock, settings: Settings) -> None:
        """Start a simulation on the links of a platform."""
        self.parameters = settings.network
        self._clock, self._settings, self._platform = clock, settings, settings.routes
        self._bandwidth = np.array(self._platform.floats("link_bandwidth"), float)
        self._fatpipe = np.array(self._platform.link_fatpipe, bool)
        self._route, self._pair = cache(self._find_route), cache(self._make_pair)
        self._active: dict[_Pair, None] = {}  # in the order of their first flows
        self._orders = count()
        self._is_solved = True
        self.in_progress = 0  # transfers, including those still in their latency

    def transfer(
        self, source: int, destination: int, size: float, done: Callable[[], None]
    ) -> None:
        """Move bytes from one host to another, and call `done` when they have arrived."""
        route = self._route(source, destination)
        latency = check_result(self, "latency", self.latency(route, size))
        length = check_result(self, "length", self.length(route, size))
        pair = self._pair(source, destination, latency > 0 and route.latency > 0)
        self.in_progress += 1
        start = partial(self._start, pair, length, next(self._orders), done)
        if latency > 0:
            self._clock.at(self._clock.now + latency, start)
        else:
            start()

    def settle(self) -> None:
        """Update the shares of the links if flows have started or ended."""
        if self._is_solved:
            return
        self._is_solved = True
        now = self._clock.now
        shared = [pair for pair in self._active if len(pair.links)]
        for pair, share in zip(shared, self._shares(shared), strict=True):
            if share != pair.rate:
                pair.advance(now)
                pair.rate = share
        for pair in self._active:
            pair.end = pair.next_end(now)

    def next_end(self) -> float:
        """Return the date of the next end of a flow, in seconds; infinite if there is none."""
        return min((pair.end for pair in self._active), default=float("inf"))

    def end(self) -> list[Callable[[], None]]:
        """End the flows that end now, in the order in which they started."""
        now = self._clock.now
        ended: list[tuple[int, Callable[[], None]]] = []
        for pair in [pair for pair in self._active if pair.end <= now * _SAME_DATE]:
            pair.advance(now)
            pair.reading = pair.ends[0][0]
            latest = pair.reading * _SAME_PROGRESS
            while pair.ends and pair.ends[0][0] <= latest:
                ended.append(heapq.heappop(pair.ends)[1:])
            pair.end = float("inf")  # until the next update of the shares
            if not pair.ends:
                del self._active[pair]
            self._is_solved = False
        self.in_progress -= len(ended)
        ended.sort(key=lambda flow: flow[0])
        return [done for _, done in ended]

    def _find_route(self, source: int, destination: int) -> Route:
        links, latency = self._platform.route(source, destination)
        crosses = self.parameters.crosstraffic
        return Route(
            self._settings.host_name(source),
            self._settings.host_name(destination),
            tuple(links),
            tuple(self._platform.route(destination, source)[0]) if crosses else (),
            latency,
            tuple(self._bandwidth[links].tolist()),
        )

    def _make_pair(self, source: int, destination: int, pays: bool) -> _Pair:
        """Create the pair of two hosts; flows that pay no latency form a separate one."""
        route = self._route(source, destination)
        weights: dict[int, float] = {}
        loads = [(link, 1.0) for link in route.links]
        for link, weight in loads + [(link, _CROSSTRAFFIC) for link in route.back]:
            before = weights.get(link, 0.0)
            weights[link] = max(before, weight) if self._fatpipe[link] else before + weight
        penalty = self.penalty(route) if pays else 1.0
        return _Pair(
            penalty=check_result(self, "penalty", penalty, positive=True),
            bound=check_result(self, "bound", self.bound(route), finite=False),
            links=np.array(list(weights), np.intp),
            weights=np.array(list(weights.values())),
        )

    def _start(self, pair: _Pair, length: float, order: int, done: Callable[[], None]) -> None:
        self._active.setdefault(pair)
        pair.start(self._clock.now, length if len(pair.links) else 0.0, order, done)
        self._is_solved = False

    def _shares(self, pairs: list[_Pair]) -> list[float]:
        if not pairs:
            return []
        used, link = np.unique(np.concatenate([p.links for p in pairs]), return_inverse=True)
        system = Sharing(
            capacity=self._bandwidth[used],
            fatpipe=self._fatpipe[used],
            count=np.array([float(len(pair.ends)) for pair in pairs]),
            penalty=np.array([pair.penalty for pair in pairs]),
            bound=np.array([pair.bound for pair in pairs]),
            variable=np.repeat(np.arange(len(pairs)), [len(pair.links) for pair in pairs]),
            link=link,
            weight=np.concatenate([pair.weights for pair in pairs]),
        )
        shares = np.asarray(self.shares(system))
        if shares.shape == (len(pairs),) and shares.dtype.kind in "iuf" and (shares >= 0).all():
            found: list[float] = shares.tolist()
            return found
        raise InputError(
            f"{type(self).__name__}.shares must return a non-negative number for each of "
            f"{len(pairs)} pairs of hosts, not {shares!r}"
        )
