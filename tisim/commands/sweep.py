"""``tisim sweep``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands import digits_option, print_table, report_written
from tisim.errors import TisimError
from tisim.platform.trust import load_basis, trust_text
from tisim.studies.sweep.run import SweepInterrupted, sweep
from tisim.studies.sweep.study import Study, read_prices, read_study
from tisim.support.files import check_writable
from tisim.support.quantities import format_seconds

if TYPE_CHECKING:
    import pandas as pd

# Larger tables are written only to the file.
_MOST_SHOWN = 40
# Maximum length of texts in the table.
_WIDEST = 60


@click.command(
    "sweep",
    epilog="""\b
Examples:
  tisim sweep study.toml
  tisim sweep study.toml --output study.parquet --workers 8
  tisim sweep study.toml --workers dask://head-node:8786
  tisim sweep study.toml --report study.html
\b
A study is a TOML file:
  trace = "traces/lu.A.8.tar.xz"
  platform = "platforms/graphene.xml"
  [vary]
  bandwidth = ["x1", "x2", "x4"]            # all links, scaled
  "latency[*sgraphene1*]" = ["x1", "5us"]   # some links; a value with a unit sets it
  "smpi/coll-selector" = ["default", "ompi"]
""",
)
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Output file, .csv or .parquet; by default the study's name with .csv, in the "
    "working directory.",
)
@click.option(
    "--workers",
    metavar="N",
    help="Number of worker processes (default: one per processor), or dask://host:port.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write a self-contained .html report: main effects, curves, heat maps and, if the "
    "study has [prices], time against cost.",
)
@digits_option
@click.option("--fresh", is_flag=True, help="Repeat scenarios that the output file already has.")
def sweep_command(
    study: Path,
    output: str | None,
    workers: str | None,
    report_file: str | None,
    fresh: bool,
) -> int:
    """Replay a trace in many scenarios, as described by a STUDY (a TOML file).

    Each row is written as soon as its scenario is done. When restarted, also after Ctrl-C, the
    sweep only runs scenarios that are missing or have changed.
    """
    arguments = read_study(study)
    report = None if report_file is None else _Report(report_file, study)
    if output is not None:
        arguments["output"] = output
    target = arguments.setdefault("output", f"{study.stem}.csv")
    if workers is not None:
        arguments["workers"] = int(workers) if workers.isdecimal() else workers
    sys.path.insert(0, str(study.resolve().parent))  # where its modules are
    copy = _Copy(Path(f"{target}.bak"))
    try:
        frame = sweep(**arguments, resume=not fresh)
    except SweepInterrupted as stopped:
        report_written(*copy.written(), target)
        click.echo(
            f"tisim: stopped: {stopped}, in {target}; run it again to complete the rest", err=True
        )
        return 130
    for warning in dict.fromkeys(text for text in frame["warnings"] if text):
        click.echo(f"tisim: warning: {warning}", err=True)
    trust = _trust(arguments)
    _print(frame, target, trust)
    report_written(*copy.written(), target)
    if report is not None:
        report.write(frame, trust)
    failures = frame[frame["error"].notna()]
    if len(failures):
        first = failures.iloc[0]
        raise TisimError(
            f"{len(failures)} of {len(frame)} scenarios failed; the first, {first['scenario']}: "
            f"{first['error']}"
        )
    return 0


def _trust(arguments: Study) -> str:
    """How far to trust the times; empty where several platforms are compared."""
    platform = arguments.get("platform")
    return "" if platform is None else trust_text(platform, load_basis(platform))


class _Report:
    """The page that is written when the sweep is done; what is wrong with it shows before."""

    def __init__(self, file: str, study: Path) -> None:
        from tisim.analysis.report.report import check_report
        from tisim.studies.sweep.prices import Prices

        check_report(file)
        check_writable(file)
        prices = read_prices(study)
        self._file, self._name = file, study.stem
        self._prices = None if prices is None else Prices(prices)

    def write(self, frame: pd.DataFrame, trust: str) -> None:
        from tisim.studies.sweep.report import write_sweep_report

        title = f"Sweep {self._name}"
        write_sweep_report(frame, self._file, prices=self._prices, title=title, trust=trust)
        report_written(self._file)


class _Copy:
    """The copy that a sweep keeps of its file before it drops rows that are of no use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = self._changed()

    def written(self) -> list[Path]:
        """The copy, if it has been written since."""
        return [] if self._changed() == self._before else [self._path]

    def _changed(self) -> int:
        return self._path.stat().st_ctime_ns if self._path.exists() else 0


def _print(frame: pd.DataFrame, target: str, trust: str) -> None:
    if len(frame) <= _MOST_SHOWN:
        rows = [("", row) for _, row in frame.iterrows()]
    else:
        done = frame[frame["error"].isna()].sort_values("simulated_time", kind="stable")
        ends = [("fastest", done.iloc[0]), ("slowest", done.iloc[-1])] if len(done) else []
        rows = list(ends)
    _print_table(frame, rows)
    plural = "s" if len(frame) != 1 else ""
    trust_line = f"trust: {trust}\n" if trust else ""
    click.echo(f"\n{trust_line}{len(frame):,} scenario{plural} in {target}")


def _print_table(frame: pd.DataFrame, rows: Sequence[tuple[str, pd.Series]]) -> None:
    # The varied parameters stand between the title of a scenario and its outcome.
    columns = list(frame.columns)
    varied = columns[1 : columns.index("simulated_time")]
    named = any(name for name, _ in rows)
    lines: list[tuple[str, ...]] = []
    head = (*varied, "simulated time", "ratio", "compute")
    lines.append((*(("",) if named else ()), *head, "communication"))
    for name, row in rows:
        values = (_cut(str(row[axis])) if row[axis] == row[axis] else "" for axis in varied)
        lines.append((*((name,) if named else ()), *values, *_outcome(row)))
    print_table(lines, left=len(varied) + named)


def _outcome(row: pd.Series) -> tuple[str, ...]:
    if row["error"] is not None:
        return ("failed", "", "", "")
    return (
        format_seconds(row["simulated_time"]),
        f"{row['ratio']:.4f}",
        format_seconds(row["compute_mean"]),
        format_seconds(row["communication_mean"]),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
