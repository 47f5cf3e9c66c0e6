"""Computations on the cores of hosts."""

from __future__ import annotations

import heapq
import math
from itertools import repeat
from typing import TYPE_CHECKING

import simpy

from tisim.models.clock import Clock, Entry
from tisim.support.answers import checked

if TYPE_CHECKING:
    from tisim.simulation.settings import Settings


class _Host:
    """The computations of one host, all of which progress at one rate."""

    __slots__ = ("busy", "cores", "done", "entry", "rate", "running", "speed", "updated")

    def __init__(self, speed: float, cores: int, memory: float) -> None:
        self.speed, self.cores = speed, cores
        self.busy = min(float(cores), memory / speed) if speed > 0 else float(cores)
        self.done = self.updated = self.rate = 0.0
        # By the reading of `done` at their end; of equal ones the newest first, as in SimGrid.
        self.running: list[tuple[float, int, simpy.Event | None]] = []
        self.entry: Entry | None = None

    def advance(self, now: float) -> None:
        self.done += self.rate * (now - self.updated)
        self.updated = now


class HostModel:
    r"""Computations that share the cores of their host (SimGrid's Cas01 model).

    With :math:`n` computations on a host of :math:`c` cores of :math:`s` flop/s each progresses at

    .. math:: r = \min\left(s, \frac{c\,s}{n}\right)

    (``cpu_cas01.cpp``). Where the host has a memory bandwidth of :math:`B` bytes/s and computations
    need :math:`d` bytes per flop, :math:`c` is :math:`\min\left(c, \frac{B}{d\,s}\right)`: all get
    an equal share of the bandwidth, and none more than it can use. A model of your own overrides
    `rate`.
    """

    def rate(self, speed: float, cores: float, computations: int) -> float:
        """The rate of each of some computations, in flop/s, on cores that memory can keep busy."""
        return min(speed, speed * cores / computations)

    def attach(self, clock: Clock, settings: Settings) -> None:
        """Begin a simulation on the hosts of a platform."""
        self._clock = clock
        columns = settings.routes
        self._hosts = [
            _Host(speed, cores, memory)
            for speed, cores, memory in zip(
                columns.floats("host_speed"),
                columns.integers("host_cores"),
                settings.memory_speeds or repeat(math.inf),
                strict=False,
            )
        ]
        self._order = 0
        self._stale: dict[int, None] = {}

    def speed(self, host: int) -> float:
        """The speed of a core, in flop/s."""
        return self._hosts[host].speed

    def cores(self, host: int) -> int:
        """How many cores a host has."""
        return self._hosts[host].cores

    def execute(self, host: int, flops: float, threads: int = 1) -> simpy.Event:
        """Compute on `threads` cores, so many flops on each; an event of the end."""
        event = self._clock.env.event()
        self._start(host, flops, event)
        for _ in range(threads - 1):
            self._start(host, flops, None)
        return event

    def _start(self, number: int, flops: float, event: simpy.Event | None) -> None:
        host = self._hosts[number]
        if host.running:
            host.advance(self._clock.now)
        else:
            host.done, host.updated = 0.0, self._clock.now
        self._order += 1
        heapq.heappush(host.running, (host.done + flops, -self._order, event))
        self._stale[number] = None

    def settle(self) -> None:
        """Date the next end on each host that something began or ended on."""
        for number in self._stale:
            host = self._hosts[number]
            if host.entry is not None:
                host.entry.ending = None
                host.entry = None
            if not host.running:
                continue
            rate = self.rate(host.speed, host.busy, len(host.running))
            host.rate = checked(self, "rate", rate)
            left = host.running[0][0] - host.done
            if left > 0 and host.rate <= 0:
                continue
            date = host.updated + left / host.rate if left > 0 else self._clock.now
            host.entry = self._clock.at(date, lambda number=number: self._end(number))  # type: ignore[misc]
        self._stale.clear()

    def _end(self, number: int) -> list[simpy.Event]:
        """End what ends now on a host, or within the precision."""
        host = self._hosts[number]
        host.entry = None
        host.advance(self._clock.now)
        done = host.done + self._clock.precision * host.rate
        first = True
        ended: list[simpy.Event] = []
        while host.running and (first or host.running[0][0] < done):
            event = heapq.heappop(host.running)[2]
            first = False
            if event is not None:
                ended.append(event)
        if host.running:
            self._stale[number] = None
        return ended
