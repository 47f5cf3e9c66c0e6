"""Iterations that are skipped because the program is in a steady state (ADR 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from tisim import _core
from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim._core import Obstacle, Simulation


class SteadyDict(TypedDict):
    """The iterations that ``replay(..., skip_steady=E)`` has skipped."""

    tolerance: float  # E
    skipped: int  # skipped iterations
    iterations: int  # all iterations of the loops in which some were skipped
    seconds: float  # simulated seconds of the skipped iterations
    estimated_error: float  # relative error of the times; an estimate, not a bound
    off: str | None  # why no (more) iterations were skipped; None if nothing prevented it


def check_tolerance(tolerance: float) -> None:
    """Check that the tolerance for the comparison of periods is valid."""
    if not 0 < tolerance < 1:
        raise InputError(
            "the tolerance for skipped iterations must be between 0 and 1, such as 1e-6, not "
            f"{tolerance}"
        )


def not_skipped(tolerance: float, off: str) -> SteadyDict:
    """Return the record of a replay that simulates every iteration, for the reason `off`."""
    return {
        "tolerance": tolerance,
        "skipped": 0,
        "iterations": 0,
        "seconds": 0.0,
        "estimated_error": 0.0,
        "off": off,
    }


def skipped(core: Simulation, tolerance: float, *, has_matched_sources: bool) -> SteadyDict:
    """Return the iterations that a simulation has skipped, after `Simulation.skip_steady`.

    `has_matched_sources`: the trace has the matched senders of its receives from any source.
    """
    report = core.steady_report()
    off = None
    if report.end == _core.SteadyEnd.NO_LOOPS:
        off = (
            "the trace contains no loops: 'tisim pack' detects them in text traces, unless "
            "computation volumes vary"
        )
    elif report.end == _core.SteadyEnd.MISMATCH:
        off = "an iteration after skipped ones differed from those before"
    elif report.obstacle is not None:
        off = _described(core, report.obstacle, has_matched_sources)
    elif not report.skipped:
        off = "too few iterations were alike"
    return {
        "tolerance": tolerance,
        "skipped": report.skipped,
        "iterations": report.all,
        "seconds": report.seconds,
        "estimated_error": tolerance if report.skipped else 0.0,
        "off": off,
    }


def _described(core: Simulation, obstacle: Obstacle, has_matched_sources: bool) -> str:
    """Describe an operation that prevents skipping, with its location."""
    state = core.rank_state(obstacle.rank)
    name = _core.kind_name(obstacle.kind)
    place = f"({state.file}:{obstacle.line})"
    if "recv" not in name:
        return f"rank {state.rank} calls {name} {place}"
    remedy = ""
    if has_matched_sources:
        remedy = "; the trace records the matched senders, so --sources matched allows skipping"
    return f"rank {state.rank} receives from any source {place}{remedy}"
