"""Reports on simulations that cannot continue: blocked ranks, their calls and dependencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from tisim import _core
from tisim._core import Kind
from tisim.errors import DiskFullError, ReplayInterrupted, SimulationError

if TYPE_CHECKING:
    from tisim._core import Death, Loss, MessageState, RankState, Simulation
    from tisim.kernel.driver import Driver
    from tisim.simulation.settings import Settings

_NAMED = 8  # maximum number of ranks that a line lists


def deadlock(now: float, blocked: int) -> str:
    """Return the first line of a deadlock report."""
    count = f"{blocked} rank{'s wait' if blocked > 1 else ' waits'}"
    return f"deadlock at {now:.9g} s: {count} for events that will never happen"


def check_progress(driver: Driver, rank_labels: Mapping[int, str] | None = None) -> None:
    """Raise the report if blocked ranks are left that can never continue.

    `rank_labels` describes the ranks that processes drive or whose actions they execute: the
    beginning of their lines. Raises `SimulationError` with one line for each blocked rank.
    """
    core = driver.core
    if driver.gpus is not None:
        driver.gpus.check(core)
    if core.mismatched:
        _raise_mismatch(core)
    if core.found_full_disk:
        _raise_full_disk(driver, rank_labels or {})
    blocked = core.unfinished()
    if not blocked:
        return
    lines = [deadlock(core.now, len(blocked))]
    lines += (f"  {line}" for line in describe_deaths(driver))
    absences: dict[int, str] = {}
    mistaken = False
    for rank in blocked:
        state = core.rank_state(rank)
        mistaken |= state.mistaken_null
        who = (rank_labels or {}).get(rank) or f"{_place(state)}rank {state.rank}"
        lines.append(f"  {who}: {_Blocked(driver, rank, state, absences).describe()}")
    if mistaken:
        lines.append(
            "  (a receive from -333 was interpreted as MPI_ANY_SOURCE; SimGrid's tracer also "
            "writes -333 for MPI_PROC_NULL: use --config tisim/null-source=proc-null for that)"
        )
    raise SimulationError("\n".join(lines))


def check_collectives(core: Simulation, job: int) -> None:
    """Raise an error if a job has ended although some of its ranks omitted a collective."""
    entered = core.open_collectives(job)
    if not entered:
        return
    first = entered[0]
    state = core.rank_state(first.rank)
    missing = core.absent(first.comm)
    raise SimulationError(
        f"a collective is missing: {_rank_phrase(missing, 'never calls', 'never call')} "
        f"{first.operation}, as all ranks of a communicator must\n"
        f"  {_place(state, first.line)}rank {state.rank} calls it"
    )


def interruption(core: Simulation, job: int) -> ReplayInterrupted:
    """Return the exception for an interrupted simulation, with the progress of a job."""
    progress = core.job_progress(job)
    actions, fraction = progress.actions, progress.fraction
    total = f" of about {actions / fraction:,.0f}" if fraction > 0 else ""
    text = (
        f"stopped by Ctrl-C at {core.now:.9g} s of simulated time, after {actions:,}{total} "
        f"actions ({fraction:.1%})"
    )
    if progress.slowest >= 0:
        state = core.rank_state(progress.slowest)
        text += (
            "\n"
            f"  the slowest: {_place(state)}rank {state.rank}, at {progress.slowest_fraction:.1%} "
            "of its trace"
        )
    return ReplayInterrupted(text, simulated_time=core.now, actions=actions, fraction=fraction)


class _Blocked:
    """A rank that can never continue."""

    def __init__(
        self, driver: Driver, rank: int, state: RankState, absences: dict[int, str]
    ) -> None:
        self._core = driver.core
        self._settings: Settings = driver.settings
        self._rank = rank
        self._state = state
        self._absences = absences

    def describe_now(self) -> str:
        """Describe the rank's activity at the time when the simulation stops."""
        state = self._state
        if state.waiting:
            return self.describe()
        word = state.call or state.file_call or state.window_call or _core.kind_name(state.kind)
        return f"is in {word}, which is in progress"

    def describe(self) -> str:
        """Describe the rank's call and what it waits for."""
        state = self._state
        if state.file_system >= 0:
            return self._server()
        if state.window_call:
            return f"{state.window_call} waits for {state.window_wait}"
        if state.call:
            return f"{state.call} waits for the other ranks{self._absence()}"
        if state.kind == Kind.LAUNCH:
            return "launch waits for its GPU"
        if state.kind == Kind.CUSTOM:
            return "waits for an event"
        if state.computing:
            return "compute waits for its host, which has no speed"
        if state.file_call:
            return f"{state.file_call} waits for its disk"
        return f"{_core.kind_name(state.kind)} waits for {self._awaited()}"

    def _server(self) -> str:
        state = self._state
        names = sorted({self._settings.host_name(host) for host in state.servers})
        more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
        what = f"no reply of {', '.join(names[:_NAMED])}{more}"
        if not names:
            what = "its servers lack data of this host's cache"
        name = self._settings.file_system_name(state.file_system)
        return f"{state.file_call} waits for the file system {name!r}: {what}"

    def _awaited(self) -> str:
        state = self._state
        if state.message is not None:
            return self._message(state.message)
        requests = [self._message(message) for message in self._core.awaited(self._rank)]
        if requests:
            shown = "; ".join(requests[:_NAMED])
            return shown + (f"; and {len(requests) - _NAMED} more" if requests[_NAMED:] else "")
        if state.kind in (Kind.RECV, Kind.IRECV, Kind.RECV_HALF, Kind.PROBE):
            return _sender(state.peer, state.tag)
        return f"{state.awaited or 1} of its requests"

    def _message(self, message: MessageState) -> str:
        if message.is_access:
            return f"{message.bytes} bytes of a file, whose server does not reply"
        loss = message.loss
        if loss is None and message.flowing:
            where = f" ({message.status})" if message.status else ""
            return f"a message of {message.bytes} bytes on a link without bandwidth{where}"
        why = f", {describe_loss(self._core, self._settings, loss)}" if loss else ""
        if loss is None and message.status:
            why = f" ({message.status})"
        if message.receives:
            return _sender(message.source, message.tag) + why
        return (
            f"rank {message.destination} to receive {message.bytes} bytes with "
            f"{_tag(message.tag)}{why}"
        )

    def _absence(self) -> str:
        """Describe the ranks that have not entered the collective of the others."""
        comm = self._state.communicator
        assert comm is not None
        if comm not in self._absences:
            first = self._core.first_rank(self._state.job)
            absent = self._core.absent(comm)
            states = {r: self._core.rank_state(first + r) for r in absent}
            gone = [r for r in absent if states[r].finished or states[r].dead]
            held = [r for r in absent if r not in gone]
            note = f"; {_rank_phrase(gone, 'never calls it', 'never call it')}" if gone else ""
            note += (
                f"; {_rank_phrase(held, 'does not reach it', 'do not reach it')}" if held else ""
            )
            self._absences[comm] = note
        return self._absences[comm]


