"""Runs the core and serves its requests for routes, disks and schedules of collectives."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tisim import _core
from tisim._core import ScheduleError, Stage, Stop
from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim._core import NeededSchedule, Simulation, TraceSet
    from tisim.actions.script import Script
    from tisim.actions.two_phase import Plan
    from tisim.analysis.timeline.streams import Streams
    from tisim.simulation.settings import Settings


@dataclass(slots=True)
class Group:
    """The properties of a communicator that algorithms may use (`tisim.actions.script.Script`)."""

    # placement, order: host and world rank of each rank
    placement: Sequence[int]
    order: Sequence[int] | None
    # By rank: the parts of the communicator on which it has exchanged the placement of ranks.
    exchanged_parts: dict[int, frozenset[int]] = field(default_factory=dict)

    def exchanged_parts_of(self, rank: int) -> frozenset[int]:
        """Return the parts whose placement a rank has exchanged in earlier calls."""
        return self.exchanged_parts.get(rank, frozenset())

    def script(self, settings: Settings, rank: int) -> Script:
        """Return an empty schedule for a rank."""
        return settings.script(rank, self.placement, self.order, self.exchanged_parts_of(rank))


class Progress(Protocol):
    """Called periodically with the progress of a simulation."""

    def __call__(self, simulated_time: float, actions: int, fraction: float, /) -> None:
        """Report the simulated seconds, the actions done, and their fraction of the traces."""
        ...


class EventConsumer(Protocol):
    """Consumes the events that a simulation logs (`tisim.analysis.timeline.EventCapture`)."""

    def take(self, core: Simulation, /) -> None:
        """Take the events that the simulation has logged so far."""
        ...


class Launcher(Protocol):
    """GPUs on which ranks launch work (`tisim.gpu.launched.LaunchedGraph`)."""

    def start(self, driver: Driver, hosts: Sequence[int], /, *, logs: bool) -> None:
        """Add GPUs to the hosts of the ranks (host indices) in a new simulation.

        `logs`: log activities for `streams`.
        """
        ...

    @property
    def lanes(self) -> Sequence[tuple[int, str]]:
        """Rank and name of each stream."""
        ...

    def streams(self, core: Simulation, /) -> Streams:
        """Activities of the streams."""
        ...

    def launch(self, core: Simulation, /) -> None:
        """Provide the core with the work that a rank launches."""
        ...

    def check(self, core: Simulation, /) -> None:
        """Raise an error if the launched work was inconsistent or never ended."""
        ...


# Wall-clock seconds between checks for Ctrl-C, each with a progress report.
_REPORT_INTERVAL = 0.1


class Driver:
    """One simulation in the core, and the answers to the core's requests.

    `events` consumes the events that the core logs, if any.
    """

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        self.settings = settings
        self.core = _core.Simulation(settings.model, settings.data)
        self.events: EventConsumer | None = None
        self.gpus: Launcher | None = None
        self._progress = progress
        self._groups: dict[int, Group] = {}
        # Plans of pending collective reads and writes, with the number of ranks still to ask.
        self._plans: dict[int, tuple[Plan, int]] = {}

    def add_job(
        self,
        traces: TraceSet | None,
        hosts: Sequence[int],
        starts: Sequence[float] = (),
        kills: Mapping[int, float] | None = None,
    ) -> int:
        """Start the ranks of a trace (None: driven ranks) on hosts.

        `hosts` has the host index of each rank, `starts` the seconds after which each rank starts
        (all at once if empty), `kills` the seconds after which ranks are killed unless they have
        finished.
        """
        core = self.core
        job = core.add_job(traces, hosts, starts)
        for rank, seconds in (kills or {}).items():
            core.kill_at(core.first_rank(job) + rank, core.now + seconds)
        return job

    def run(self, until: float = float("inf"), *, including: bool = True) -> Stop:
        """Run until the simulation stops for a reason that the caller must handle.

        `until` is in simulated seconds; with `including`, events at exactly that time are still
        processed.
        """
        core = self.core
        reported = time.perf_counter()
        while True:
            stop = core.run(until, _REPORT_INTERVAL, including)
            if stop == Stop.NEED_SCHEDULE:
                self._provide_schedule()
            elif stop == Stop.NEED_ROUTE:
                self.add_route(*core.missing_route())
                core.retry()
            elif stop == Stop.NEED_DISK:
                self._provide_disk()
            elif stop == Stop.NEED_LAUNCH:
                if self.gpus is None:
                    words = " ".join(core.needed_action().words)
                    rank = core.needed_action().rank
                    raise self._at_call(rank, f"'{words}' needs a graph; give --graph FILE")
                self.gpus.launch(core)
            elif stop == Stop.LOG_FULL:
                assert self.events is not None
                self.events.take(core)
                if time.perf_counter() - reported > _REPORT_INTERVAL:
                    reported = self._report_progress()
            elif stop == Stop.PAUSE:
                reported = self._report_progress()
            else:
                return stop

    def _report_progress(self) -> float:
        """Report the progress of the simulation; returns the wall-clock time of the report."""
        if self._progress is not None:
            reached = self.core.progress()
            self._progress(reached.time, reached.actions, reached.fraction)
        return time.perf_counter()

    def _provide_schedule(self) -> None:
        for comm in self.core.take_released():
            self._groups.pop(comm, None)
        needed = self.core.needed_schedule()
        rank = needed.rank
        group = self._group(needed.comm)
        try:
            schedule = self._schedule(needed, group)
            changed = schedule.exchanged_parts != group.exchanged_parts_of(needed.number)
            if changed:
                group.exchanged_parts[needed.number] = schedule.exchanged_parts
            self.core.provide_schedule(
                schedule.kinds,
                schedule.peers,
                schedule.sizes,
                schedule.tags,
                schedule.slots,
                changed,
            )
        except InputError as error:
            raise self._at_call(rank, error.message) from None
        except ScheduleError as error:
            fault, row = error.args
            author = self._author(needed, schedule.operation_of(row))
            raise self._at_call(rank, f"{author}, rank {needed.number}, {fault}") from None

    def _at_call(self, rank: int, message: str) -> InputError:
        """Return an error with the location of a rank's call."""
        state = self.core.rank_state(rank)
        return InputError(message, file=state.file or None, line=state.line or None)

    def _author(self, needed: NeededSchedule, operation: str | None) -> str:
        """Describe the algorithm that wrote a row of a schedule, for a message.

        `operation`: the operation whose algorithm wrote the row for another one, if any.
        """
        author = f"the algorithms of {needed.operation}"
        if needed.call is not None:
            name = self.settings.algorithm_name(needed.operation)
            author = f"algorithm {name!r} ({needed.operation})"
        if operation is None:
            return author
        return f"algorithm {self.settings.collective(operation)!r} ({operation}) in {author}"

    def _schedule(self, needed: NeededSchedule, group: Group) -> Script:
        settings = self.settings
        script = group.script(settings, needed.number)
        if needed.call is not None:
            settings.write_call(script, needed.call)
        elif needed.stage == Stage.PARTS:
            settings.write_parts(script)
        elif needed.stage == Stage.TRANSFER:
            self._plan(needed.transfer, group).write(script)
        else:
            settings.write_stage(script, needed.stage, needed.joins, needed.groups)
        return script

    def _plan(self, transfer: int, group: Group) -> Plan:
        """Return the plan of a collective read or write, which every rank requests once."""
        known = self._plans.pop(transfer, None)
        if known is None:
            plan = self.settings.plan_transfer(self.core.asked_transfer(), group.placement)
            known = plan, len(group.placement)
        plan, left = known
        if left > 1:
            self._plans[transfer] = plan, left - 1
        return plan

    def _group(self, comm: int) -> Group:
        group = self._groups.get(comm)
        if group is None:
            core = self.core
            group = self._groups[comm] = Group(core.comm_hosts(comm), core.comm_order(comm))
        return group

    def _provide_disk(self) -> None:
        rank, host, name = self.core.asked_file()
        try:
            self.core.provide_disk(self.settings.disk_of(host, name))
        except InputError as error:
            raise self._at_call(rank, error.message) from None

    def add_route(self, source: int, destination: int) -> None:
        """Look up a route and pass it to the core; hosts are given by index."""
        links, latency = self.settings.routes.route(source, destination)
        self.core.add_route(source, destination, list(links), latency)
