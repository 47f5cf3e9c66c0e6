"""A SimPy environment whose clock is that of the compiled core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import simpy
from simpy.core import EmptySchedule, Infinity

from tisim._core import Stop, WokenType
from tisim.errors import InputError
from tisim.kernel.driver import Driver
from tisim.kernel.mpi import MpiRank, World
from tisim.kernel.report import check_progress

if TYPE_CHECKING:
    from tisim.kernel.driver import Settings


class Environment(simpy.Environment):
    """A `simpy.Environment` with hosts and a network in it.

    Ordinary SimPy processes and resources run in it unchanged. The events of the core (ends of
    computations, transfers and MPI calls) and those of SimPy happen on one clock; at one instant
    those of the core come first.

    Parameters
    ----------
    platform
        A `tisim.Platform`.
    config
        A `tisim.Config` or a mapping of configuration keys to values; wins over what the platform
        says.

    Examples
    --------
    >>> env = tisim.kernel.Environment(tisim.Platform.load("graphene.xml"))
    >>> def job(env):
    ...     yield env.execute("graphene-0.nancy.grid5000.fr", 3.68e9)
    ...     print(env.now)
    >>> _ = env.process(job(env))
    >>> env.run()
    1.0
    """

    def __init__(self, platform: Any, config: Any = None) -> None:
        super().__init__()
        self.platform = platform
        self._driver = Driver(platform.settings(config))
        self._activities: dict[int, simpy.Event] = {}
        self._calls: dict[int, simpy.Event] = {}
        self._jobs: dict[int, tuple[simpy.Event, Callable[[], object]]] = {}
        self._woken: deque[simpy.Event] = deque()
        self._ranks: dict[int, MpiRank] = {}

    @property
    def settings(self) -> Settings:
        """The models and algorithms in use."""
        return self._driver.settings

    def peek(self) -> float:
        """The date of the next event, of SimPy or of the core, in seconds."""
        if self._woken:
            return self.now
        return min(super().peek(), self._driver.core.next_event())

    def step(self) -> None:
        """Process the next event.

        Raises
        ------
        EmptySchedule
            No event is left.
        tisim.SimulationError
            MPI ranks are left that will never go on, and nothing else happens any more.
        """
        if not self._woken:
            self._run_core()
        if self._woken:
            self._deliver(self._woken.popleft())
            return
        if super().peek() == Infinity:
            check_progress(self._driver)
            raise EmptySchedule
        super().step()

    def _run_core(self) -> None:
        """Let the core go on up to SimPy's next event, or until it wakes somebody."""
        until = super().peek()
        while True:
            stop = self._driver.run(until)
            self._now = max(self._now, self._driver.core.now)
            if stop == Stop.NEED_ACTION:
                self._start_action()
                until = super().peek()
            elif stop == Stop.WAKE:
                for kind, index in self._driver.core.take_woken():
                    self._wake(kind, index)
                return
            elif stop == Stop.MISMATCH:
                check_progress(self._driver)
            else:
                return

    def _wake(self, kind: WokenType, index: int) -> None:
        if kind == WokenType.ACTIVITY:
            self._woken.append(self._activities.pop(index))
        elif kind == WokenType.RANK:
            event = self._calls.pop(index)
            event._value = self._ranks[index].outcome()
            self._woken.append(event)
        elif index in self._jobs:
            event, result = self._jobs.pop(index)
            event._value = result()
            self._woken.append(event)

    def _deliver(self, event: simpy.Event) -> None:
        """Run the callbacks of an event now, as SimPy's own `step` does."""
        event._ok = True
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)

    def _pending(self) -> simpy.Event:
        event = self.event()
        event._value = None  # triggered by the core, not by `succeed`
        return event

    def execute(self, host: str, flops: float) -> simpy.Event:
        """Compute `flops` on a host; an event that happens at the end.

        Parameters
        ----------
        host
            Name of the host.
        flops
            Amount of computation, in flops (or instructions), not negative.
        """
        if not flops >= 0:
            raise InputError(f"an amount of computation cannot be negative, got {flops!r}")
        number = self._driver.core.execute(self._host(host), flops)
        self._activities[number] = event = self._pending()
        return event

    def transfer(self, source: str, destination: str, nbytes: float) -> simpy.Event:
        """Move bytes from one host to another; an event that happens at the end.

        The transfer is a flow as those of MPI messages are, without their envelope and protocol.

        Parameters
        ----------
        source, destination
            Names of hosts.
        nbytes
            Bytes, not negative.
        """
        if not nbytes >= 0:
            raise InputError(f"a number of bytes cannot be negative, got {nbytes!r}")
        core = self._driver.core
        a, b = self._host(source), self._host(destination)
        while (number := core.transfer(a, b, nbytes)) < 0:
            self._driver.add_route(*core.missing_route())
        self._activities[number] = event = self._pending()
        return event

    def mpi(self, hosts: Sequence[str]) -> World:
        """A world of MPI ranks that SimPy processes act as, one rank for each host named."""
        indices = [self._host(host) for host in hosts]
        job = self._driver.add_job(None, indices)
        return World(self, job, list(hosts))

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

        event: simpy.Event = start_replay(self, trace, deployment)
        return event

    def start_job(
        self, traces: Any, hosts: Sequence[int], result: Callable[[dict[str, Any]], object]
    ) -> simpy.Event:
        """Start the ranks of a trace; an event whose value is what `result` makes of them.

        Parameters
        ----------
        traces
            The core's `TraceSet`.
        hosts
            Index of the host of each rank.
        result
            Takes the columns of the core's results, one row a rank.
        """
        job = self._driver.add_job(traces, hosts)
        event = self._pending()
        self._jobs[job] = event, lambda: result(self._driver.core.rank_columns(job))
        return event

    def call(self, rank: MpiRank, post: Callable[[], None]) -> simpy.Event:
        """Start an MPI call of a rank; an event that happens when the call returns."""
        if rank.index in self._calls:
            raise InputError(
                f"rank {rank.number} is still in its last call; wait for the event that it gave "
                "before the next one"
            )
        self._ranks[rank.index] = rank
        self._calls[rank.index] = event = self._pending()
        post()
        return event

    def _start_action(self) -> None:
        index, _, number, _, _, words, _ = self._driver.core.need()
        action: Callable[..., Generator[Any, Any, Any]] = self.settings.action(words[0])
        state = self._driver.core.rank_state(index)
        rank = MpiRank(self, index, number, self.settings.host_name(state["host"]))
        process = self.process(action(rank, *words[1:]))
        assert process.callbacks is not None
        process.callbacks.append(lambda event: self._end_action(index, event))

    def _end_action(self, index: int, event: simpy.Event) -> None:
        if event.ok:
            self._driver.core.resume(index)

    def _host(self, name: str) -> int:
        return self.settings.host_index(name)

    @property
    def driver(self) -> Driver:
        """What runs the core."""
        return self._driver
