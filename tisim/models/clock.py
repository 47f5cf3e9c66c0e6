"""Simulated time of the SimPy kernel: an agenda, and progress of activities that share a rate."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

import simpy

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Progress(Generic[T]):
    """Activities that progress at a common rate: a virtual clock dates their ends (ADR 3).

    `reading`: work done per activity since the last idle time, at the date `updated`. `ends`: for
    each activity the reading at its end, a number that breaks ties, and the activity.
    """

    rate: float = 0.0
    reading: float = 0.0
    updated: float = 0.0
    ends: list[tuple[float, int, T]] = field(default_factory=list)

    def advance(self, now: float) -> None:
        """Bring the reading to a date."""
        self.reading += self.rate * (now - self.updated)
        self.updated = now

    def start(self, now: float, amount: float, order: int, activity: T) -> None:
        """Start an activity with an amount of work."""
        self.advance(now)
        if not self.ends:
            self.reading = 0.0
        heapq.heappush(self.ends, (self.reading + amount, order, activity))

    def next_end(self, now: float) -> float:
        """Return the date of the next end; infinite if nothing progresses."""
        left = self.ends[0][0] - self.reading if self.ends else float("inf")
        if left <= 0:
            return now
        return self.updated + left / self.rate if self.rate > 0 else float("inf")


class Clock:
    """The agenda of a SimPy environment that moves from instant to instant (`kernel`).

    `precision`: activities that end less than this apart (seconds) end together
    (``precision/timing``), and no sleep is shorter. `env` is the SimPy environment of all
    processes. `now` is the date of this instant, in seconds. `env.now` is equal except for
    rounding: SimPy adds delays, and ``now + (date - now)`` is not always ``date``.
    """

    def __init__(self, precision: float) -> None:
        self.env = simpy.Environment()
        self.now = 0.0
        self.precision = precision
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self.cancelled: set[int] = set()  # entries of the agenda
        self._orders = count()
        self._sleeps: list[tuple[float, simpy.Event]] = []

    def at(self, date: float, act: Callable[[], object]) -> int:
        """Schedule `act` at a date; entries with equal dates run in the order of scheduling."""
        entry = next(self._orders)
        heapq.heappush(self._agenda, (date, entry, act))
        return entry

    def wake_after(self, seconds: float) -> simpy.Event:
        """Return an event `seconds` from now, dated immediately."""
        event = self.env.event()
        self.at(self.now + seconds, event.succeed)
        return event

    def sleep(self, seconds: float) -> Generator[simpy.Event, None, None]:
        """Wait `seconds`, if any, but at least the precision; dated after this instant."""
        if seconds > 0:
            event = self.env.event()
            self._sleeps.append((self.now + max(seconds, self.precision), event))
            yield event

    def after_woken(self) -> simpy.Event:
        """Return an event of this instant, after all processes already woken have acted."""
        return self.env.event().succeed()

    def date_sleeps(self) -> None:
        """Date the sleeps that began at this instant, last one first, following SimGrid."""
        for date, event in reversed(self._sleeps):
            self.at(date, event.succeed)
        self._sleeps.clear()

    def next_end(self) -> float:
        """Return the date of the next entry of the agenda; infinite if there is none."""
        while self._agenda and self._agenda[0][1] in self.cancelled:
            self.cancelled.remove(heapq.heappop(self._agenda)[1])
        return self._agenda[0][0] if self._agenda else float("inf")

    def end(self) -> None:
        """Run the entries that are due at this instant, or within the precision."""
        while self.next_end() - self.now < self.precision:
            heapq.heappop(self._agenda)[2]()
