"""Comparison of two results: the numbers that differ, and sentences that explain them."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tisim.analysis.result import Result
from tisim.analysis.result_json import (
    COLUMNS,
    COUNTS,
    BreakdownDict,
    RankRow,
    ResultDict,
    TimeName,
    read_file,
)
from tisim.support.quantities import format_result_time

# Relative tolerance for equal times: the order of additions may differ.
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """A number in both results.

    Attributes
    ----------
    name
        Name of the number.
    a, b
        Its values; None if a result lacks it.
    """

    name: str
    a: float | None
    b: float | None

    @property
    def change(self) -> float:
        """The second value minus the first; a missing one counts as 0."""
        return (self.b or 0.0) - (self.a or 0.0)

    @property
    def differs(self) -> bool:
        """True if the values differ by more than rounding."""
        return not math.isclose(self.a or 0.0, self.b or 0.0, rel_tol=_SAME, abs_tol=0.0)


@dataclass(frozen=True, slots=True)
class RankDifference:
    """One rank in both results; times in seconds."""

    rank: int
    host_a: str
    host_b: str
    finish_a: float
    finish_b: float
    compute: float
    communication: float
    other: float

    @property
    def finish(self) -> float:
        """Delay of the rank's end in the second result."""
        return self.finish_b - self.finish_a


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results compared.

    Attributes
    ----------
    simulated_time
        In seconds.
    inputs
        Name and both values of each differing input, such as an option or a file.
    changes
        Likewise for changes of the platform and the mapping, such as the bandwidth.
    times
        Mean over ranks of the seconds of computation, communication and other actions, and of
        the end time.
    counts
        Ranks, actions, bytes and messages.
    ranks
        Ranks with a different end time or host, the greatest difference first; empty if the results
        have different numbers of ranks.
    details
        All other numbers in both results that differ, such as a breakdown by kind or wait states,
        the greatest difference first.
    kinds, states, causes
        Mean over ranks of the seconds in each kind of action, in each state, and of waiting for
        each rank; only differing ones, the greatest difference first; empty unless both results
        have a breakdown.
    without_breakdown
        The result, ``a`` or ``b``, that lacks a breakdown while the other has one; else empty.
    trust
        How far to trust each of the results.
    reasons
        Sentences that explain the difference.
    warnings
        Warnings of the results, such as approximate numbers in a trace: which result, and the
        text.
    """

    simulated_time: Difference
    inputs: tuple[tuple[str, object, object], ...]
    times: tuple[Difference, ...]
    counts: tuple[Difference, ...]
    ranks: tuple[RankDifference, ...]
    details: tuple[Difference, ...]
    kinds: tuple[Difference, ...] = ()
    states: tuple[Difference, ...] = ()
    causes: tuple[Difference, ...] = ()
    without_breakdown: str = ""
    changes: tuple[tuple[str, object, object], ...] = ()
    trust: tuple[str, str] = ("", "")
    reasons: tuple[str, ...] = field(default=())
    warnings: tuple[tuple[str, str], ...] = ()

    @property
    def trust_text(self) -> str:
        """How far to trust both results, once if equal; empty if neither says so."""
        a, b = self.trust
        parts = (
            [a] if a == b else [f"{name}: {trust}" for name, trust in (("a", a), ("b", b)) if trust]
        )
        return "; ".join(filter(None, parts))

    @property
    def differing_inputs(self) -> list[tuple[str, object, object]]:
        """The changes, and the differing inputs."""
        words = [(name, a or "as it is", b or "as it is") for name, a, b in self.changes]
        return [*words, *self.inputs]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain numbers, lists and dicts; for JSON."""
        a, b = self.simulated_time.a, self.simulated_time.b
        return {
            "simulated_time": _pair(self.simulated_time) | {"ratio": b / a if a and b else None},
            "reasons": list(self.reasons),
            "trust": self.trust_text,
            "warnings": [{"of": which, "text": text} for which, text in self.warnings],
            "inputs": [{"name": name, "a": x, "b": y} for name, x, y in self.inputs],
            "changes": [{"name": name, "a": x, "b": y} for name, x, y in self.changes],
            "times": _pairs(self.times),
            "counts": _pairs(self.counts),
            "ranks": [asdict(rank) | {"finish": rank.finish} for rank in self.ranks],
            "kinds": _pairs(self.kinds),
            "states": _pairs(self.states),
            "causes": _pairs(self.causes),
            "details": _pairs(self.details),
        }


