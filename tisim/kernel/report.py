"""Why a simulation cannot go on: every blocked rank, its call and what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tisim import _core
from tisim.errors import SimulationError

if TYPE_CHECKING:
    from tisim.kernel.driver import Driver

_ANY_SOURCE, _ANY_TAG = -555, -444
_MISTAKEN = 2  # the flag of a receive whose -333 was read as ANY_SOURCE
_SHOWN = 32  # blocked ranks that a report lists one by one


def check_progress(driver: Driver) -> None:
    """Raise the report when ranks are left that will never go on.

    Raises
    ------
    SimulationError
        With one line for each blocked rank.
    """
    if driver.core.mismatched:
        _raise_mismatch(driver)
    blocked = driver.core.unfinished()
    if blocked:
        raise_deadlock(driver, blocked)


def raise_deadlock(driver: Driver, blocked: list[int]) -> NoReturn:
    """Raise the report of a deadlock; `blocked` are the ranks, numbered over all jobs."""
    core = driver.core
    missing = _missing_ranks(core, blocked)
    lines = [
        f"deadlock at {core.now:.9g} s: {len(blocked)} "
        f"{'rank waits' if len(blocked) == 1 else 'ranks wait'} for what will never happen"
    ]
    mistaken = False
    for rank in blocked[:_SHOWN]:
        state = core.rank_state(rank)
        mistaken |= bool(state["flags"] & _MISTAKEN)
        lines.append(f"  {_place(state)}rank {state['rank']}: {_waits(state, missing)}")
    if len(blocked) > _SHOWN:
        lines.append(f"  ... and {len(blocked) - _SHOWN} more")
    if mistaken:
        lines.append(
            "  (a receive from -333 was taken for one from MPI_ANY_SOURCE; SimGrid's tracer "
            "writes -333 for MPI_PROC_NULL too: tisim/null-source=proc-null reads it so)"
        )
    raise SimulationError("\n".join(lines))


def _place(state: dict[str, Any]) -> str:
    return f"{state['file']}:{state['line']}: " if state["file"] and state["line"] else ""


def _name(rank: int) -> str:
    return "any rank" if rank == _ANY_SOURCE else f"rank {rank}"


def _tag(tag: int) -> str:
    return "any tag" if tag == _ANY_TAG else f"tag {tag}"


def _missing_ranks(core: Any, blocked: list[int]) -> dict[int, str]:
    """For each job the collectives that some ranks have entered and others have not."""
    notes: dict[int, str] = {}
    for rank in blocked:
        job = core.rank_state(rank)["job"]
        if job in notes:
            continue
        absent = core.absent(core.world(job))
        if absent:
            some = ", ".join(map(str, absent[:8])) + (", ..." if len(absent) > 8 else "")
            notes[job] = f"; rank {some} never {'calls' if len(absent) == 1 else 'call'} it"
        else:
            notes[job] = ""
    return notes


def _waits(state: dict[str, Any], missing: dict[int, str]) -> str:
    kind = _core.kind_name(state["kind"])
    if state["call"] >= 0:
        operation = _core.operation_name(state["call"])
        return f"in {operation}, waits for the other ranks{missing.get(state['job'], '')}"
    if "message" in state:
        source, destination, tag, nbytes, moving = state["message"]
        if moving:
            return f"{kind}: the message of {nbytes} bytes is on a link without bandwidth"
        if state["receives"]:
            return f"{kind}, waits for a message from {_name(source)} with {_tag(tag)}"
        return f"{kind} of {nbytes} bytes, waits for rank {destination} to receive with {_tag(tag)}"
    if state["awaited"]:
        count = state["awaited"]
        return f"{kind}, waits for {count} pending request{'s' if count > 1 else ''}"
    if kind == "recv":
        return f"{kind}, looks for a message from {_name(state['peer'])} with {_tag(state['tag'])}"
    return f"in {kind}"


def _raise_mismatch(driver: Driver) -> NoReturn:
    core = driver.core
    (first, first_call, first_line, _), (second, second_call, second_line, _) = core.mismatch()
    a, b = core.rank_state(first), core.rank_state(second)
    raise SimulationError(
        f"the ranks call different collectives at the same point, at {core.now:.9g} s:\n"
        f"  {a['file']}:{first_line}: rank {a['rank']} calls {_core.operation_name(first_call)}\n"
        f"  {b['file']}:{second_line}: rank {b['rank']} calls {_core.operation_name(second_call)}\n"
        "  all ranks of a communicator must make the same collective calls in the same order"
    )
