"""``tisim compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tisim.analysis.compare import Comparison, Difference, compare, read_result
from tisim.analysis.compare.comparison import shorten
from tisim.commands import digits_option, json_option, print_table, report_written, write_json
from tisim.support.quantities import format_number, format_result_time, format_seconds

_LABELS = {
    "compute": "compute, mean over ranks",
    "communication": "communication, mean",
    "other": "other actions, mean",
    "finish": "end of a rank, mean",
    "ranks": "ranks",
    "actions": "actions",
    "bytes_sent": "bytes sent",
    "messages_sent": "messages sent",
}
# Ranks and details listed; --json has all.
_MOST_RANKS = 10
_MOST_DETAILS = 20
# Smaller fractions of a rank's difference are rounding: times are summed in another order.
_ROUNDING = 1e-6


@click.command(
    "compare",
    epilog="""\b
Examples:
  tisim replay --platform p.xml --json a.json traces/
  tisim replay --platform p.xml --config smpi/coll-selector=ompi --json b.json traces/
  tisim compare a.json b.json
  tisim compare a.json b.json --json - | jq .reasons
  tisim compare a.json b.json --report difference.html
With --breakdown in both replays, it also shows which actions and waits cause the difference.
""",
)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@json_option("the comparison")
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write the comparison as an .html page with charts.",
)
@digits_option
def compare_command(a: Path, b: Path, json_file: str | None, report_file: str | None) -> None:
    """Explain the difference between two results.

    A and B are results of tisim replay --json; differences are from A to B.
    """
    if report_file is not None:
        from tisim.analysis.report.report import check_report

        check_report(report_file)
    comparison = compare(read_result(a), read_result(b))
    if report_file is not None:
        from tisim.analysis.compare.report import write_comparison_report

        write_comparison_report(comparison, report_file, a=str(a), b=str(b))
        report_written(report_file)
    for which, warning in comparison.warnings:
        click.echo(f"tisim: warning: {which}: {warning}", err=True)
    if write_json({"a": str(a), "b": str(b), **comparison.to_dict()}, json_file):
        return
    click.echo(f"a: {a}\nb: {b}\n")
    for reason in comparison.reasons:
        click.echo(f"- {reason}")
    if comparison.trust_text:
        click.echo(f"\ntrust: {comparison.trust_text}")
    _print_numbers(comparison)
    least = _ROUNDING * (comparison.simulated_time.a or 0.0)
    for title, differences in (
        ("Time in each kind of action, mean over ranks", comparison.kinds),
        ("Time in each state, mean over ranks", comparison.states),
        ("Time waited for a rank, mean over ranks", comparison.causes),
    ):
        _print_times(title, [diff for diff in differences if abs(diff.change) > least])
    _print_inputs(comparison)
    _print_ranks(comparison)
    _print_details(comparison)


def _print(title: str, rows: list[tuple[str, ...]], left: int = 1) -> None:
    if len(rows) > 1:
        click.echo(f"\n{title}" if title else "")
        print_table(rows, left)


def _print_numbers(comparison: Comparison) -> None:
    rows: list[tuple[str, ...]] = [("", "a", "b", "difference", "b / a")]
    times = [diff for diff in comparison.times if diff.a or diff.b]
    rows.append(_numbers("simulated time", comparison.simulated_time, seconds=True))
    rows += [_numbers(_LABELS[diff.name], diff, seconds=True) for diff in times]
    rows += [_numbers(_LABELS[diff.name], diff, seconds=False) for diff in comparison.counts]
    _print("", rows)


def _print_times(title: str, differences: Sequence[Difference]) -> None:
    rows: list[tuple[str, ...]] = [("", "a", "b", "difference", "b / a")]
    rows += [_numbers(diff.name, diff, seconds=True) for diff in differences[:_MOST_RANKS]]
    _print(title, rows)


def _numbers(label: str, diff: Difference, *, seconds: bool) -> tuple[str, ...]:
    def shown(value: float | None) -> str:
        if value is None:
            return "-"
        return format_seconds(value) if seconds else format_number(value)

    ratio = f"{diff.b / diff.a:.4f}" if diff.a and diff.b is not None else "-"
    if not diff.differs:
        return (label, shown(diff.a), shown(diff.b), "", "")
    sign = "+" if diff.change > 0 else ""
    number = sign + format_number(diff.change)
    change = format_result_time(diff.change, signed=True) if seconds else number
    return (label, shown(diff.a), shown(diff.b), change, ratio)


def _print_inputs(comparison: Comparison) -> None:
    rows: list[tuple[str, ...]] = [("option", "a", "b")]
    rows += [(name, shorten(x), shorten(y)) for name, x, y in comparison.differing_inputs]
    _print("Options and other inputs that differ", rows, left=3)


def _print_ranks(comparison: Comparison) -> None:
    rows: list[tuple[str, ...]] = [
        ("rank", "host", "end in b", "difference", "compute", "communication", "other")
    ]
    for rank in comparison.ranks[:_MOST_RANKS]:
        host = rank.host_a if rank.host_a == rank.host_b else f"{rank.host_a} -> {rank.host_b}"
        parts = (
            _part(time, rank.finish) for time in (rank.compute, rank.communication, rank.other)
        )
        change = format_result_time(rank.finish, signed=True)
        rows.append((str(rank.rank), host, format_result_time(rank.finish_b), change, *parts))
    more = len(comparison.ranks) - _MOST_RANKS
    _print("Ranks that end at another time, and what makes the difference", rows, left=2)
    if more > 0:
        click.echo(f"and {more:,} more")


def _part(time: float, whole: float) -> str:
    """The contribution of a kind of time to a difference, unless it is rounding."""
    return format_result_time(time, signed=True) if abs(time) > _ROUNDING * abs(whole) else "0"


def _print_details(comparison: Comparison) -> None:
    rows: list[tuple[str, ...]] = [("", "a", "b", "difference", "b / a")]
    rows += [
        _numbers(diff.name, diff, seconds=False) for diff in comparison.details[:_MOST_DETAILS]
    ]
    _print("Further numbers that differ", rows)
    more = len(comparison.details) - _MOST_DETAILS
    if more > 0:
        click.echo(f"and {more:,} more; --json lists them all")
