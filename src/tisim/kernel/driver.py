"""Runs the core and answers its questions: routes, and the schedules of collectives."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tisim import _core
from tisim._core import Stop
from tisim.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Schedule(Protocol):
    """The rows of a schedule (`tisim.actions.script.Script`)."""

    kinds: list[int]
    peers: list[int]
    sizes: list[float]
    tags: list[int]
    slots: list[int]
    surveyed: frozenset[int]


class Routes(Protocol):
    """A compiled platform, as far as the driver needs one."""

    def route(self, src: int, dst: int, /) -> tuple[Any, float]:
        """Links from one host to another, all by index, and the latency in seconds."""
        ...


class Settings(Protocol):
    """The models of a simulation (`tisim.models.settings.Settings`)."""

    @property
    def model(self) -> Any:
        """The core's parameters."""
        ...

    @property
    def data(self) -> Any:
        """The core's arrays of the platform."""
        ...

    @property
    def routes(self) -> Routes:
        """The compiled platform."""
        ...

    def expand(
        self,
        operation: str,
        arguments: Sequence[float],
        *,
        double_default: bool,
        rank: int,
        placement: Sequence[int],
        order: Sequence[int] | None,
        surveyed: frozenset[int],
    ) -> Schedule:
        """Write the schedule of one rank in one collective."""
        ...

    def expand_communicator(
        self,
        stage: Any,
        member: bool,
        groups: Sequence[Sequence[int]],
        *,
        rank: int,
        placement: Sequence[int],
        order: Sequence[int] | None,
        surveyed: frozenset[int],
    ) -> Schedule:
        """Write the schedule of one rank in the making of a communicator."""
        ...

    def action(self, name: str) -> Callable[..., Generator[Any, Any, Any]]:
        """The function that carries out an action of the user's own."""
        ...

    def host_index(self, name: str) -> int:
        """The index of a host."""
        ...

    def host_name(self, index: int) -> str:
        """The name of a host."""
        ...

    def link_name(self, index: int) -> str:
        """The name of a link."""
        ...


class Progress(Protocol):
    """Is told now and then how far a simulation has come."""

    def __call__(self, simulated_time: float, actions: int, fraction: float, /) -> None:
        """Simulated seconds, actions done, and the part of the traces that they are."""
        ...


class EventConsumer(Protocol):
    """Takes the events that a simulation logs (`tisim.timeline.EventCapture`)."""

    def take(self, core: _core.Simulation, /) -> None:
        """Take the events that the simulation has logged so far."""
        ...


# The core runs so long (seconds) between two looks at Ctrl-C, each with a report of progress.
_PATIENCE = 0.1


def _sequence(numbers: NDArray[np.int32]) -> Sequence[int]:
    """The numbers as plain ones: a range where they follow one another, as a million hosts may."""
    first, count = int(numbers[0]), len(numbers)
    if (numbers[1:] - numbers[:-1] == 1).all():
        return range(first, first + count)
    plain: list[int] = numbers.tolist()
    return plain


@dataclass(slots=True)
class _Group:
    """What algorithms may know of a communicator: see `tisim.actions.script.Script`."""

    placement: Sequence[int]
    order: Sequence[int] | None
    surveyed: dict[int, frozenset[int]] = field(default_factory=dict)


class Driver:
    """One simulation in the core, with everything that the core asks Python for.

    Parameters
    ----------
    settings
        Models, platform and collective algorithms.
    progress
        Is told how far the simulation has come.

    Attributes
    ----------
    events
        Takes the events that the core logs, if it logs them.
    """

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        self.settings = settings
        self.core = _core.Simulation(settings.model, settings.data)
        self.events: EventConsumer | None = None
        self._progress = progress
        self._groups: dict[int, _Group] = {}

    def add_job(
        self,
        traces: Any,
        hosts: Sequence[int],
        starts: Sequence[float] = (),
        kills: Mapping[int, float] | None = None,
    ) -> int:
        """Start the ranks of a trace (None: ranks that are driven from outside) on hosts.

        Parameters
        ----------
        traces
            The core's `TraceSet`, or None.
        hosts
            Index of the host of each rank.
        starts
            Seconds after which each rank starts; all at once when empty.
        kills
            Ranks of the job that are killed if they have not finished so many seconds from now.
        """
        import numpy as np

        core = self.core
        where = np.asarray(hosts, dtype=np.int32)
        job: int = core.add_job(traces, where, np.asarray(starts, dtype=np.float64))
        for rank, seconds in (kills or {}).items():
            core.kill_at(core.first_rank(job) + rank, core.now + seconds)
        return job

    def run(self, until: float = float("inf"), *, including: bool = True) -> Stop:
        """Run until something happens that only the caller can answer.

        Parameters
        ----------
        until
            Simulated time in seconds.
        including
            Whether what happens at that very time is still done.
        """
        core = self.core
        looked = time.perf_counter()
        while True:
            stop = core.run(until, _PATIENCE, including)
            if stop == Stop.NEED_OPS:
                self._provide_schedule()
            elif stop == Stop.NEED_ROUTE:
                self._provide_route()
            elif stop == Stop.RECORDS:
                assert self.events is not None
                self.events.take(core)
                if time.perf_counter() - looked > _PATIENCE:
                    looked = self._tell()
            elif stop == Stop.PAUSE:
                looked = self._tell()
            else:
                return stop

    def _tell(self) -> float:
        """Tell how far the simulation is; the time at which that was done."""
        if self._progress is not None:
            self._progress(*self.core.headway())
        return time.perf_counter()

    def _provide_schedule(self) -> None:
        for comm in self.core.take_released():
            self._groups.pop(comm, None)
        needed = self.core.needed_schedule()
        rank = needed["rank"]
        group = self._group(needed["comm"])
        before = group.surveyed.get(rank, frozenset())
        try:
            schedule = self._schedule(needed, group, before)
        except InputError as error:
            state = self.core.rank_state(rank)
            raise InputError(error.message, file=state["file"], line=state["line"]) from None
        changed = schedule.surveyed != before
        if changed:
            group.surveyed[rank] = schedule.surveyed
        self.core.provide_schedule(
            schedule.kinds, schedule.peers, schedule.sizes, schedule.tags, schedule.slots, changed
        )

    def _schedule(
        self, needed: dict[str, Any], group: _Group, surveyed: frozenset[int]
    ) -> Schedule:
        if needed["stage"] is None:
            return self.settings.expand(
                needed["operation"],
                needed["arguments"],
                double_default=needed["double_default"],
                rank=needed["number"],
                placement=group.placement,
                order=group.order,
                surveyed=surveyed,
            )
        return self.settings.expand_communicator(
            needed["stage"],
            needed["member"],
            needed.get("groups", ()),
            rank=needed["number"],
            placement=group.placement,
            order=group.order,
            surveyed=surveyed,
        )

    def _group(self, comm: int) -> _Group:
        group = self._groups.get(comm)
        if group is None:
            core: Any = self.core
            ranks = core.comm_ranks(comm)
            order = None if (ranks[1:] > ranks[:-1]).all() else ranks.tolist()
            group = self._groups[comm] = _Group(_sequence(core.comm_hosts(comm)), order)
        return group

    def _provide_route(self) -> None:
        self.add_route(*self.core.missing_route())
        self.core.retry()

    def add_route(self, source: int, destination: int) -> None:
        """Look a route up and hand it to the core; hosts by their indices."""
        links, latency = self.settings.routes.route(source, destination)
        self.core.add_route(source, destination, list(links), latency)
