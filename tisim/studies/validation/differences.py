"""Differences between a real run and its prediction: ranks, and kinds of calls."""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import ExecutionError
from tisim.studies.execute import execute
from tisim.studies.validation.study import Case
from tisim.support.quantities import format_bytes, format_time
from tisim.traces import Trace

# Columns of a row of the monitoring's file: E or I (a program's own messages, or those within a
# collective), source, destination, bytes, the word, messages.
_BYTES, _MESSAGES = 3, 5
_TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Messages:
    """Number of messages of all ranks, and their bytes."""

    count: int
    bytes: int

    def __sub__(self, other: Messages) -> Messages:
        return Messages(self.count - other.count, self.bytes - other.bytes)


def count_messages(case: Case, trace: Trace) -> Messages | None:
    """Count the messages of one execution of a trace, including those within collectives.

    Each count covers the whole life of the ranks. So an execution is counted as the difference made
    by a second repetition, minus the executor's own messages, counted likewise for an empty trace.
    None if the MPI library has no monitoring or the command does not forward it.
    """
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch) / "empty.txt"
        empty.write_text("".join(f"{rank} init\n" for rank in range(trace.ranks)))
        own = _messages_per_repetition(case, Trace.open(empty), Path(scratch))
        both = _messages_per_repetition(case, trace, Path(scratch))
    return None if own is None or both is None else both - own


def _messages_per_repetition(case: Case, trace: Trace, scratch: Path) -> Messages | None:
    once = _messages_of_run(case, trace, scratch, 1)
    twice = None if once is None else _messages_of_run(case, trace, scratch, 2)
    return None if once is None or twice is None else twice - once


def _messages_of_run(case: Case, trace: Trace, scratch: Path, repeat: int) -> Messages | None:
    prefix = scratch / f"monitored-{repeat}"
    variables = {
        "OMPI_MCA_pml": "ob1,monitoring",
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(prefix),
    }
    try:
        execute(
            trace,
            case.command,
            repeat=repeat,
            warm_up=0,
            compute="none",
            time_limit=case.time_limit or _TIME_LIMIT,
            directory=scratch,
            compiler=case.compiler,
            variables=variables,
        )
    except ExecutionError:
        return None
    files = [*scratch.glob(f"{prefix.name}.*.prof")]
    if len(files) != trace.ranks:
        return None
    count = size = 0
    for file in files:
        for line in file.read_text().splitlines():
            words = line.split()
            if words[:1] in (["E"], ["I"]):
                count += int(words[_MESSAGES])
                size += int(words[_BYTES])
        file.unlink()
    return Messages(count, size)


# Maximum number of each that are named.
_MAX_NAMED = 3
# Calls whose times differ by a smaller fraction of the real time are omitted.
_MIN_DIFFERENCE = 0.02
#: Seconds in calls of each kind, summed over the ranks.
KindTimes = Mapping[str, float]


def explain(
    real_ends: Sequence[Sequence[float]],
    predicted_ends: Sequence[float],
    real: KindTimes,
    predicted: KindTimes,
) -> tuple[str, ...]:
    """Return sentences on the ranks and calls whose times differ from the prediction.

    Takes the end of each rank in each real run and in the prediction, and the time in calls of each
    kind; all in seconds.
    """
    median = statistics.median(max(ends) for ends in real_ends)
    return (
        _ranks(real_ends, predicted_ends),
        *_kinds(real, predicted, len(predicted_ends), median),
    )


def _ranks(real_ends: Sequence[Sequence[float]], predicted: Sequence[float]) -> str:
    real = [statistics.median(ends[rank] for ends in real_ends) for rank in range(len(predicted))]
    ratios = [
        (mine / theirs if theirs > 0 else 1.0, rank)
        for rank, (mine, theirs) in enumerate(zip(predicted, real, strict=True))
    ]
    (low, first), (high, last) = min(ratios), max(ratios)
    if high - low < 2 * _MIN_DIFFERENCE:
        return f"all ranks alike: predicted over real is {low:.2f} to {high:.2f}"
    return f"predicted over real is {low:.2f} for rank {first} and {high:.2f} for rank {last}"


def _kinds(real: KindTimes, predicted: KindTimes, ranks: int, median: float) -> list[str]:
    differences = sorted(
        ((predicted.get(kind, 0.0) - real.get(kind, 0.0)) / ranks, kind)
        for kind in {*real, *predicted}
    )
    differences.sort(key=lambda pair: -abs(pair[0]))
    return [
        f"{kind}: {format_time(predicted.get(kind, 0.0) / ranks, 3)} a rank predicted, "
        f"{format_time(real.get(kind, 0.0) / ranks, 3)} real"
        for difference, kind in differences[:_MAX_NAMED]
        if abs(difference) > _MIN_DIFFERENCE * median
    ]


def compare_messages(real: Messages | None, predicted: Messages) -> list[str]:
    """Return sentences on whether MPI sends the messages of the prediction."""
    if real is None:
        return []
    if real == predicted:
        return [f"the same messages: {real.count:,} with {format_bytes(real.bytes)}"]
    return [
        f"messages: {predicted.count:,} with {format_bytes(predicted.bytes)} predicted, "
        f"{real.count:,} with {format_bytes(real.bytes)} real"
    ]


def sum_by_kind(rows: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return the sum of seconds of each kind."""
    sums: dict[str, float] = defaultdict(float)
    for kind, seconds in rows:
        sums[kind] += seconds
    return dict(sums)
