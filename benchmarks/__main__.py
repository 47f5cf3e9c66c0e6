"""``python -m benchmarks``: measure everything and write the tables."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import click

from benchmarks import instructions, replays, report, scale, topologies
from benchmarks.answers import WrongAnswerError, check_answers
from benchmarks.process import ProgramError
from tisim.support.progress import ProgressBar


@click.command(
    epilog="""\b
Examples:
  python -m benchmarks                  everything but the million ranks
  python -m benchmarks --large          that too; needs 8 GB and some minutes
  python -m benchmarks --quick          a minute; the page is left as it is
  python -m benchmarks --only 'lu.A.8*' some of it; the page is left as it is
  python -m benchmarks --only '* on torus'   the patterns of the table of topologies there
  python -m benchmarks --instructions   has the work of a replay changed by more than 3 %?
"""
)
@click.option("--quick", is_flag=True, help="A short run; what it measures is printed only.")
@click.option("--large", is_flag=True, help="Replay a million ranks too.")
@click.option("--repeats", default=3, show_default=True, help="Runs of each replay.")
@click.option("--only", metavar="PATTERN", help="Replays and studies of such a name; printed only.")
@click.option("--no-simgrid", is_flag=True, help="Leave SimGrid's replays out.")
@click.option(
    "--instructions",
    "instructions_only",
    is_flag=True,
    help="Only count instructions; the exit status is 1 when they changed by more than 3 %.",
)
@click.option("--record", is_flag=True, help="With --instructions: write the new numbers down.")
def main(
    quick: bool,
    large: bool,
    repeats: int,
    only: str | None,
    no_simgrid: bool,
    instructions_only: bool,
    record: bool,
) -> None:
    """Measure speed and memory, compared with SimGrid's replay if it is installed.

    The answers are checked first. The tables are written to docs/benchmarks.md after each part of
    the work, so that an interrupted run leaves its measurements.
    """
    if instructions_only:
        sys.exit(_compare_instructions(record))
    repeats = 1 if quick else repeats
    measured = report.Measured(repeats=repeats)
    with_simgrid = replays.has_simgrid() and not no_simgrid
    start_up = cache(lambda: scale.start_up_cpu(max(repeats, 3)))
    jobs = [
        *_rate_jobs(measured, quick, only, with_simgrid, start_up),
        *_topology_jobs(measured, quick, only, large, with_simgrid, start_up),
        *_study_jobs(measured, quick, only, large),
    ]
    try:
        with _steps() as step:
            step("answers", 0.0)
            measured.answers = check_answers(quick, lambda part: step("answers", part))
            if with_simgrid:
                measured.agreements = topologies.check_times(lambda part: step("times", part))
            for number, (name, work) in enumerate(jobs):
                step(name, number / len(jobs))
                try:
                    work()
                except ProgramError as failed:
                    measured.failures.append(f"{name}: {failed}")
                if not (quick or only):
                    report.write(measured)
            if not (quick or only or instructions.missing()):
                measured.counts = instructions.count(lambda part: step("instructions", part))
    except WrongAnswerError as wrong:
        click.echo(f"wrong answer, nothing is timed: {wrong}", err=True)
        sys.exit(1)
    if quick or only:
        click.echo(report.markdown(measured))
    else:
        report.write(measured)
        click.echo(f"written: {report.PAGE}")


_Job = tuple[str, Callable[[], object]]


def _rate_jobs(
    measured: report.Measured,
    quick: bool,
    only: str | None,
    with_simgrid: bool,
    start_up: Callable[[], float],
) -> Iterator[_Job]:
    def work(case: replays.Case) -> None:
        measured.rates.append(replays.measure(case, measured.repeats, start_up(), with_simgrid))

    for case in replays.cases():
        name = f"{case.trace.name} on {case.platform}"
        if (case.quick or not quick) and (only is None or fnmatch.fnmatch(name, only)):
            yield name, partial(work, case)


def _topology_jobs(
    measured: report.Measured,
    quick: bool,
    only: str | None,
    large: bool,
    with_simgrid: bool,
    start_up: Callable[[], float],
) -> Iterator[_Job]:
    def work(case: topologies.Case) -> None:
        cost = topologies.measure(case, measured.repeats, start_up(), with_simgrid)
        measured.costs.append(cost)

    for case in topologies.cases():
        chosen = (case.is_smallest or not quick) and (large or not case.is_large)
        if chosen and (only is None or fnmatch.fnmatch(case.name, only)):
            yield case.name, partial(work, case)


def _study_jobs(
    measured: report.Measured, quick: bool, only: str | None, large: bool
) -> Iterator[_Job]:
    def work(study: scale.Study) -> None:
        measured.goals.extend(study.measure())

    for study in scale.studies():
        chosen = (study.quick or not quick) and (large or not study.large)
        if chosen and (only is None or fnmatch.fnmatch(study.name, only)):
            yield study.name, partial(work, study)


def _compare_instructions(record: bool) -> int:
    reason = instructions.missing()
    if reason is not None:
        click.echo(f"skipped: {reason}")
        return 0
    with _steps() as step:
        counts = instructions.count(lambda part: step("instructions", part))
    for row in counts:
        before = f"{row.recorded:,}" if row.recorded else "nothing recorded"
        click.echo(f"{row.name}: {row.instructions:,} instructions ({before}, {row.change:+.2%})")
    if record:
        instructions.record(counts)
        click.echo(f"written: {instructions.RECORD}")
        return 0
    if any(row.changed for row in counts):
        click.echo(
            f"more than {instructions.TOLERANCE:.0%} of change: find out why; if it is meant, "
            "write it down with --instructions --record and commit that",
            err=True,
        )
        return 1
    return 0


@contextmanager
def _steps() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on a terminal; elsewhere print a line per step."""
    if not sys.stderr.isatty():
        said: list[str] = []

        def say(name: str, part: float) -> None:
            if said[-1:] != [name]:
                said.append(name)
                click.echo(name, err=True)

        yield say
        return
    with ProgressBar("") as bar:
        yield lambda name, part: bar.show(part, title=name)


if __name__ == "__main__":
    main()
