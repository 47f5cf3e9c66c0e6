"""What is said of ranks that died, and of messages that were lost by what went off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tisim import _core
from tisim.errors import SimulationError

if TYPE_CHECKING:
    from tisim.kernel.driver import Driver, Settings

Loss = tuple[str, int, float]


def describe_loss(core: Any, settings: Settings, loss: Loss) -> str:
    """Why a message never arrives.

    Parameters
    ----------
    core
        The simulation.
    settings
        Know the names of hosts and links.
    loss
        What failed (link, host or rank), its number, and when, in seconds.
    """
    what, index, date = loss
    if what == "rank":
        return f"lost at {date:.9g} s: rank {core.rank_state(index)['rank']} is dead"
    name = settings.link_name(index) if what == "link" else settings.host_name(index)
    return f"lost at {date:.9g} s: {what} {name} is off"


def obituaries(driver: Driver, job: int | None = None) -> list[str]:
    """A line for each rank that died, of one job or of all."""
    core = driver.core
    lines = []
    for rank, date, host in core.deaths():
        state = core.rank_state(rank)
        if job is not None and state["job"] != job:
            continue
        place = f"{state['file']}:{state['line']}: " if state["line"] else ""
        cause = f"host {driver.settings.host_name(host)} is off" if host >= 0 else "its kill_time"
        lines.append(f"{place}rank {state['rank']} died at {date:.9g} s{_doing(state)}: {cause}")
    return lines


def _doing(state: dict[str, Any]) -> str:
    if not state["line"]:
        return " before its first action"
    return f" in {state['call'] or _core.kind_name(state['kind'])}"


def killed(driver: Driver, job: int) -> list[str]:
    """A line for each rank of a job that was killed at a given time and not by its host."""
    wanted = [host < 0 for rank, _, host in _deaths_of(driver, job)]
    return [line for line, kept in zip(obituaries(driver, job), wanted, strict=True) if kept]


def check_alive(driver: Driver, job: int) -> None:
    """Raise an error when ranks of a job died with their hosts, so that it is not whole.

    Raises
    ------
    SimulationError
        With one line for each dead rank.
    """
    if any(host >= 0 for _, _, host in _deaths_of(driver, job)):
        lines = obituaries(driver, job)
        count = f"{len(lines)} rank{'s' if lines[1:] else ''} died"
        head = f"{count} before the end of the trace; the others have finished"
        raise SimulationError("\n".join([head, *(f"  {line}" for line in lines)]))


def _deaths_of(driver: Driver, job: int) -> list[tuple[int, float, int]]:
    core = driver.core
    return [death for death in core.deaths() if core.rank_state(death[0])["job"] == job]
