"""The tables of ``docs/benchmarks.md``."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import loggopsim
from benchmarks.instructions import Count
from benchmarks.process import ROOT, ProgramError, run
from benchmarks.replays import Rate, has_simgrid
from benchmarks.scale import Goal
from benchmarks.topologies import KINDS, Cost, growth

PAGE = ROOT / "docs" / "benchmarks.md"
_BEGIN = "<!-- written by python -m benchmarks: from here -->"
_END = "<!-- written by python -m benchmarks: to here -->"


@dataclass
class Measured:
    """Measurements of one run of the benchmarks."""

    answers: int = 0
    repeats: int = 0
    rates: list[Rate] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    agreements: int = 0
    costs: list[Cost] = field(default_factory=list)


def markdown(measured: Measured) -> str:
    """Return the tables in the form of the documentation."""
    parts = [_circumstances(measured)]
    if measured.rates:
        parts.append("### Replays\n\n" + _table(_RATE_HEAD, map(_rate_row, measured.rates)))
    if measured.costs:
        rows = map(partial(_cost_row, measured.costs), measured.costs)
        parts.append("### Topologies\n\n" + _table(_COST_HEAD, rows))
    if measured.goals:
        head = ("what", "measured", "goal", "met")
        parts.append("### Scale and start-up\n\n" + _table(head, map(_goal_row, measured.goals)))
    if measured.counts:
        head = ("replay", "instructions", "recorded", "change")
        parts.append("### Instructions\n\n" + _table(head, map(_count_row, measured.counts)))
    if measured.failures:
        lines = "\n".join(f"- {failure}" for failure in measured.failures)
        parts.append(f"### What could not be measured\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def write(measured: Measured, page: Path = PAGE) -> None:
    """Insert the tables into the documentation."""
    before, begin, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the tables: {_BEGIN} and {_END}")
    unfinished = page.with_name(f".{page.name}.{os.getpid()}")
    unfinished.write_text(f"{before}{_BEGIN}\n\n{markdown(measured)}\n{_END}{after}")
    unfinished.replace(page)


def _circumstances(measured: Measured) -> str:
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    load = os.getloadavg()[1]
    processors = os.cpu_count() or 1
    lines = [
        f"{day}, commit {_commit()}, {_processor()} ({processors} processors), Python "
        f"{platform.python_version()}, {_simgrid()}, {_loggopsim()}. "
        f"{measured.answers} cases of the reference were replayed first; every rank of each ended "
        f"when it should. {measured.agreements} patterns of the table of topologies took as long "
        f"as in SimGrid. Medians of {measured.repeats}."
    ]
    if load > processors / 2 + 1:
        lines.append(
            f"**The machine was shared** (load {load:.1f} on {processors} processors): times in "
            "seconds and rates are those of a machine that had little time for this, and only the "
            "ratios count, best those in processor time."
        )
    return "\n\n".join(lines)


_RATE_HEAD = (
    *("trace", "platform", "ranks", "actions", "tisim, s", "actions/s", "goal", "SimGrid, s"),
    *("times as fast", "in processor time", "as a process", "memory, MB", "differs by"),
)


def _rate_row(rate: Rate) -> tuple[str, ...]:
    case = rate.case
    theirs = f"{statistics.median(rate.simgrid_wall):.3g}" if rate.simgrid_wall else "-"
    if rate.simgrid_failure:
        theirs = "fails"
    difference = "-"
    if rate.simgrid_simulated and not case.trace.is_rewritten:
        difference = f"{abs(rate.simulated / rate.simgrid_simulated - 1):.0e}"
    return (
        *(case.trace.name, case.platform, str(case.trace.ranks), f"{rate.actions:,}"),
        *(f"{statistics.median(rate.wall):.3g}", f"{_two_digits(rate.rate):,}"),
        *(f"{case.goal:,.0f}" if case.goal else "-", theirs, _times(rate.ratio)),
        *(_times(rate.cpu_ratio), _times(rate.process_ratio), f"{rate.peak_bytes / 1e6:.0f}"),
        difference,
    )


_COST_HEAD = (
    *("trace", "platform", "ranks", "actions", "us an action", "times the cluster", "exponent"),
    *("memory, MB", "SimGrid, s", "times as fast", "LogGOPSim, us", "differs by"),
)


def _cost_row(costs: Sequence[Cost], cost: Cost) -> tuple[str, ...]:
    case = cost.case
    flat = [
        other.per_action
        for other in costs
        if (other.case.pattern.name, other.case.ranks, other.case.kind)
        == (case.pattern.name, case.ranks, KINDS[0])
    ]
    exponent, bound, difference = growth(costs, cost), cost.bound_cpu, cost.difference
    return (
        *(case.pattern.name, case.kind, f"{case.ranks:,}", f"{cost.work:,}"),
        *(f"{cost.per_action * 1e6:.3g}", _times(cost.per_action / flat[0] if flat else None)),
        "-" if exponent is None else f"{exponent:+.2f}",
        f"{cost.peak_bytes / 1e6:.0f}",
        *(_times(cost.simgrid_cpu), _times(cost.speedup)),
        _times(None if bound is None else bound / cost.work * 1e6),
        "-" if difference is None else f"{difference:.0e}",
    )


def _goal_row(goal: Goal) -> tuple[str, ...]:
    sign = "at least" if goal.at_least else "at most"
    unit = f" {goal.unit}" if goal.unit else ""
    bound = f"{sign} {_number(goal.bound)}{unit}"
    return goal.name, f"{_number(goal.value)}{unit}", bound, "yes" if goal.met else "no"


def _count_row(count: Count) -> tuple[str, ...]:
    recorded = f"{count.recorded:,}" if count.recorded else "-"
    return count.name, f"{count.instructions:,}", recorded, f"{count.change:+.2%}"


def _table(head: Sequence[str], rows: map[tuple[str, ...]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _number(value: float) -> str:
    return f"{_two_digits(value):,}" if value >= 1000 else f"{value:.3g}"


def _two_digits(value: float) -> int:
    return round(float(f"{value:.3g}"))


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3g}"


def _commit() -> str:
    try:
        return run(["git", "rev-parse", "--short", "HEAD"]).output.strip()
    except (OSError, ProgramError):
        return "unknown"


def _simgrid() -> str:
    if not has_simgrid():
        return "no SimGrid"
    first, *_ = run(["smpirun", "--version"]).output.splitlines()
    return f"{first.strip()}, `smpirun -replay`"


def _loggopsim() -> str:
    return "no LogGOPSim" if loggopsim.missing() else "LogGOPSim"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