def _pairs(numbers: Sequence[Difference]) -> dict[str, dict[str, float | None]]:
    return {diff.name: _pair(diff) for diff in numbers}


def _pair(diff: Difference) -> dict[str, float | None]:
    return {"a": diff.a, "b": diff.b, "difference": diff.change}


# Smaller fractions of the difference, or else of the total time, get no sentence.
_BREAKDOWN_PART = 0.05
_MAX_SENTENCES = 2  # maximum number of sentences of a kind
_MEAN = "on average over ranks"


def breakdown_reasons(comparison: Comparison) -> Iterator[str]:
    """Yield sentences on kinds of action, states and ranks that take longer in one result."""
    finish = comparison.times[-1]
    least = _BREAKDOWN_PART * abs(finish.change if finish.differs else finish.a or 0.0)

    def large(differences: tuple[Difference, ...], most: int) -> Iterator[tuple[str, str, str]]:
        for diff in differences[:most]:
            if diff.differs and abs(diff.change) >= least:
                change = format_result_time(abs(diff.change))
                yield diff.name, change, "longer" if diff.change > 0 else "less"

    for name, change, more in large(comparison.kinds, _MAX_SENTENCES):
        yield f"actions of kind {name} take {change} {more} {_MEAN}"
    for name, change, more in large(comparison.states, _MAX_SENTENCES):
        yield f"ranks are in state {name} {change} {more} {_MEAN}"
    for name, change, more in large(comparison.causes, 1):
        yield f"others wait {change} {more} for {name} {_MEAN}"
    if comparison.without_breakdown:
        yield (
            f"{comparison.without_breakdown} has no breakdown: replay it with --breakdown too, to "
            "see which actions and waits differ"
        )


# Smaller fractions of a difference get no sentence.
_MIN_SHARE = 0.005
# If more inputs differ, they are counted instead of named.
_FEW = 3
_MAX_WIDTH = 40
_VERBS = {"compute": "compute", "communication": "communication", "other": "other actions"}


def find_reasons(comparison: Comparison) -> tuple[str, ...]:
    """Return sentences that explain the difference, the most important one first."""
    return (
        *_programs(comparison),
        *_verdict(comparison),
        *_changes(comparison),
        *_where(comparison),
        *breakdown_reasons(comparison),
        *_work(comparison),
        *_machine(comparison),
        *_details(comparison),
    )


