"""The differences between two results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from tisim.analysis.compare.comparison import Comparison, Difference, RankDifference
from tisim.analysis.compare.reasons import find_reasons
from tisim.analysis.result_json import (
    COLUMNS,
    COUNTS,
    BreakdownDict,
    RankRow,
    ResultDict,
    TimeName,
)


def breakdown_of(result: ResultDict) -> BreakdownDict | None:
    """The breakdown of a result that has one (`tisim replay --breakdown`)."""
    breakdown = result.get("breakdown")
    known = isinstance(breakdown, Mapping) and {"states", "kinds", "waits"} <= breakdown.keys()
    return breakdown if known else None


def state_times(result: ResultDict) -> dict[str, float]:
    """Seconds in each state, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    return _means(result, breakdown["states"]) if breakdown else {}


def kind_times(result: ResultDict) -> dict[str, float]:
    """Seconds in each kind of action, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    kinds = breakdown["kinds"] if breakdown else {}
    return _means(result, {kind: of["seconds"] for kind, of in kinds.items()})


def wait_times(result: ResultDict) -> dict[str, float]:
    """Seconds waited for each rank, mean over ranks; empty without a breakdown."""
    breakdown = breakdown_of(result)
    sums: dict[str, float] = {}
    for wait in breakdown["waits"] if breakdown else ():
        name = f"rank {wait['cause']}"
        sums[name] = sums.get(name, 0.0) + wait["seconds"]
    return _means(result, sums)


def _means(result: ResultDict, seconds: Mapping[str, float]) -> dict[str, float]:
    ranks = len(result["ranks"])
    return {name: value / ranks for name, value in seconds.items()}


# Keys of a result that are compared one by one; all others are compared as plain numbers.
_KNOWN = {"tisim", "simulated_time", "actions", "wall_time", "config", "ranks", "warnings"}
_TIMES: tuple[TimeName, ...] = ("compute", "communication", "other")
_MEANS: tuple[TimeName, ...] = (*_TIMES, "finish")

_Rows = Sequence[RankRow]


def compare(a: ResultDict, b: ResultDict) -> Comparison:
    """Compare two results.

    Parameters
    ----------
    a, b
        What `Result.to_dict` gives, or `read_result`.

    Returns
    -------
    Comparison
    """
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
        tuple(_details(a, b)),
        kinds=by(kind_times),
        states=by(state_times),
        causes=by(wait_times),
        without_breakdown="" if has_a == has_b else "b" if has_a else "a",
        warnings=tuple(_warnings(a, b)),
    )
    return dataclasses.replace(comparison, reasons=find_reasons(comparison))


def _warnings(a: ResultDict, b: ResultDict) -> Iterator[tuple[str, str]]:
    """The warnings of both results, such as approximate numbers in a trace."""
    of_a, of_b = ([str(text) for text in one.get("warnings", ())] for one in (a, b))
    for text in dict.fromkeys((*of_a, *of_b)):
        yield ("both" if text in of_a and text in of_b else "a" if text in of_a else "b"), text


def _end(rows: _Rows) -> float:
    return float(max(row["finish"] for row in rows))


def _mean(rows: _Rows, name: TimeName) -> float:
    return math.fsum(row[name] for row in rows) / len(rows)


def _inputs(a: ResultDict, b: ResultDict) -> Iterator[tuple[str, object, object]]:
    """Inputs that differ: texts such as names of files, and options."""
    for key in dict.fromkeys((*a, *b)):
        text = isinstance(a.get(key, b.get(key)), str)
        if text and key not in _KNOWN and a.get(key) != b.get(key):
            yield key, a.get(key), b.get(key)
    if a.get("tisim") != b.get("tisim"):
        yield "tisim", a.get("tisim"), b.get("tisim")
    options_a, options_b = a.get("config", {}), b.get("config", {})
    for key in dict.fromkeys((*options_a, *options_b)):
        if options_a.get(key) != options_b.get(key):
            yield key, options_a.get(key), options_b.get(key)


def _counts(rows_a: _Rows, rows_b: _Rows) -> Iterator[Difference]:
    yield Difference("ranks", len(rows_a), len(rows_b))
    for name in COUNTS:
        totals = [sum(row.get(name, 0) for row in rows) for rows in (rows_a, rows_b)]
        yield Difference(name, *totals)


def _ranks(rows_a: _Rows, rows_b: _Rows) -> list[RankDifference]:
    if len(rows_a) != len(rows_b):
        return []
    found = [
        RankDifference(
            row_a["rank"],
            row_a["host"],
            row_b["host"],
            row_a["finish"],
            row_b["finish"],
            *(row_b[name] - row_a[name] for name in _TIMES),
        )
        for row_a, row_b in zip(rows_a, rows_b, strict=True)
        if row_a["finish"] != row_b["finish"] or row_a["host"] != row_b["host"]
    ]
    return sorted(found, key=lambda one: (-abs(one.finish), one.rank))


def _details(a: ResultDict, b: ResultDict) -> list[Difference]:
    return _differences(dict(_numbers(a)), dict(_numbers(b)))


def _differences(
    numbers_a: Mapping[str, float], numbers_b: Mapping[str, float]
) -> list[Difference]:
    """Numbers that differ, the greatest difference first."""
    found = [
        Difference(name, numbers_a.get(name), numbers_b.get(name))
        for name in dict.fromkeys((*numbers_a, *numbers_b))
    ]
    return sorted((one for one in found if one.differs), key=lambda one: -abs(one.change))


def _numbers(result: ResultDict) -> Iterator[tuple[str, float]]:
    """The numbers of a result that have no place of their own, by their paths."""
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
    """The identity of a row of a list: its texts and its rank, or else its place."""
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
