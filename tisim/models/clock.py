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
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import simpy

from tisim.errors import TisimError

#: An action at a date of the agenda: returns the events that wake those who waited for it.
Ending = Callable[[], Sequence[simpy.Event]]


class Transfers(Protocol):
    """A network, which keeps the dates of its ends itself (`tisim.models.NetworkModel`)."""

    def settle(self) -> None:
        """Share the links anew when all have acted at an instant."""
        ...

    def next_end(self) -> float:
        """The date of the next end, in seconds; infinite: there is none."""
        ...

    def end(self) -> list[Callable[[], None]]:
        """End what ends now; what is to be done about each, in the order of their starts."""
        ...


@dataclass(slots=True, order=True)
class Entry:
    """Something in the agenda; without an `ending` nothing happens."""

    date: float
    order: int
    ending: Ending | None = field(compare=False)


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

    def at(self, date: float, ending: Ending) -> Entry:
        """Note what ends at a date; of equal dates that which was noted first comes first."""
        self._order += 1
        entry = Entry(date, self._order, ending)
        heapq.heappush(self._agenda, entry)
        return entry

    def wake_after(self, seconds: float) -> simpy.Event:
        """An event so many seconds from now, dated at once."""
        event = self.env.event()
        self.at(self.now + seconds, lambda: [event])
        return event

    def sleep(self, seconds: float) -> simpy.Event:
        """An event so many seconds from now, at least the precision; dated after this instant."""
        event = self.env.event()
        self._sleeps.append((self.now + max(seconds, self.precision), event))
        return event

    def turn(self) -> simpy.Event:
        """An event of this instant, after all who have been woken already have acted."""
        return self.env.event().succeed()

    def run(self, settle_hosts: Callable[[], None], network: Transfers) -> None:
        """Simulate until nothing more can happen."""
        self.env.process(self._instants(settle_hosts, network))
        try:
            self.env.run()
        except TisimError as error:
            # SimPy raises a copy of what a process has raised, without the place in the trace.
            original = error.__cause__
            raise (original if isinstance(original, TisimError) else error) from None

    def _instants(
        self, settle_hosts: Callable[[], None], network: Transfers
    ) -> Generator[simpy.Event, None, None]:
        while True:
            while self.env.peek() <= self.env.now:  # somebody has still to act
                yield self.env.timeout(0)
            for date, event in reversed(self._sleeps):  # the last one first, as SimGrid does
                self.at(date, lambda event=event: [event])  # type: ignore[misc]
            self._sleeps.clear()
            settle_hosts()
            network.settle()
            date = min(self._next(), network.next_end())
            if date == float("inf"):
                return
            yield self.env.timeout(max(date - self.env.now, 0.0))
            self.now = max(self.now, date)
            for event in self._end_dated():
                event.succeed()
            for done in network.end():
                done()

    def _next(self) -> float:
        while self._agenda and self._agenda[0].ending is None:
            heapq.heappop(self._agenda)
        return self._agenda[0].date if self._agenda else float("inf")

    def _end_dated(self) -> list[simpy.Event]:
        woken: list[simpy.Event] = []
        while self._next() - self.now < self.precision:
            ending = heapq.heappop(self._agenda).ending
            assert ending is not None
            woken += ending()
        return woken
