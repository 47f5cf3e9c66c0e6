"""The simulated time of the SimPy kernel: what ends when, and who acts then.

Everything happens at *instants* (ADR 12). At each of them

1. what was dated ends: computations, sleeps and latencies less than `precision` apart end together,
   the later ones early; then transfers, in the order in which they started;
2. every process that was woken acts until it blocks, in the order of waking (SimPy's own order);
3. what this has changed is dated anew: sleeps, computations, then transfers, whose links are shared
   once for the whole instant.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import simpy

from tisim.errors import TisimError

if TYPE_CHECKING:
    from tisim.models.network import NetworkModel
    from tisim.models.processors import HostModel

T = TypeVar("T")


@dataclass(slots=True)
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


@dataclass(slots=True, order=True)
class Entry:
    """Something in the agenda: what to do at a date, unless it was cancelled."""

    date: float
    order: int
    act: Callable[[], object] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)


class Clock:
    """Moves a SimPy environment from instant to instant.

    `precision`: seconds; what ends less than that apart ends together (``precision/timing``), and
    no sleep is shorter. `env` is the SimPy environment of all processes. `now` is the date of this
    instant, in seconds. `env.now` is the same but for rounding: SimPy adds delays, and ``now +
    (date - now)`` is not always ``date``.
    """

    def __init__(self, precision: float) -> None:
        self.env = simpy.Environment()
        self.now = 0.0
        self.precision = precision
        self._agenda: list[Entry] = []
        self._order = 0
        self._sleeps: list[tuple[float, simpy.Event]] = []

    def at(self, date: float, act: Callable[[], object]) -> Entry:
        """Note what is to be done at a date; of equal dates the one noted first comes first."""
        self._order += 1
        entry = Entry(date, self._order, act)
        heapq.heappush(self._agenda, entry)
        return entry

    def wake_after(self, seconds: float) -> simpy.Event:
        """An event so many seconds from now, dated at once."""
        event = self.env.event()
        self.at(self.now + seconds, event.succeed)
        return event

    def sleep(self, seconds: float) -> simpy.Event:
        """An event so many seconds from now, at least the precision; dated after this instant."""
        event = self.env.event()
        self._sleeps.append((self.now + max(seconds, self.precision), event))
        return event

    def turn(self) -> simpy.Event:
        """An event of this instant, after all who have been woken already have acted."""
        return self.env.event().succeed()

    def run(self, hosts: HostModel, network: NetworkModel) -> None:
        """Simulate until nothing more can happen."""
        self.env.process(self._instants(hosts, network))
        try:
            self.env.run()
        except TisimError as error:
            # SimPy raises a copy of what a process has raised, without the place in the trace.
            original = error.__cause__
            raise (original if isinstance(original, TisimError) else error) from None

    def _instants(
        self, hosts: HostModel, network: NetworkModel
    ) -> Generator[simpy.Event, None, None]:
        while True:
            while self.env.peek() <= self.env.now:  # somebody has still to act
                yield self.env.timeout(0)
            for date, event in reversed(self._sleeps):  # the last one first, as SimGrid does
                self.at(date, event.succeed)
            self._sleeps.clear()
            hosts.settle()
            network.settle()
            date = min(self._next(), network.next_end())
            if date == float("inf"):
                return
            yield self.env.timeout(max(date - self.env.now, 0.0))
            self.now = max(self.now, date)
            while self._next() - self.now < self.precision:
                heapq.heappop(self._agenda).act()
            for done in network.end():
                done()

    def _next(self) -> float:
        """The date of the next entry of the agenda."""
        while self._agenda and self._agenda[0].is_cancelled:
            heapq.heappop(self._agenda)
        return self._agenda[0].date if self._agenda else float("inf")
