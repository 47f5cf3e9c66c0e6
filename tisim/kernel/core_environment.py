"""A SimPy environment whose clock is that of the compiled core."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import simpy
from simpy.core import EmptySchedule, Infinity, StopSimulation
from simpy.events import NORMAL

from tisim._core import CompletionType, Stop
from tisim.errors import InputError, ResourceOffError
from tisim.kernel.driver import Driver
from tisim.kernel.report import check_collectives, check_deaths, check_progress

if TYPE_CHECKING:
    from tisim._core import TraceSet
    from tisim.simulation.settings import Settings


class CallingRank(Protocol):
    """A rank that is driven by processes (`tisim.kernel.MpiRank`)."""

    index: int
    number: int
    host: str

    def returned(self) -> int | None:
        """Return the value of the call that has just ended."""
        ...


class CoreEnvironment(simpy.Environment, ABC):
    """A `simpy.Environment` on the clock of a simulation in the core.

    Parameters
    ----------
    driver
        The simulation, which continues from its current state.
    stop
        Reason why it stopped, if not handled yet.
    """

    def __init__(self, driver: Driver, stop: Stop | None = None) -> None:
        super().__init__(driver.core.now)
        self._driver = driver
        self._core = driver.core
        # Event and description of each activity.
        self._activities: dict[int, tuple[simpy.Event, str]] = {}
        # For each rank in a call: the event, the rank, and the name of the calling process.
        self._calls: dict[int, tuple[simpy.Event, CallingRank, str]] = {}
        self._jobs: dict[int, tuple[simpy.Event, Callable[[int], object]]] = {}
        self._woken: simpy.Event | None = None
        self._unanswered = stop

    @property
    def driver(self) -> Driver:
        """The driver that runs the core."""
        return self._driver

    @property
    def settings(self) -> Settings:
        """The models and algorithms in use."""
        return self._driver.settings

    # The clock

    def peek(self) -> float:
        """Return the date of the next event, of SimPy or of the core, in seconds."""
        if self._woken is not None:
            return self.now
        return min(super().peek(), self._core.next_event())

    def step(self) -> None:
        """Process the next event.

        Raises
        ------
        EmptySchedule
            If no event is left.
        tisim.SimulationError
            If no event is left but MPI ranks are still blocked.
        """
        if self._woken is None:
            self._run_core()
        if self._woken is not None:
            self._deliver(self._woken)
        elif super().peek() == Infinity:
            check_progress(self._driver, self._rank_labels())
            raise EmptySchedule
        else:
            super().step()

    def _run_core(self) -> None:
        """Run the core up to SimPy's next event, or until an activity, call or job ends."""
        stop, self._unanswered = self._unanswered, None
        if stop is None:
            # An urgent SimPy event, such as the end of `run(until=...)`, precedes all others.
            urgent = bool(self._queue) and self._queue[0][1] < NORMAL
            stop = self._driver.run(super().peek(), including=not urgent)
        self._now = max(self._now, self._core.now)
        if stop == Stop.COMPLETION:
            (over,) = self._core.take_completions()
            self._wake(over.type, over.index)
        elif stop == Stop.NEED_ACTION:
            self.start_action()
        elif stop in (Stop.MISMATCH, Stop.DISK_FULL):
            check_progress(self._driver, self._rank_labels())

    def _wake(self, kind: CompletionType, index: int) -> None:
        value: object = None
        if kind == CompletionType.ACTIVITY:
            event, _ = self._activities.pop(index)
        elif kind == CompletionType.FAILED_ACTIVITY:
            event, what = self._activities.pop(index)
            value = ResourceOffError(
                f"{what} failed at {self.now:.9g} s: a host or link that it uses is off"
            )
        elif kind == CompletionType.RANK:
            event, rank, _ = self._calls.pop(index)
            value = rank.returned()
        else:
            event, result = self._jobs.pop(index)
            check_deaths(self._driver, index)
            check_collectives(self._core, index)
            value = result(index)
        event._ok = kind != CompletionType.FAILED_ACTIVITY
        event._value = value
        self._woken = event

    def _deliver(self, event: simpy.Event) -> None:
        """Run the callbacks of an event immediately, as SimPy's own `step` does."""
        self._woken = None
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for position, callback in enumerate(callbacks):
            try:
                callback(event)
            except StopSimulation:
                # The remaining callbacks run when the simulation continues.
                event.callbacks = callbacks[position + 1 :]
                self._woken = event
                raise
        if not event._ok and not getattr(event, "_defused", False):
            raise event._value

    @abstractmethod
    def start_action(self) -> None:
        """Start the custom action requested by the core."""

    # Activities

    def execute(self, host: str, flops: float) -> simpy.Event:
        """Compute `flops` on a host; returns an event that is triggered at the end.

        It fails with `tisim.errors.ResourceOffError` if the host is off or goes off.

        Parameters
        ----------
        host
            Name of the host.
        flops
            Amount of computation, in flops (or instructions), not negative.
        """
        if not 0 <= flops < math.inf:
            raise InputError(f"an amount of computation must be at least 0 flops, got {flops!r}")
        number = self._core.execute(self._host(host), flops)
        return self._started(number, f"the computation on {host}")

    def _started(self, number: int, what: str) -> simpy.Event:
        """Return the event for the end of an activity of the core."""
        event = self.event()
        self._activities[number] = event, what
        return event

    def read(self, host: str, file: str, nbytes: float, offset: float = 0) -> simpy.Event:
        """Read bytes of a file from its disk or file system; returns an event for the end.

        It fails with `tisim.errors.ResourceOffError` if the host, or a server or link that it
        needs, is off or goes off.

        Parameters
        ----------
        host
            Name of the host.
        file
            Absolute path, on the disk or file system mounted above it; any other name is on the
            first disk of the host, or on the first file system if the host has no disk.
        nbytes
            Bytes, not negative; a whole number for a file system.
        offset
            Offset in the file, in bytes; it determines the servers of a file system.
        """
        return self._access(host, file, nbytes, offset, writes=False)

    def write(self, host: str, file: str, nbytes: float, offset: float = 0) -> simpy.Event:
        """Write bytes of a file to its disk or file system; see `read`."""
        return self._access(host, file, nbytes, offset, writes=True)

    def _access(
        self, host: str, file: str, nbytes: float, offset: float, *, writes: bool
    ) -> simpy.Event:
        verb = "write" if writes else "read"
        if not 0 <= nbytes < math.inf:
            raise InputError(f"a {verb} must move at least 0 bytes, got {nbytes!r}")
        if not 0 <= offset < math.inf:
            raise InputError(f"an offset must be at least 0 bytes, got {offset!r}")
        client = self._host(host)
        disk = self.settings.disk_of(client, file)
        disks = self._core.disks
        if disk < disks:
            number = self._core.access(disk, writes, nbytes)
        else:
            if not float(nbytes).is_integer() or not float(offset).is_integer():
                raise InputError(
                    f"a {verb} of a file system needs whole numbers of bytes and offsets"
                )
            where = (disk - disks, file, writes, float(offset), float(nbytes), client)
            while (number := self._core.access_file(*where)) < 0:
                self._driver.add_route(*self._core.missing_route())
        return self._started(number, f"the {verb} of {file} on {host}")

    def transfer(self, source: str, destination: str, nbytes: float) -> simpy.Event:
        """Move bytes from one host to another; returns an event that is triggered at the end.

        The transfer is a flow like those of MPI messages, without their envelope and protocol.
        It fails with `tisim.errors.ResourceOffError` if a host or link that it uses is off or
        goes off.

        Parameters
        ----------
        source, destination
            Names of hosts.
        nbytes
            Bytes, not negative.
        """
        if not 0 <= nbytes < math.inf:
            raise InputError(f"a transfer must move at least 0 bytes, got {nbytes!r}")
        a, b = self._host(source), self._host(destination)
        while (number := self._core.transfer(a, b, nbytes)) < 0:
            self._driver.add_route(*self._core.missing_route())
        return self._started(number, f"the transfer from {source} to {destination}")

    # Jobs and calls of ranks

    def start_job(
        self,
        traces: TraceSet,
        hosts: Sequence[int],
        result: Callable[[int], object],
        starts: Sequence[float] = (),
        kills: Mapping[int, float] | None = None,
    ) -> simpy.Event:
        """Start the ranks of a trace; returns an event whose value is that of `result`.

        Parameters
        ----------
        traces
            The core's `TraceSet`.
        hosts
            Host index of each rank.
        result
            Called with the number of the job in the core.
        starts, kills
            Dates at which ranks start and are killed (`tisim.kernel.driver.Driver.add_job`).
        """
        return self.watch_job(self._driver.add_job(traces, hosts, starts, kills), result)

    def watch_job(self, job: int, result: Callable[[int], object]) -> simpy.Event:
        """Return an event for the end of a running job, whose value is that of `result`.

        Parameters
        ----------
        job
            Number of the job in the core.
        result
            Called with that number.
        """
        event = self.event()
        self._jobs[job] = event, result
        return event

    def call(self, rank: CallingRank, post: Callable[[], None]) -> simpy.Event:
        """Start an MPI call of a rank; returns an event that is triggered at its return."""
        post()
        event = self.event()
        process = self.active_process
        self._calls[rank.index] = event, rank, "" if process is None else process.name
        return event

    def calling(self, rank: CallingRank) -> simpy.Event | None:
        """Return the event of a rank's current call, if any."""
        call = self._calls.get(rank.index)
        return call[0] if call else None

    def _rank_labels(self) -> dict[int, str]:
        """Names of the ranks driven by processes, for a deadlock report."""
        return {
            index: f"rank {rank.number} on {rank.host}"
            + (f" (process {process})" if process else "")
            for index, (_, rank, process) in self._calls.items()
        }

    def _host(self, name: str) -> int:
        return self.settings.host_index(name)
