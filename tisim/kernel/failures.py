"""What is said of ranks that died, and of messages that were lost by what went off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim import _core
from tisim.errors import SimulationError

if TYPE_CHECKING:
    from tisim._core import Death, Loss, RankState, Simulation
    from tisim.kernel.driver import Driver, Settings


def describe_loss(core: Simulation, settings: Settings, loss: Loss) -> str:
    """Why a message never arrives.

    Parameters
    ----------
    core
        The simulation.
    settings
        Know the names of hosts and links.
    loss
        What failed, and when.
    """
    what = loss.cause
    if what == "rank":
        return f"lost at {loss.date:.9g} s: rank {core.rank_state(loss.index).rank} is dead"
    name = settings.link_name(loss.index) if what == "link" else settings.host_name(loss.index)
    return f"lost at {loss.date:.9g} s: {what} {name} is off"


def describe_deaths(driver: Driver, job: int | None = None) -> list[str]:
    """A line for each rank that died, of one job or of all."""
    core = driver.core
    lines = []
    for death in core.deaths():
        state = core.rank_state(death.rank)
        if job is not None and state.job != job:
            continue
        place = f"{state.file}:{state.line}: " if state.line else ""
        cause = "its kill_time"
        if death.host >= 0:
            cause = f"host {driver.settings.host_name(death.host)} is off"
        lines.append(f"{place}rank {state.rank} died at {death.date:.9g} s{_doing(state)}: {cause}")
    return lines


def _doing(state: RankState) -> str:
    if not state.line:
        return " before its first action"
    return f" in {state.call or _core.kind_name(state.kind)}"


def killed(driver: Driver, job: int) -> list[str]:
    """A line for each rank of a job that was killed at a given time and not by its host."""
    deaths = zip(describe_deaths(driver, job), _deaths_of(driver, job), strict=True)
    return [line for line, death in deaths if death.host < 0]


def check_alive(driver: Driver, job: int) -> None:
    """Raise an error when ranks of a job died with their hosts, so that it is not whole.

    Raises
    ------
    SimulationError
        With one line for each dead rank.
    """
    if any(death.host >= 0 for death in _deaths_of(driver, job)):
        lines = describe_deaths(driver, job)
        count = f"{len(lines)} rank{'s' if lines[1:] else ''} died"
        head = f"{count} before the end of the trace; the others have finished"
        raise SimulationError("\n".join([head, *(f"  {line}" for line in lines)]))


def _deaths_of(driver: Driver, job: int) -> list[Death]:
    core = driver.core
    return [death for death in core.deaths() if core.rank_state(death.rank).job == job]
