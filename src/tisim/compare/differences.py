"""Finds what differs between two results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tisim.compare.breakdowns import breakdown_of, kind_times, state_times, wait_times
from tisim.compare.comparison import Comparison, Difference, RankDifference
from tisim.compare.reasons import find_reasons
from tisim.result import COLUMNS

# Keys of a result that are compared one by one; all others are compared as plain numbers.
_KNOWN = {"tisim", "simulated_time", "actions", "wall_time", "config", "ranks", "warnings"}
_TIMES = ("compute", "communication", "other")


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> Comparison:
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

    def by(times: Callable[[Mapping[str, Any]], dict[str, float]]) -> tuple[Difference, ...]:
        return tuple(_differences(times(a), times(b)) if has_a and has_b else ())

    rows_a, rows_b = a["ranks"], b["ranks"]
    comparison = Comparison(
        Difference("simulated_time", _end(rows_a), _end(rows_b)),
        tuple(_inputs(a, b)),
        tuple(
            Difference(name, _mean(rows_a, name), _mean(rows_b, name))
            for name in (*_TIMES, "finish")
        ),
        tuple(_counts(rows_a, rows_b)),
        tuple(_ranks(rows_a, rows_b)),
        tuple(_details(a, b)),
        kinds=by(kind_times),
        states=by(state_times),
        causes=by(wait_times),
        without_breakdown="" if has_a == has_b else "b" if has_a else "a",
    )
    return dataclasses.replace(comparison, reasons=find_reasons(comparison))


def _end(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(max(row["finish"] for row in rows))


def _time(row: Mapping[str, Any], name: str) -> float:
    if name == "other" and name not in row:  # an older version wrote the row
        return float(row["finish"] - row["compute"] - row["communication"])
    return float(row[name])


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return math.fsum(_time(row, name) for row in rows) / len(rows)


def _inputs(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, object, object]]:
    """What went into the two: their texts (such as names of files), and their options."""
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


def _counts(
    rows_a: Sequence[Mapping[str, Any]], rows_b: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    yield Difference("ranks", len(rows_a), len(rows_b))
    for name in ("actions", "bytes_sent", "messages_sent"):
        totals = [sum(row.get(name, 0) for row in rows) for rows in (rows_a, rows_b)]
        yield Difference(name, *totals)


def _ranks(
    rows_a: Sequence[Mapping[str, Any]], rows_b: Sequence[Mapping[str, Any]]
) -> list[RankDifference]:
    if len(rows_a) != len(rows_b):
        return []
    found = [
        RankDifference(
            row_a["rank"],
            row_a["host"],
            row_b["host"],
            row_a["finish"],
            row_b["finish"],
            *(_time(row_b, name) - _time(row_a, name) for name in _TIMES),
        )
        for row_a, row_b in zip(rows_a, rows_b, strict=True)
        if row_a["finish"] != row_b["finish"] or row_a["host"] != row_b["host"]
    ]
    return sorted(found, key=lambda one: (-abs(one.finish), one.rank))


def _details(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    return _differences(dict(_numbers(a)), dict(_numbers(b)))


def _differences(
    numbers_a: Mapping[str, float], numbers_b: Mapping[str, float]
) -> list[Difference]:
    """What differs, the greatest difference first."""
    found = [
        Difference(name, numbers_a.get(name), numbers_b.get(name))
        for name in dict.fromkeys((*numbers_a, *numbers_b))
    ]
    return sorted((one for one in found if one.differs), key=lambda one: -abs(one.change))


def _numbers(result: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
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
    """What identifies a row of a list: its texts and its rank, or else its place."""
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