def _sender(source: int, tag: int) -> str:
    sender = "any rank" if source == _core.ANY_SOURCE else f"rank {source}"
    return f"a message from {sender} with {_tag(tag)}"


def _tag(tag: int) -> str:
    return "any tag" if tag == _core.ANY_TAG else f"tag {tag}"


def _ranks(numbers: list[int]) -> str:
    some = ", ".join(map(str, numbers[:_NAMED]))
    more = f" and {len(numbers) - _NAMED} more" if numbers[_NAMED:] else ""
    return f"rank{'s' if len(numbers) > 1 else ''} {some}{more}"


def _rank_phrase(numbers: list[int], one: str, several: str) -> str:
    return f"{_ranks(numbers)} {one if len(numbers) == 1 else several}"


def _place(state: RankState, line: int | None = None) -> str:
    number = state.line if line is None else line
    if not state.file:
        return ""
    return f"{state.file}:{number}: " if number else f"{state.file}: "


def _raise_mismatch(core: Simulation) -> NoReturn:
    lines = [f"the ranks call different collectives at the same point, at {core.now:.9g} s:"]
    for call in core.mismatch():
        state = core.rank_state(call.rank)
        lines.append(f"  {_place(state, call.line)}rank {state.rank} calls {call.operation}")
    lines.append(
        "  all ranks of a communicator must make the same collective calls in the same order"
    )
    raise SimulationError("\n".join(lines))


