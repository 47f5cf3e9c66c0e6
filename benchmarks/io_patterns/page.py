"""The part of docs/reference/checkpoints_on_a_disk.md written from measurements."""

from __future__ import annotations

import platform as python_platform
import statistics
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.io_patterns.machine import JOBS
from benchmarks.io_patterns.programs import Checkpoints
from benchmarks.io_patterns.study import Case, Study
from tisim.studies.validation.page import markdown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "checkpoints_on_a_disk.md"
_BEGIN = "<!-- written by `make validate-io` -->\n"
_END = "<!-- end -->\n"
_COLUMNS = ("pattern", "mode", "median", "runs", "spread", "predicted", "error", "holds")


def tables(study: Study, checkpoints: Checkpoints) -> str:
    """Return the results in Markdown."""
    rounds = len(study.cases[0].real)
    jobs = [
        (_words(job), f"{statistics.median(rates) / 1e6:,.0f} MB/s", _range(rates))
        for job, rates in study.rates.items()
    ]
    jobs.append(("messages between ranks", f"{study.memory / 1e6:,.0f} MB/s", ""))
    return "".join(
        [
            f"\n{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, Linux {python_platform.release()}. "
            f"{checkpoints.ranks} ranks write {checkpoints.count} checkpoints of "
            f"{checkpoints.rank_size} MiB each,\nin calls of {checkpoints.block} MiB; {rounds} "
            f"rounds. Before them {min(study.idle):.0%} to {max(study.idle):.0%} of the "
            f"processors were idle,\nand the load average was {min(study.load):.2f} to "
            f"{max(study.load):.2f}.\n\n",
            markdown(("measured", "median", "range"), jobs),
            "\n",
            markdown(_COLUMNS, [_row(case) for case in study.cases], left=2),
        ]
    )


def write(text: str, page: Path = PAGE) -> None:
    """Insert the tables into the page."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}{text}\n{_END}{after}")


def _row(case: Case) -> tuple[str, ...]:
    return (
        case.pattern,
        case.mode,
        f"{case.median:.3f} s",
        f"{min(case.real):.3f} to {max(case.real):.3f} s",
        f"{case.spread:.0%}",
        f"{case.predicted:.3f} s",
        f"{case.error:+.1%}",
        ("yes" if case.holds else "no") if case.is_judged else "not judged",
    )


def _words(job: str) -> str:
    mode, _, pattern = job.partition("-")
    return f"{mode}, {pattern.removesuffix('-read')}, {JOBS[job]}"


def _range(rates: list[float]) -> str:
    return f"{min(rates) / 1e6:,.0f} to {max(rates) / 1e6:,.0f} MB/s"