def _programs(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence if the results are replays of different programs."""
    ranks, actions = comparison.counts[0], comparison.counts[1]
    if ranks.differs or actions.differs:
        of_a, of_b = (
            f"{n:,.0f} ranks and {m:,.0f} actions"
            for n, m in ((ranks.a or 0, actions.a or 0), (ranks.b or 0, actions.b or 0))
        )
        yield (
            f"these are different programs: a has {of_a}, b {of_b}; the differences below are not "
            "only those of machines"
        )


def _changes(comparison: Comparison) -> Iterator[str]:
    """Yield the changes to the machine in only one of the results."""
    for which, place in (("a", 1), ("b", 2)):
        words = [f"{row[0]} {row[place]}" for row in comparison.changes if row[place] is not None]
        if words:
            yield f"{which} has {', '.join(words)}"


def headline(comparison: Comparison) -> str:
    """Return the difference in a sentence: amount, changes, and largest contribution."""
    parts = [*_programs(comparison), next(_verdict(comparison)), *_changes(comparison)]
    causes = comparison.states or comparison.times[:-1]
    most = max(causes, key=lambda diff: abs(diff.change))
    if comparison.simulated_time.differs and most.differs:
        what = "the state " if comparison.states else ""
        parts.append(f"most of it is {what}{most.name} ({_signed(most.change)} {_MEAN})")
    return f"{'; '.join(parts)}."


def _signed(seconds: float) -> str:
    return format_result_time(seconds, signed=True)


def _verdict(comparison: Comparison) -> Iterator[str]:
    time = comparison.simulated_time
    if not time.differs:
        yield "both take the same simulated time"
    elif time.a:
        change = format_result_time(time.change, signed=True)
        yield f"b takes {(time.b or 0.0) / time.a:.4g} times as long as a ({change})"
    last = [rank for rank in comparison.ranks if rank.finish_b == time.b]
    if last and last[0].finish_a != time.a:
        yield f"rank {last[0].rank} ends last in b, a different one in a"


def _where(comparison: Comparison) -> Iterator[str]:
    """Yield the contributions of computation and communication, over all ranks."""
    *parts, finish = comparison.times
    if not finish.differs:
        if any(_matters(part, finish) for part in parts):
            yield "ranks end at the same time on average, but spend it differently"
        return
    large = [part for part in parts if abs(part.change) >= _MIN_SHARE * abs(finish.change)]
    together = len({part.change > 0 for part in large}) == 1
    for part in sorted(large, key=lambda part: -abs(part.change)):
        change = format_result_time(abs(part.change))
        if together:
            share = part.change / finish.change
            sign = "+" if part.change > 0 else "-"
            yield f"{_VERBS[part.name]} accounts for {share:.1%} of it ({sign}{change} {_MEAN})"
        else:
            more = "longer" if part.change > 0 else "less"
            yield f"{_VERBS[part.name]} takes {change} {more} {_MEAN}"


def _matters(part: Difference, whole: Difference) -> bool:
    return abs(part.change) >= _MIN_SHARE * (whole.a or 0.0)


def _work(comparison: Comparison) -> Iterator[str]:
    """Yield differences in the work done."""
    counts = {row.name: row for row in comparison.counts}
    if counts["ranks"].differs or counts["actions"].differs:
        return
    if counts["messages_sent"].differs or counts["bytes_sent"].differs:
        messages, sent = counts["messages_sent"].change, counts["bytes_sent"].change
        yield (
            f"b sends {messages:+,.0f} messages and {sent:+,.0f} bytes: the same calls with "
            "different algorithms"
        )


def _machine(comparison: Comparison) -> Iterator[str]:
    inputs = (*comparison.changes, *comparison.inputs)
    few = len(comparison.inputs) <= _FEW
    if not few:
        yield f"{len(comparison.inputs)} options and other inputs differ"
    for name, a, b in comparison.inputs if few else ():
        yield f"{name} is {shorten(a)} in a, {shorten(b)} in b"
    moved = sum(rank.host_a != rank.host_b for rank in comparison.ranks)
    if moved:
        plural, verb = ("", "runs") if moved == 1 else ("s", "run")
        yield f"{moved:,} rank{plural} {verb} on a different host in b"
    compute = comparison.times[0]
    same_work = not any(row.differs for row in comparison.counts if row.name != "messages_sent")
    if compute.a and abs(compute.change) > _MIN_SHARE * compute.a:
        if same_work:
            ratio = (compute.b or 0.0) / compute.a
            yield f"the same work takes {ratio:.4g} times as long: hosts of different speed or load"
    elif same_work and comparison.simulated_time.differs and not (moved or inputs):
        yield "options, hosts and compute are the same: the network differs"


def _details(comparison: Comparison) -> Iterator[str]:
    """Yield the greatest difference in optional numbers, such as a kind of waiting."""
    times = [diff for diff in comparison.details if _is_time(diff)]
    if times:
        first = times[0]
        yield (
            f"the largest difference is in {first.name} "
            f"({format_result_time(first.change, signed=True)})"
        )


def _is_time(diff: Difference) -> bool:
    """Return True for a number that can be part of the seconds that ranks spend.

    Seeds, skipped iterations and intervals are not: they describe how the time was computed.
    """
    if diff.name.partition(":")[0] in ("jitter", "steady", "uncertainty"):
        return False
    known = [abs(value) for value in (diff.a, diff.b) if value is not None]
    words = ("bytes", "count", "messages", "number", "actions", "rank:")
    return math.isfinite(sum(known)) and not any(word in diff.name for word in words)


def shorten(value: object) -> str:
    """Return the value of an option, shortened if it is long."""
    text = "not set" if value is None else str(value)
    return text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 3] + "..."


def breakdown_of(result: ResultDict) -> BreakdownDict | None:
    """Return the breakdown of a result (`tisim replay --breakdown`), or None."""
    breakdown = result.get("breakdown")
    known = isinstance(breakdown, Mapping) and {"states", "kinds", "waits"} <= breakdown.keys()
    return breakdown if known else None


def state_times(result: ResultDict) -> dict[str, float]:
    """Return the seconds in each state, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    return _means(result, breakdown["states"]) if breakdown else {}


def kind_times(result: ResultDict) -> dict[str, float]:
    """Return the seconds in each kind of action, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    kinds = breakdown["kinds"] if breakdown else {}
    return _means(result, {kind: of["seconds"] for kind, of in kinds.items()})


def wait_times(result: ResultDict) -> dict[str, float]:
    """Return the seconds of waiting for each rank, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    sums: dict[str, float] = {}
    for wait in breakdown["waits"] if breakdown else ():
        name = f"rank {wait['cause']}"
        sums[name] = sums.get(name, 0.0) + wait["seconds"]
    return _means(result, sums)


def _means(result: ResultDict, seconds: Mapping[str, float]) -> dict[str, float]:
    ranks = len(result["ranks"])
    return {name: value / ranks for name, value in seconds.items()}


# Keys of a result that are compared individually; all others are compared as plain numbers.
_KNOWN = {
    *("tisim", "simulated_time", "actions", "wall_time", "config", "ranks", "warnings"),
    *("changes", "trust"),
}
_RANK_TIMES: tuple[TimeName, ...] = ("compute", "communication", "other")
_MEANS: tuple[TimeName, ...] = (*_RANK_TIMES, "finish")

_Rows = Sequence[RankRow]
Comparable = Result | ResultDict | str | os.PathLike[str]


def compare(a: Comparable, b: Comparable) -> Comparison:
    """Compare two results.

    Parameters
    ----------
    a, b
        Results, outputs of `Result.to_dict`, or names of files of ``tisim replay --json``.

    Returns
    -------
    Comparison
    """
    a, b = _as_dict(a), _as_dict(b)
    has_a, has_b = breakdown_of(a) is not None, breakdown_of(b) is not None

    def by(times: Callable[[ResultDict], dict[str, float]]) -> tuple[Difference, ...]:
        return tuple(_differences(times(a), times(b)) if has_a and has_b else ())

    rows_a, rows_b = a["ranks"], b["ranks"]
    comparison = Comparison(
        Difference("simulated_time", _end(rows_a), _end(rows_b)),
        tuple(_inputs(a, b)),
        tuple(Difference(name, _mean(rows_a, name), _mean(rows_b, name)) for name in _MEANS),
        tuple(_counts(rows_a, rows_b)),
        tuple(_ranks(rows_a, rows_b)),
        tuple(_other_numbers(a, b)),
        kinds=by(kind_times),
        states=by(state_times),
        causes=by(wait_times),
        without_breakdown="" if has_a == has_b else "b" if has_a else "a",
        warnings=tuple(_warnings(a, b)),
        changes=tuple(_differing(a.get("changes", {}), b.get("changes", {}))),
        trust=(str(a.get("trust", "")), str(b.get("trust", ""))),
    )
    return dataclasses.replace(comparison, reasons=find_reasons(comparison))


def _as_dict(result: Comparable) -> ResultDict:
    if isinstance(result, str | os.PathLike):
        return read_file(result)
    return result if isinstance(result, dict) else result.to_dict()


def _warnings(a: ResultDict, b: ResultDict) -> Iterator[tuple[str, str]]:
    """Yield the warnings of both results, such as approximate numbers in a trace."""
    of_a, of_b = ([str(text) for text in given.get("warnings", ())] for given in (a, b))
    for text in dict.fromkeys((*of_a, *of_b)):
        yield ("both" if text in of_a and text in of_b else "a" if text in of_a else "b"), text


def _end(rows: _Rows) -> float:
    return float(max(row["finish"] for row in rows))


def _mean(rows: _Rows, name: TimeName) -> float:
    return math.fsum(row[name] for row in rows) / len(rows)


def _inputs(a: ResultDict, b: ResultDict) -> Iterator[tuple[str, object, object]]:
    """Yield inputs that differ: texts such as file names, and options."""
    for key in dict.fromkeys((*a, *b)):
        text = isinstance(a.get(key, b.get(key)), str)
        if text and key not in _KNOWN and a.get(key) != b.get(key):
            yield key, a.get(key), b.get(key)
    if a.get("tisim") != b.get("tisim"):
        yield "tisim", a.get("tisim"), b.get("tisim")
    yield from _differing(a.get("config", {}), b.get("config", {}))


def _differing(
    a: Mapping[str, object], b: Mapping[str, object]
) -> Iterator[tuple[str, object, object]]:
    for key in dict.fromkeys((*a, *b)):
        if a.get(key) != b.get(key):
            yield key, a.get(key), b.get(key)


def _counts(rows_a: _Rows, rows_b: _Rows) -> Iterator[Difference]:
    yield Difference("ranks", len(rows_a), len(rows_b))
    for name in COUNTS:
        totals = [sum(row.get(name, 0) for row in rows) for rows in (rows_a, rows_b)]
        yield Difference(name, *totals)


def _ranks(rows_a: _Rows, rows_b: _Rows) -> list[RankDifference]:
    if len(rows_a) != len(rows_b):
        return []
    ranks = [
        RankDifference(
            row_a["rank"],
            row_a["host"],
            row_b["host"],
            row_a["finish"],
            row_b["finish"],
            *(row_b[name] - row_a[name] for name in _RANK_TIMES),
        )
        for row_a, row_b in zip(rows_a, rows_b, strict=True)
        if not math.isclose(row_a["finish"], row_b["finish"], rel_tol=_SAME)
        or row_a["host"] != row_b["host"]
    ]
    return sorted(ranks, key=lambda rank: (-abs(rank.finish), rank.rank))


def _other_numbers(a: ResultDict, b: ResultDict) -> list[Difference]:
    return _differences(dict(_numbers(a)), dict(_numbers(b)))


def _differences(
    numbers_a: Mapping[str, float], numbers_b: Mapping[str, float]
) -> list[Difference]:
    """Return the numbers that differ, the greatest difference first."""
    diffs = [
        Difference(name, numbers_a.get(name), numbers_b.get(name))
        for name in dict.fromkeys((*numbers_a, *numbers_b))
    ]
    return sorted((diff for diff in diffs if diff.differs), key=lambda diff: -abs(diff.change))


def _numbers(result: ResultDict) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a result without a field of their own, by path."""
    for key, value in result.items():
        if key not in _KNOWN and not (key == "breakdown" and breakdown_of(result)):
            yield from _leaves(key, value)
    sums: dict[str, float] = {}
    for row in result["ranks"]:
        for key, value in row.items():
            if key not in COLUMNS:
                for name, number in _leaves(key, value):
                    sums[name] = sums.get(name, 0.0) + number
    for name, total in sums.items():
        yield f"{name}, mean over ranks", total / len(result["ranks"])


def _leaves(path: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield path, float(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{path}: {key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}: {_label(inner, place)}", _unlabelled(inner))


def _label(row: object, place: int) -> str:
    """Return the identity of a row of a list: its texts and rank, or else its index."""
    if isinstance(row, Mapping):
        words = [str(v) if isinstance(v, str) else f"rank {v}" for v in _labels(row).values()]
        if words:
            return ", ".join(words)
    return str(place)


def _labels(row: Mapping[str, object]) -> dict[str, object]:
    return {k: v for k, v in row.items() if isinstance(v, str) or k == "rank"}


def _unlabelled(row: object) -> object:
    if not isinstance(row, Mapping):
        return row
    names = _labels(row)
    return {key: value for key, value in row.items() if key not in names}