def _raise_full_disk(driver: Driver, rank_labels: Mapping[int, str]) -> NoReturn:
    core = driver.core
    full = core.full_disk()
    disk, mount = driver.settings.describe_storage(full.disk)
    state = core.rank_state(full.rank)
    call = state.call or state.file_call  # on an aggregator, the shared collective
    place = f" at {mount}" if mount else ""
    lines = [
        f"{disk}{place} is full at {core.now:.9g} s: {full.used:.0f} of {full.capacity:.0f} bytes "
        "are in use",
        f"  {_place(state)}rank {state.rank}: {call} of {full.bytes} bytes to {full.file} from "
        f"offset {full.offset} needs {full.wanted} more bytes",
    ]
    absences: dict[int, str] = {}
    for rank in core.unfinished():
        if rank == full.rank:
            continue
        other = core.rank_state(rank)
        who = rank_labels.get(rank) or f"{_place(other)}rank {other.rank}"
        lines.append(f"  {who}: {_Blocked(driver, rank, other, absences).describe_now()}")
    details = {
        "simulated_time": core.now,
        "rank": state.rank,
        "call": call,
        "trace": state.file or None,
        "line": state.line or None,
        "file": full.file.strip("'"),
        "disk": disk,
        "mount": mount,
        "capacity": full.capacity,
        "used": full.used,
        "offset": full.offset,
        "bytes": full.bytes,
        "wanted": full.wanted,
    }
    raise DiskFullError("\n".join(lines), details)


# Ranks that died, and messages lost by a failure


def describe_loss(core: Simulation, settings: Settings, loss: Loss) -> str:
    """Describe why a message never arrives."""
    what = loss.cause
    if what == "rank":
        return f"lost at {loss.date:.9g} s: rank {core.rank_state(loss.index).rank} is dead"
    name = settings.link_name(loss.index) if what == "link" else settings.host_name(loss.index)
    return f"lost at {loss.date:.9g} s: {what} {name} is off"


def describe_deaths(driver: Driver, job: int | None = None) -> list[str]:
    """Return a line for each rank that died, of one job or of all."""
    return [line for _, line in _deaths(driver, job)]


def _deaths(driver: Driver, job: int | None) -> Iterator[tuple[Death, str]]:
    core = driver.core
    for death in core.deaths():
        state = core.rank_state(death.rank)
        if job is not None and state.job != job:
            continue
        place = f"{state.file}:{state.line}: " if state.line else ""
        cause = "its kill_time"
        if death.host >= 0:
            cause = f"host {driver.settings.host_name(death.host)} is off"
        yield (
            death,
            f"{place}rank {state.rank} died at {death.date:.9g} s{_last_action(state)}: {cause}",
        )


def _last_action(state: RankState) -> str:
    if not state.line:
        return " before its first action"
    return f" in {state.call or _core.kind_name(state.kind)}"


def kill_notes(driver: Driver, job: int) -> list[str]:
    """Return a line for each rank of a job that was killed by its kill time, not by its host."""
    return [line for death, line in _deaths(driver, job) if death.host < 0]


def check_deaths(driver: Driver, job: int) -> None:
    """Raise an error if ranks of a job died with their hosts: the job is incomplete."""
    deaths = [*_deaths(driver, job)]
    if any(death.host >= 0 for death, _ in deaths):
        count = f"{len(deaths)} rank{'s' if deaths[1:] else ''} died"
        head = f"{count} before the end of the trace; the others have finished"
        raise SimulationError("\n".join([head, *(f"  {line}" for _, line in deaths)]))
