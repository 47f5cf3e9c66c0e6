"""``tisim validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tisim.commands import json_option, print_table, report_written, write_json
from tisim.support.files import check_writable, write_file

if TYPE_CHECKING:
    from tisim.studies.validation import Validation


@click.command(
    "validate",
    epilog="""\b
Examples:
  tisim validate study.toml
  tisim validate study.toml --report study.html --json study.json
  tisim validate study.toml --keep-errors      # for the intervals of replay --uncertainty
""",
)
@click.option(
    "--report", "report_file", metavar="FILE.html", help="Write a page with tables and a chart."
)
@json_option("all results")
@click.option(
    "--keep-errors",
    is_flag=True,
    help="Store the errors next to the platform (FILE.sets.json), so that 'tisim replay "
    "--uncertainty' includes them in its intervals.",
)
@click.argument("study")
def validate_command(
    report_file: str | None, json_file: str | None, keep_errors: bool, study: str
) -> int:
    """Execute the cases of a study on a real MPI library, predict them and compare.

    STUDY is a TOML file with traces, platforms and launch commands, or the times of real runs;
    docs/validation.md describes it. The exit status is 1 if an error exceeds the study's
    thresholds or a case did not finish.
    """
    from tisim.studies.validation import load_study, validate
    from tisim.support.progress import ProgressBar

    if report_file is not None:
        from tisim.analysis.report.report import check_report

        check_report(report_file)
    for file in (report_file, json_file):
        if file not in (None, "-"):
            check_writable(str(file))
    loaded = load_study(study)
    with ProgressBar("validate") as bar:
        found = validate(loaded, lambda number, cases, name: bar.show(number / cases, title=name))
    if report_file is not None:
        from tisim.studies.validation.page import page

        write_file(report_file, page(study, found))
        report_written(report_file)
    is_printed = write_json(found.to_dict(), json_file)
    if keep_errors:
        from tisim.studies.validation import comparison

        report_written(*comparison.store_errors(found.results))
    if not is_printed:
        print_validation(found)
    return 0 if found.passed else 1


def print_validation(found: Validation) -> None:
    """Print the tables, what differs, and what failed."""
    from tisim.studies.validation.page import (
        CASE_COLUMNS,
        SUMMARY_COLUMNS,
        case_rows,
        summary_rows,
    )

    print_table([CASE_COLUMNS, *case_rows(found.results)], left=2)
    click.echo()
    print_table([SUMMARY_COLUMNS, *summary_rows(found.summaries)])
    if found.coverage is not None:
        click.echo(f"\n{found.coverage.text()}")
    for case in found.results:
        if case.differences:
            click.echo(f"\n{case.case.name} ({case.error:+.1%}):")
            for difference in case.differences:
                click.echo(f"  {difference}")
    for name, reason in found.failed:
        click.echo(f"\n{name} failed: {reason}", err=True)
    for violation in found.violations:
        click.echo(f"tisim: {violation}", err=True)
