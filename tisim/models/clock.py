"""The simulated time of the SimPy kernel: an agenda, and the progress of what shares a rate."""

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
    """Activities that all progress at one rate: a virtual clock dates their ends (ADR 3).

    `reading`: what each has done since there were none, when `updated`. `ends`: the reading at the
    end of each, a number that decides between equal ones, and the activity.
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
        """Start an activity, which has to do an amount."""
        self.advance(now)
        if not self.ends:
            self.reading = 0.0
        heapq.heappush(self.ends, (self.reading + amount, order, activity))

    def next_end(self, now: float) -> float:
        """The date of the next end; infinite: nothing progresses."""
        left = self.ends[0][0] - self.reading if self.ends else float("inf")
        if left <= 0:
            return now
        return self.updated + left / self.rate if self.rate > 0 else float("inf")


class Clock:
    """The agenda of a SimPy environment that moves from instant to instant (`kernel`).

    `precision`: seconds; what ends less than that apart ends together (``precision/timing``), and
    no sleep is shorter. `env` is the SimPy environment of all processes. `now` is the date of this
    instant, in seconds. `env.now` is the same but for rounding: SimPy adds delays, and ``now +
    (date - now)`` is not always ``date``.
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
        """Note what is to be done at a date; of equal dates the one noted first comes first."""
        entry = next(self._orders)
        heapq.heappush(self._agenda, (date, entry, act))
        return entry

    def wake_after(self, seconds: float) -> simpy.Event:
        """An event so many seconds from now, dated at once."""
        event = self.env.event()
        self.at(self.now + seconds, event.succeed)
        return event

    def sleep(self, seconds: float) -> Generator[simpy.Event, None, None]:
        """Wait so many seconds, if any, at least the precision; dated after this instant."""
        if seconds > 0:
            event = self.env.event()
            self._sleeps.append((self.now + max(seconds, self.precision), event))
            yield event

    def turn(self) -> simpy.Event:
        """An event of this instant, after all who have been woken already have acted."""
        return self.env.event().succeed()

    def date_sleeps(self) -> None:
        """Date the sleeps that began at this instant: the last one first, as SimGrid does."""
        for date, event in reversed(self._sleeps):
            self.at(date, event.succeed)
        self._sleeps.clear()

    def next_end(self) -> float:
        """The date of the next entry of the agenda; infinite: there is none."""
        while self._agenda and self._agenda[0][1] in self.cancelled:
            self.cancelled.remove(heapq.heappop(self._agenda)[1])
        return self._agenda[0][0] if self._agenda else float("inf")

    def end(self) -> None:
        """Do what is due at this instant, or within the precision."""
        while self.next_end() - self.now < self.precision:
            heapq.heappop(self._agenda)[2]()
