"""Write the tables of docs/validation.md."""

from __future__ import annotations

import math
import platform as python_platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.validation.programs import Program
from tisim.studies.validation import CaseResult, Validation, summarize
from tisim.studies.validation.page import (
    CASE_COLUMNS,
    SUMMARY_COLUMNS,
    case_rows,
    markdown,
    summary_rows,
)
from tisim.support.mpi import MpiLibrary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"
_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_BEGIN = "<!-- written by `make validate` -->\n"
_END = "<!-- end -->\n"
#: Minimum relative error of the cases listed on the page.
_LARGE = 0.1
#: Fraction of the processors above which they determine a run's time, as opposed to the network.
_BUSY = 0.5
#: Columns of the cases below that fraction, which the testbed resolves.
_RESOLVED = ("at most half busy", "too noisy", "mean", "median", "worst")


def versions(library: MpiLibrary, congestion_control: str | None) -> str:
    """Return the date, and the versions used for the runs."""
    control = congestion_control or _CONTROL.read_text().strip()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=PAGE.parent
    ).stdout.strip()
    return (
        f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, tisim {commit or '?'}, "
        f"{library.name}, Linux {python_platform.release()}, TCP with {control}"
    )


def tables(found: Validation, programs: Sequence[Program], title: str, when: str) -> str:
    """Return the results of a validation on one testbed, in Markdown."""
    small = {program.title for program in programs if program.is_small}
    groups = {
        "above 4 kB": [r for r in found.results if r.case.name not in small],
        "up to 4 kB, and barriers": [r for r in found.results if r.case.name in small],
        "processors busier than half": [r for r in found.results if _is_busy(r)],
    }
    for summary in found.summaries[:-1]:
        groups[summary.group] = [r for r in found.results if r.case.group == summary.group]
    groups["all cases"] = list(found.results)
    large = [r for r in found.results if abs(r.error) > _LARGE]
    spread = [r.spread for r in found.results]
    busy = max((r.busy or 0.0 for r in found.results), default=math.nan)
    text = [
        f"\n### {title}\n\n{when}. {len(found.results)} cases; the distance of the "
        f"quartiles of the real times is {_median(spread):.1%} in the median; the ranks use at "
        f"most {busy:.0%} of the processors.\n\n",
        markdown(
            (*SUMMARY_COLUMNS, *_RESOLVED),
            [_summary(name, results) for name, results in groups.items() if results],
        ),
        "" if found.coverage is None else f"\n{found.coverage.text()}.\n",
        f"\nCases with errors above {_LARGE:.0%}; those in parentheses do not count, as the real "
        "times spread too much. `build/validation` has all cases.\n\n",
        markdown(CASE_COLUMNS, case_rows(large), left=2),
        _differences(found.results),
    ]
    text += [f"\n{name} failed: {reason}\n" for name, reason in found.failed]
    return "".join(text)


def write(text: str, page: Path = PAGE) -> None:
    """Insert the tables into the page."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}{text}{_END}{after}")


def _summary(name: str, results: Sequence[CaseResult]) -> tuple[str, ...]:
    """Return the errors of a group, and of its cases that the testbed resolves."""
    of_all, *_ = summary_rows(summarize(results)[-1:])
    resolved, *_ = summary_rows(summarize([r for r in results if not _is_busy(r)])[-1:])
    return (name, *of_all[1:], *resolved[1:])


def _is_busy(result: CaseResult) -> bool:
    return (result.busy or 0.0) > _BUSY


def _differences(results: Sequence[CaseResult]) -> str:
    rows = [
        (result.case.name, f"{result.error:+.1%}", "; ".join(result.differences))
        for result in results
        if result.differences
    ]
    if not rows:
        return ""
    return "\nWhat differs where the error is large:\n\n" + markdown(
        ("case", "error", "what differs"), rows, left=3
    )


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else math.nan
