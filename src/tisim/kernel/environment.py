"""A SimPy environment whose clock is that of the compiled core."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import simpy
from simpy.core import EmptySchedule, Infinity, StopSimulation
from simpy.events import NORMAL

from tisim._core import Stop, WokenType
from tisim.errors import InputError, ResourceOffError
from tisim.kernel.custom import CustomActions
from tisim.kernel.driver import Driver
from tisim.kernel.failures import check_alive
from tisim.kernel.mpi import MpiRank, World
from tisim.kernel.report import check_progress, check_whole

if TYPE_CHECKING:
    from tisim.kernel.driver import Progress, Settings


class Environment(simpy.Environment):
    """A `simpy.Environment` with hosts and a network in it.

    Ordinary SimPy processes and resources run in it unchanged. The events of the core (ends of
    computations, transfers and MPI calls) and those of SimPy happen on one clock. At one instant
    those of the core come first, then those of SimPy; what all of them start then shares the
    network.

    Parameters
    ----------
    platform
        A `tisim.Platform`.
    config
        A `tisim.Config` or a mapping of configuration keys to values; wins over what the platform
        says.
    progress
        Is told now and then how far a long simulation has come.

    Examples
    --------
    >>> env = tisim.kernel.Environment(tisim.Platform.load("platforms/graphene.xml"))
    >>> def job(env):
    ...     yield env.execute("graphene-0.nancy.grid5000.fr", 3.68e9)
    ...     print(env.now)
    >>> process = env.process(job(env))
    >>> env.run()
    1.0
    """

    def __init__(
        self, platform: Any, config: Any = None, *, progress: Progress | None = None
    ) -> None:
        super().__init__()
        self.platform = platform
        self._driver = Driver(platform.settings(config), progress)
        self._core = self._driver.core
        # Of each activity: its event, and what it is.
        self._activities: dict[int, tuple[simpy.Event, str]] = {}
        # Of each rank that is in a call: its event, and the process that made it.
        self._calls: dict[int, tuple[simpy.Event, MpiRank, str]] = {}
        self._jobs: dict[int, tuple[simpy.Event, Callable[[int], object]]] = {}
        self._actions = CustomActions(self)
        self._woken: simpy.Event | None = None

    @property
    def driver(self) -> Driver:
        """What runs the core."""
        return self._driver

    @property
    def settings(self) -> Settings:
        """The models and algorithms in use."""
        return self._driver.settings

    # The clock

    def peek(self) -> float:
        """The date of the next event, of SimPy or of the core, in seconds."""
        if self._woken is not None:
            return self.now
        return min(super().peek(), self._core.next_event())

    def step(self) -> None:
        """Process the next event.

        Raises
        ------
        EmptySchedule
            No event is left.
        tisim.SimulationError
            MPI ranks are left that will never go on, and nothing else happens any more.
        """
        if self._woken is None:
            self._run_core()
        if self._woken is not None:
            self._deliver(self._woken)
        elif super().peek() == Infinity:
            check_progress(self._driver, self._doing())
            raise EmptySchedule
        else:
            super().step()

    def _run_core(self) -> None:
        """Let the core go on up to SimPy's next event, or until it wakes somebody."""
        # An urgent event of SimPy's, such as the end of `run(until=...)`, comes before all others.
        urgent = bool(self._queue) and self._queue[0][1] < NORMAL
        stop = self._driver.run(super().peek(), including=not urgent)
        self._now = max(self._now, self._core.now)
        if stop == Stop.WAKE:
            (woken,) = self._core.take_woken()
            self._wake(woken.type, woken.index)
        elif stop == Stop.NEED_ACTION:
            self._actions.start()
        elif stop == Stop.MISMATCH:
            check_progress(self._driver)

    def _wake(self, kind: WokenType, index: int) -> None:
        value: object = None
        if kind == WokenType.ACTIVITY:
            event, _ = self._activities.pop(index)
        elif kind == WokenType.FAILURE:
            event, what = self._activities.pop(index)
            event._ok = False
            event._value = ResourceOffError(
                f"{what} failed at {self.now:.9g} s: a host or link that it uses is off"
            )
            self._woken = event
            return
        elif kind == WokenType.RANK:
            event, rank, _ = self._calls.pop(index)
            value = rank.returned()
        else:
            event, result = self._jobs.pop(index)
            check_alive(self._driver, index)
            check_whole(self._core, index)
            value = result(index)
        event._ok = True
        event._value = value
        self._woken = event

    def _deliver(self, event: simpy.Event) -> None:
        """Run the callbacks of an event now, as SimPy's own `step` does."""
        self._woken = None
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for position, callback in enumerate(callbacks):
            try:
                callback(event)
            except StopSimulation:
                # The other callbacks follow when the simulation goes on.
                event.callbacks = callbacks[position + 1 :]
                self._woken = event
                raise
        if not event._ok and not getattr(event, "_defused", False):
            raise event._value

    # Activities

    def execute(self, host: str, flops: float) -> simpy.Event:
        """Compute `flops` on a host; an event that happens at the end.

        It fails with `tisim.errors.ResourceOffError` when the host is off or goes off.

        Parameters
        ----------
        host
            Name of the host.
        flops
            Amount of computation, in flops (or instructions), not negative.
        """
        if not 0 <= flops < math.inf:
            raise InputError(f"an amount of computation is 0 or more flops, got {flops!r}")
        number = self._core.execute(self._host(host), flops)
        event = self.event()
        self._activities[number] = event, f"the computation on {host}"
        return event

    def transfer(self, source: str, destination: str, nbytes: float) -> simpy.Event:
        """Move bytes from one host to another; an event that happens at the end.

        The transfer is a flow as those of MPI messages are, without their envelope and protocol.
        It fails with `tisim.errors.ResourceOffError` when a host or link that it uses is off or
        goes off.

        Parameters
        ----------
        source, destination
            Names of hosts.
        nbytes
            Bytes, not negative.
        """
        if not 0 <= nbytes < math.inf:
            raise InputError(f"a transfer moves 0 or more bytes, got {nbytes!r}")
        a, b = self._host(source), self._host(destination)
        while (number := self._core.transfer(a, b, nbytes)) < 0:
            self._driver.add_route(*self._core.missing_route())
        event = self.event()
        self._activities[number] = event, f"the transfer from {source} to {destination}"
        return event

    # MPI ranks and traces

    def mpi(self, hosts: Sequence[str]) -> World:
        """A world of MPI ranks that SimPy processes act as, one rank for each host named.

        Parameters
        ----------
        hosts
            Names of hosts; one may come several times.

        Examples
        --------
        >>> env = tisim.kernel.Environment(tisim.Platform.load("platforms/backbone.xml"))
        >>> world = env.mpi(["c-0.me", "c-1.me"])
        >>> def sender():
        ...     yield world[0].send(1, 1e6)
        >>> def receiver():
        ...     yield world[1].recv(0, 1e6)
        ...     print(f"received after {env.now:.6f} s")
        >>> processes = env.process(sender()), env.process(receiver())
        >>> env.run()
        received after 0.015491 s
        """
        if isinstance(hosts, str):
            raise InputError(f"an MPI world is a list of host names, such as [{hosts!r}]")
        if not hosts:
            raise InputError("an MPI world needs the host of at least one rank")
        job = self._driver.add_job(None, [self._host(host) for host in hosts])
        first = self._core.first_rank(job)
        return World(MpiRank(self, first + i, i, host) for i, host in enumerate(hosts))

    def replay(self, trace: Any, deployment: Any = None) -> simpy.Event:
        """Start a trace beside whatever runs here; an event whose value is the `tisim.Result`.

        Parameters
        ----------
        trace
            A `tisim.Trace`, or whatever `tisim.Trace.open` takes.
        deployment
            A `tisim.Deployment`, or a list of host names, one a rank; round-robin over the hosts
            of the platform when not given.
        """
        from tisim import start_replay

        return start_replay(self, trace, deployment)

    def start_job(
        self,
        traces: Any,
        hosts: Sequence[int],
        result: Callable[[int], object],
        starts: Sequence[float] = (),
        kills: Mapping[int, float] | None = None,
    ) -> simpy.Event:
        """Start the ranks of a trace; an event whose value is what `result` makes of them.

        Parameters
        ----------
        traces
            The core's `TraceSet`.
        hosts
            Index of the host of each rank.
        result
            Takes the number of the job in the core.
        starts, kills
            When ranks start and are killed (`tisim.kernel.driver.Driver.add_job`).
        """
        job = self._driver.add_job(traces, hosts, starts, kills)
        event = self.event()
        self._jobs[job] = event, result
        return event

    def call(self, rank: MpiRank, post: Callable[[], None]) -> simpy.Event:
        """Start an MPI call of a rank; an event that happens when the call returns."""
        post()
        event = self.event()
        process = self.active_process
        self._calls[rank.index] = event, rank, "" if process is None else process.name
        return event

    def calling(self, rank: MpiRank) -> simpy.Event | None:
        """The event of the call that a rank is in."""
        call = self._calls.get(rank.index)
        return call[0] if call else None

    def _doing(self) -> dict[int, str]:
        """Who the ranks are that are not in their traces, for the report of a deadlock."""
        named = {
            index: f"rank {rank.number} on {rank.host}"
            + (f" (process {process})" if process else "")
            for index, (_, rank, process) in self._calls.items()
        }
        return named | self._actions.doing()

    def _host(self, name: str) -> int:
        return self.settings.host_index(name)
