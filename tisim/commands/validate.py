"""``tisim validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tisim.commands import report_written
from tisim.support.files import check_writable, write_file

if TYPE_CHECKING:
    from tisim.studies.validation import Validation


@click.command(
    "validate",
    epilog="""\b
Examples:
  tisim validate study.toml
  tisim validate study.toml -o study.html --json study.json
  tisim validate study.toml --keep-errors      # for the intervals of replay --uncertainty
""",
)
@click.option("-o", "--output", metavar="FILE.html", help="Write a page with tables and a chart.")
@click.option(
    "--json", "json_file", metavar="FILE", help="Write all results as JSON; - for standard output."
)
@click.option(
    "--keep-errors",
    is_flag=True,
    help="Store the errors beside the platform (FILE.sets.json), so that 'tisim replay "
    "--uncertainty' includes them in its intervals.",
)
@click.argument("study")
def validate_command(
    output: str | None, json_file: str | None, keep_errors: bool, study: str
) -> int:
    """Execute the cases of a study on a real MPI library, predict them and compare.

    STUDY is a TOML file with traces, platforms and launch commands, or the times of real runs;
    docs/validation.md describes it. The exit status is 1 if an error exceeds the study's
    thresholds or a case did not finish.
    """
    from tisim.studies.validation import load_study, validate
    from tisim.support.progress import ProgressBar

    for file in (output, json_file):
        if file not in (None, "-"):
            check_writable(str(file))
    loaded = load_study(study)
    with ProgressBar("validate") as bar:
        found = validate(loaded, lambda number, cases, name: bar.show(number / cases, title=name))
    if output is not None:
        from tisim.studies.validation.page import page

        write_file(output, page(study, found))
        report_written(output)
    if json_file is not None:
        import json

        text = json.dumps(found.to_dict(), indent=1) + "\n"
        if json_file != "-":
            write_file(json_file, text)
            report_written(json_file)
        else:
            click.echo(text, nl=False)
    if keep_errors:
        from tisim.studies.validation import comparison

        report_written(*comparison.keep_errors(found.results))
    if json_file != "-":
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
    from tisim.support.tables import align

    for line in align([CASE_COLUMNS, *case_rows(found.results)], left=2):
        click.echo(line)
    click.echo()
    for line in align([SUMMARY_COLUMNS, *summary_rows(found.summaries)]):
        click.echo(line)
    if found.coverage is not None:
        click.echo(f"\n{found.coverage.text()}")
    for one in found.results:
        if one.differences:
            click.echo(f"\n{one.case.name} ({one.error:+.1%}):")
            for difference in one.differences:
                click.echo(f"  {difference}")
    for name, reason in found.failed:
        click.echo(f"\n{name} failed: {reason}", err=True)
    for violation in found.violations:
        click.echo(f"tisim: {violation}", err=True)
