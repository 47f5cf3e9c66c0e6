"""The summary of a recording that ``tisim record`` prints on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands import report_written
from tisim.support.quantities import format_bytes, format_seconds

if TYPE_CHECKING:
    from tisim.traces.record.notes import Uncounted
    from tisim.traces.record.parts import Recording
    from tisim.traces.record.recorder import Recorded
    from tisim.traces.record.repetitions import Repeated
    from tisim.traces.samples import Samples
    from tisim.traces.spread import Spread

# Shares of the time between calls: what is not counted without a word, and which libraries are
# named.
_MOST_UNCOUNTED = 0.05
_LEAST_NAMED = 0.01


def report_run(recorded: Recorded) -> None:
    """Say what was recorded of a program's run."""
    report_recording(str(recorded.output), recorded.recording, recorded.reason)
    if recorded.timeline is not None:
        error = recorded.timeline.clock_error
        click.echo(
            f"{recorded.timeline.path}: {recorded.timeline.calls:,} calls; the clocks of the hosts "
            f"differ by at most {format_seconds(error)}",
            err=True,
        )
        report_written(recorded.timeline.path)
    _report_uncounted(recorded.uncounted)


def report_spread(repeated: Repeated) -> None:
    """Say how much the counts of a program that was recorded several times differ."""
    if not repeated.spreads:
        click.echo(
            f"warning: run {repeated.number} failed, so no more were made; the trace is its own",
            err=True,
        )
        return
    volumes, *beside = repeated.spreads
    counter = repeated.kept.recording.counter.partition(",")[0]
    _report_counter(f"volumes ({counter})", repeated.runs, volumes)
    for spread in beside:
        _report_counter(spread.counter, repeated.runs, spread)
    if volumes.of_one is None:
        click.echo("the runs have different numbers of calls", err=True)
    if not volumes.is_none:
        click.echo(
            f"the trace is that of run {repeated.number}, whose sum of volumes is the median",
            err=True,
        )


def _report_counter(name: str, runs: int, spread: Spread) -> None:
    if spread.is_none:
        click.echo(f"{name}: the same in all {runs} runs", err=True)
        return
    of_one = "" if spread.of_one is None else f"; that of one computation {spread.of_one:.1%}"
    click.echo(
        f"{name}: over {runs} runs, the deviation of their sum is {spread.deviation:.1%} (largest "
        f"by least {spread.largest_by_least:.2f}){of_one}",
        err=True,
    )


def report_recording(output: str, recording: Recording, reason: str) -> None:
    """Say on standard error what was recorded, and what was not."""
    size = format_bytes(Path(output).stat().st_size)
    why = f" ({reason})" if reason else ""
    click.echo(f"{output}: {recording.ranks:,} ranks, {size}", err=True)
    click.echo(f"counter: {recording.counter}{why}", err=True)
    if recording.further_counters:
        click.echo(f"beside it: {recording.further_counters}", err=True)
    if recording.samples is not None:
        _report_samples(recording.samples)
    for name, calls in recording.unsupported.most_common():
        click.echo(f"warning: {calls:,} calls of {name} are not in the trace", err=True)
    if recording.accelerators:
        click.echo(
            f"warning: a rank has waited for an accelerator for up to {recording.accelerators} % "
            "of its time (calls of CUDA or HIP), which no counter counts",
            err=True,
        )
    if recording.incomplete:
        ranks = ", ".join(map(str, recording.incomplete))
        click.echo(
            f"warning: the trace is incomplete: no MPI_Finalize of rank {ranks}; it ends with what "
            "they had written",
            err=True,
        )
    report_written(output)


def _report_uncounted(uncounted: Uncounted) -> None:
    """Warn of code that does not count itself, where the program spends time in it."""
    if uncounted.share <= _MOST_UNCOUNTED:
        return
    where = ", ".join(
        f"{name} ({share:.0%})"
        for name, share in uncounted.libraries.items()
        if share >= _LEAST_NAMED
    )
    click.echo(
        f"warning: {uncounted.share:.0%} of the computation is in code that tisim cc has not "
        f"compiled, which is not counted: {where}; --counter perf, qemu or time counts it too",
        err=True,
    )


def _report_samples(samples: Samples) -> None:
    taken = sum(rank.signals - rank.in_calls for rank in samples.ranks.values())
    lost = sum(rank.lost for rank in samples.ranks.values())
    without = f", {lost:,} of them without room" if lost else ""
    click.echo(
        f"computations: {taken:,} samples{without}; {samples.rate:.0f} a second of processor time",
        err=True,
    )
