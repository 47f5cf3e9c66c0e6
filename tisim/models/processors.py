"""Computations on the cores of hosts."""

from __future__ import annotations

import heapq
import math
from functools import partial
from itertools import count, repeat
from typing import TYPE_CHECKING

import simpy

from tisim.models.clock import Clock, Progress
from tisim.support.model_results import check_result

if TYPE_CHECKING:
    from tisim.simulation.settings import Settings


class _Host(Progress[simpy.Event | None]):
    """A host and its computations, each with its event (None if no process waits for it)."""

    def __init__(self, speed: float, cores: int, memory: float) -> None:
        super().__init__()
        self.speed, self.cores = speed, cores
        self.usable_cores = min(float(cores), memory / speed) if speed > 0 else float(cores)
        self.end: int | None = None  # agenda entry of the next end


class HostModel:
    r"""Computations that share the cores of their host (SimGrid's Cas01 model).

    With :math:`n` computations on a host of :math:`c` cores of :math:`s` flop/s each progresses at

    .. math:: r = \min\left(s, \frac{c\,s}{n}\right)

    (``cpu_cas01.cpp``). If the host has a memory bandwidth of :math:`B` bytes/s and computations
    need :math:`d` bytes per flop, :math:`c` is :math:`\min\left(c, \frac{B}{d\,s}\right)`: all get
    an equal share of the bandwidth, and none more than it can use. A custom model overrides `rate`.
    """

    def rate(self, speed: float, cores: float, computations: int) -> float:
        """Return the rate of each computation, in flop/s, on the cores that memory can supply."""
        return min(speed, speed * cores / computations)

    def attach(self, clock: Clock, settings: Settings) -> None:
        """Start a simulation on the hosts of a platform."""
        self._clock = clock
        columns = settings.routes
        memory = settings.memory_speeds or repeat(math.inf)
        rows = zip(
            columns.floats("host_speed"), columns.integers("host_cores"), memory, strict=False
        )
        self._hosts = [_Host(*row) for row in rows]
        self._orders = count()
        self._stale: dict[int, None] = {}

    def speed(self, host: int) -> float:
        """Return the speed of a core, in flop/s."""
        return self._hosts[host].speed

    def cores(self, host: int) -> int:
        """Return the number of cores of a host."""
        return self._hosts[host].cores

    def execute(self, host: int, flops: float, threads: int = 1) -> simpy.Event:
        """Compute `flops` on each of `threads` cores; returns an event for the end."""
        event = self._clock.env.event()
        for waiting in (event, *repeat(None, threads - 1)):
            # Among equal ends the newest comes first, as in SimGrid.
            order = -next(self._orders)
            self._hosts[host].start(self._clock.now, flops, order, waiting)
        self._stale[host] = None
        return event

    def settle(self) -> None:
        """Date the next end on each host where a computation began or ended."""
        for number in self._stale:
            host = self._hosts[number]
            if host.end is not None:
                self._clock.cancelled.add(host.end)
                host.end = None
            if host.ends:
                rate = self.rate(host.speed, host.usable_cores, len(host.ends))
                host.rate = check_result(self, "rate", rate)
                date = host.next_end(self._clock.now)
                host.end = self._clock.at(date, partial(self._end, number))
        self._stale.clear()

    def _end(self, number: int) -> None:
        """End the computations on a host that are due now, or within the precision."""
        host = self._hosts[number]
        host.end = None
        host.advance(self._clock.now)
        limit = host.reading + self._clock.precision * host.rate
        is_first = True
        while host.ends and (is_first or host.ends[0][0] < limit):
            event = heapq.heappop(host.ends)[2]
            is_first = False
            if event is not None:
                event.succeed()
        self._stale[number] = None
