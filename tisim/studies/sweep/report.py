"""Reports on sweeps: curves, heat maps, effects of axes, and costs."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from tisim.analysis.report.charts import Bar, Curve, curves, diverging_bars, front, heat_map
from tisim.analysis.report.page import figure, figures, listed_text, numbers, static_page, table
from tisim.analysis.report.report import check_report
from tisim.errors import InputError
from tisim.platform.mapping import is_rule
from tisim.platform.scaling import SCALED, factor_of
from tisim.studies.sweep.axes import Axis
from tisim.studies.sweep.prices import Offer, Prices, pareto_front
from tisim.support.files import write_file
from tisim.support.quantities import format_result_time, format_time

if TYPE_CHECKING:
    import pandas as pd

# Minimum number of scenarios per axis for a fit to a random sample.
_FITTED = 8
# Minimum fraction of scenarios that differ in one axis only for the effect of that axis.
_MATCHED = 0.5


class Run(NamedTuple):
    """A scenario: texts of its values by axis (missing: those of the baseline), and its seconds."""

    values: Mapping[str, str]
    time: float


class Effect(NamedTuple):
    """Effect of an axis on the time."""

    axis: str  # its name
    # low, high: minimum and maximum time over its values, relative to their geometric mean, minus
    # 1: -0.2 is a fifth shorter
    low: float
    high: float
    # low_value, high_value: the values with these times
    low_value: str
    high_value: str
    # True if it is fitted to a random sample, as opposed to scenarios that differ in this axis
    # only.
    fitted: bool = False


def effects(axes: Sequence[str], runs: Sequence[Run]) -> list[Effect]:
    """Return the effect of each varied axis, the greatest first.

    Scenarios with equal values of all other axes are compared, and the geometric mean is taken over
    all such sets with the same values of the axis. If these are few of the scenarios, as in a
    random sample of ranges, the logarithm of the time is fitted by a linear function of all numeric
    axes, given enough scenarios.
    """
    matched = {axis: _matched(axis, axes, runs) for axis in axes}
    few = [axis for axis, (covered, _) in matched.items() if covered < _MATCHED * len(runs)]
    fitted = {effect.axis: effect for effect in _fitted(few, axes, runs)}
    effects = [fitted.get(axis, effect) for axis, (_, effect) in matched.items()]
    known = [effect for effect in effects if effect is not None]
    return sorted(known, key=lambda effect: effect.low - effect.high)


def _matched(axis: str, axes: Sequence[str], runs: Sequence[Run]) -> tuple[int, Effect | None]:
    """Return the effect from scenarios that differ in this axis only, and their number."""
    contexts: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for run in runs:
        others = tuple(run.values.get(other, "") for other in axes if other != axis)
        value = run.values.get(axis, "baseline")
        contexts.setdefault(others, {}).setdefault(value, []).append(math.log(run.time))
    # Only sets with the most frequent values: other sets would bias the means.
    seen: dict[frozenset[str], list[dict[str, float]]] = {}
    for by_value in contexts.values():
        if len(by_value) > 1:
            means = {value: sum(logs) / len(logs) for value, logs in by_value.items()}
            seen.setdefault(frozenset(means), []).append(means)
    if not seen:
        return 0, None
    _, sets = max(seen.items(), key=lambda entry: (len(entry[1]) * len(entry[0]), sorted(entry[0])))
    mean = {value: sum(weights[value] for weights in sets) / len(sets) for value in sets[0]}
    middle = sum(mean.values()) / len(mean)
    low, high = min(mean, key=lambda value: mean[value]), max(mean, key=lambda value: mean[value])
    ends = math.expm1(mean[low] - middle), math.expm1(mean[high] - middle)
    return len(sets) * len(mean), Effect(axis, *ends, low, high)


def _fitted(left: Sequence[str], axes: Sequence[str], runs: Sequence[Run]) -> list[Effect]:
    import numpy as np

    columns: dict[str, list[float]] = {}
    for axis in axes:
        numbers = [_number(run.values.get(axis, "")) for run in runs]
        if len(set(numbers)) > 1 and all(math.isfinite(number) for number in numbers):
            columns[axis] = numbers
    wanted = [axis for axis in left if axis in columns]
    if not wanted or len(runs) < max(_FITTED, 2 * len(columns)):
        return []
    matrix = np.array([columns[axis] for axis in columns]).T
    # Factors have multiplicative effects: the logarithm of positive numbers is fitted.
    logarithmic = (matrix > 0).all(axis=0)
    matrix = np.where(logarithmic, np.log(np.where(matrix > 0, matrix, 1.0)), matrix)
    centred = matrix - matrix.mean(axis=0)
    logs = np.log([run.time for run in runs])
    slopes = np.linalg.lstsq(centred, logs - logs.mean(), rcond=None)[0]
    effects = []
    for place, axis in enumerate(columns):
        if axis in wanted:
            ends = slopes[place] * np.array([centred[:, place].min(), centred[:, place].max()])
            sign = "x" if factor_of(runs[0].values.get(axis, "")) is not None else ""
            ends_of = min(columns[axis]), max(columns[axis])
            texts = [f"{sign}{end:.4g}" for end in ends_of]
            low, high = sorted(zip(ends.tolist(), texts, strict=True))
            effects.append(
                Effect(axis, math.expm1(low[0]), math.expm1(high[0]), low[1], high[1], True)
            )
    return effects


def _number(text: str) -> float:
    """Return a number or a factor; nan for any other value."""
    try:
        factor = factor_of(text)
        return float(text) if factor is None else factor
    except ValueError:
        return math.nan


# Relative effects below this are small.
_SMALL = 0.01


def _option(axis: str, value: str) -> str | None:
    """Return the option of ``tisim replay`` for a value of an axis; None if there is none."""
    try:
        kind = Axis.parse(axis)
    except InputError:  # a column that is not from a sweep
        return None
    if kind.kind == "config":
        return f"--config {kind.target}={value}"
    named = kind.kind in SCALED or (kind.kind == "mapping" and is_rule(value))
    return f"--{kind.kind} {value}" if named and kind.target == "*" else None


# Maximum number of heat maps, of values per axis of a heat map, and of curves in a chart.
_PAIRS, _VALUES, _CURVES = 6, 24, 60
_ROWS = 2000
_TIME = "simulated time"


def write_sweep_report(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    prices: Prices | None = None,
    title: str = "A sweep",
    trust: str = "",
) -> None:
    """Write a self-contained page on a sweep: effects, curves, heat maps, all scenarios.

    Parameters
    ----------
    frame
        The result of `tisim.sweep`.
    path
        File with the suffix ``.html``.
    prices
        Prices of values: adds the scenarios that none beats in cost and time to the page.
    title
        Title of the page.
    trust
        A sentence on how far to trust the times (`Result.trust`).

    Raises
    ------
    InputError
        If the suffix differs, the file cannot be written, no scenario succeeded, or the prices do
        not match the sweep.
    """
    check_report(path)
    write_file(path, static_page(title, _Page(frame, prices, trust).sections()))


class _Page:
    def __init__(self, frame: pd.DataFrame, prices: Prices | None, trust: str) -> None:
        columns = list(frame.columns)
        self._axes = [
            name for name in columns[1 : columns.index("simulated_time")] if name != "replicate"
        ]
        self._frame = frame
        self._prices = prices
        self._trust = trust
        done = frame[frame["error"].isna()]
        if not len(done):
            raise InputError("no scenario of the sweep succeeded; there is nothing to draw")
        if prices is not None:
            prices.check(self._axes)
        self._rows = done.to_dict("records")
        self._runs = [Run(self._values(row), float(row["simulated_time"])) for row in self._rows]
        #: Values of each varied axis, in order.
        self._varied = {
            axis: values for axis in self._axes if len(values := self._values_of(axis)) > 1
        }

    def _values(self, row: dict[object, object]) -> dict[str, str]:
        """Return the values that a row sets, as texts."""
        values = {}
        for axis in self._axes:
            value = row[axis]
            if value is not None and value == value:
                values[axis] = _shown(value)
        return values

    def _values_of(self, axis: str) -> list[str]:
        texts = list(dict.fromkeys(run.values[axis] for run in self._runs if axis in run.values))
        return sorted(texts, key=_number) if _numeric(texts) else texts

    def _label(self, axis: str) -> str:
        """Return the name of an axis with the meaning of its numbers."""
        are_factors = all(factor_of(value) is not None for value in self._varied[axis])
        return f"{axis}, times" if are_factors else axis

    def sections(self) -> list[tuple[str, str]]:
        found = effects([*self._varied] or self._axes, [*self._runs, *self._baseline()])
        parts = [
            ("Summary", self._summary(found)),
            ("What to do next", listed_text(self._next(found))),
        ]
        if found:
            parts.append(("What matters most", self._tornado(found)))
        if self._prices is not None:
            parts.append(("Time against cost", self._pareto(self._prices)))
        if self._varied:
            charts = [self._curves(axis) for axis in self._varied]
            parts.append(("Time over each axis", figures(charts)))
        maps = [self._heat_map(*pair) for pair in itertools.combinations(self._varied, 2)]
        shown = [heatmap for heatmap in maps if heatmap][:_PAIRS]
        if shown:
            parts.append(("Time over two axes", figures(shown)))
        return [*parts, ("All scenarios", self._table())]

    def _baseline(self) -> list[Run]:
        """Return the baseline as a scenario without values, for points that set one axis each."""
        known = [row["baseline_time"] for row in self._rows if row["baseline_time"]]
        listed = any(not run.values for run in self._runs)
        if listed or not known or known[0] != known[0]:
            return []
        return [Run({}, float(str(known[0])))]

    def _summary(self, found: Sequence[Effect]) -> str:
        order = sorted(self._rows, key=lambda row: float(str(row["simulated_time"])))
        best, worst = order[0], order[-1]
        facts = [
            ("scenarios", f"{len(self._rows):,}"),
            ("fastest", format_time(float(str(best["simulated_time"])))),
            ("slowest", format_time(float(str(worst["simulated_time"])))),
        ]
        sentences = [
            f"The fastest scenario is {best['scenario']}, the slowest {worst['scenario']}."
        ]
        if best["ratio"] == best["ratio"] and best["ratio"] is not None:
            sentences.append(
                f"The fastest takes {float(str(best['ratio'])):.4g} times as long as the baseline "
                f"({format_time(float(str(best['baseline_time'])))})."
            )
        if found:
            top = found[0]
            factor = (1 + top.high) / (1 + top.low)
            sentences.append(
                f"{top.axis} matters most: from {top.low_value} to {top.high_value} the time grows "
                f"by a factor of {factor:.3g}."
            )
        failures = int(self._frame["error"].notna().sum())
        if failures:
            sentences.append(f"{failures} scenarios failed; see the table for the reasons.")
        if self._trust:
            sentences.append(f"How far to trust the times: {self._trust}.")
        sentences += [text for text in self._frame["warnings"].dropna().unique() if text]
        return numbers(facts) + listed_text(sentences)

    def _next(self, found: Sequence[Effect]) -> list[str]:
        """Return suggestions derived from these scenarios."""
        advice = []
        failures = self._frame[self._frame["error"].notna()]
        if len(failures):
            first = failures.iloc[0]
            advice.append(f"Fix the failures first: {first['scenario']}: {first['error']}.")
        for effect in found:
            if effect.low_value in self._open_ends(effect):
                advice.append(
                    f"Try values of {effect.axis} beyond {effect.low_value}: the time still "
                    "decreases there."
                )
        small = [effect.axis for effect in found if effect.high - effect.low < _SMALL]
        if small and len(small) < len(found):
            which = "it changes" if len(small) == 1 else "each changes"
            advice.append(
                f"Leave out {', '.join(small)}: {which} the time by less than {_SMALL:.0%}."
            )
        best = min(self._rows, key=lambda row: float(str(row["simulated_time"])))
        options = [_option(axis, value) for axis, value in self._values(best).items()]
        if options and None not in options:
            advice.append(
                "See what limits the fastest scenario: tisim replay --platform ... "
                f"{' '.join(filter(None, options))} --report fastest.html TRACE"
            )
        if self._prices is None:
            advice.append(
                "Add the costs of the values ([prices] in the study): the page then shows which "
                "scenarios are worth their price."
            )
        return advice

    def _open_ends(self, effect: Effect) -> tuple[str, ...]:
        """Return the ends of a numeric axis, at which the time may still decrease."""
        values = self._varied.get(effect.axis, [])
        if len(values) < 2 or not _numeric(values) or effect.high - effect.low < _SMALL:
            return ()
        return values[0], values[-1]

    def _tornado(self, found: Sequence[Effect]) -> str:
        bars = [
            Bar(
                effect.axis,
                100 * effect.low,
                100 * effect.high,
                effect.low_value,
                effect.high_value,
            )
            for effect in found
        ]
        chart = diverging_bars(
            bars, label="change of the simulated time, %", show=lambda value: f"{value:+.3g} %"
        )
        caption = (
            "For each axis the values with the shortest and the longest time, relative to the "
            "geometric mean over its values, everything else being equal."
        )
        if any(effect.fitted for effect in found):
            names = ", ".join(effect.axis for effect in found if effect.fitted)
            caption += (
                f" Of {names}, which were drawn at random, it comes from a linear fit of the "
                "logarithm of the time."
            )
        return figures([figure(chart, caption)])

    def _curves(self, axis: str) -> str:
        values = self._varied[axis]
        numeric = _numeric(values)
        others: dict[str, dict[str, list[float]]] = {}
        for run in self._runs:
            if axis in run.values:
                rest = ", ".join(
                    f"{name} = {value}"
                    for name, value in run.values.items()
                    if name != axis and name in self._varied
                )
                others.setdefault(rest, {}).setdefault(run.values[axis], []).append(run.time)
        drawn = []
        scattered = len(others) > _CURVES or all(len(times) == 1 for times in others.values())
        for name, times in others.items():
            points = [
                (
                    _number(value) if numeric else float(place),
                    sum(found) / len(found),
                    min(found),
                    max(found),
                )
                for place, value in enumerate(values)
                if (found := times.get(value))
            ]
            drawn.append(Curve(name, points, joined=numeric and not scattered))
        if scattered:
            together = [point for curve in drawn for point in curve.points]
            drawn = [Curve("", together, joined=False)]
        chart = curves(
            drawn,
            x_label=self._label(axis),
            y_label=_TIME,
            show_y=format_time,
            x_names=None if numeric else values,
        )
        caption = f"Simulated time over {axis}"
        if any(low != high for curve in drawn for _, _, low, high in curve.points):
            caption += ": mean of the replicates; vertical lines from minimum to maximum"
        if scattered and len(self._varied) > 1:
            caption += ", in all scenarios"
        elif len(drawn) > 8:
            what = "curve" if numeric else "point"
            caption += f"; a {what} for each of {len(drawn)} combinations of the other axes"
        return figure(chart, caption + ".")

    def _heat_map(self, first: str, second: str) -> str:
        rows, columns = self._varied[first], self._varied[second]
        if max(len(rows), len(columns)) > _VALUES:
            return ""
        cells: dict[tuple[str, str], list[float]] = {}
        for run in self._runs:
            if first in run.values and second in run.values:
                key = run.values[first], run.values[second]
                cells.setdefault(key, []).append(run.time)
        if len(cells) < 4:
            return ""
        means = [
            [
                sum(found) / len(found) if (found := cells.get((row, column))) else None
                for column in columns
            ]
            for row in rows
        ]
        chart = heat_map(
            means, rows, columns, row_label=first, column_label=second, show=format_time
        )
        mean = max(map(len, cells.values())) > 1
        rest = ", mean over the other axes and replicates" if mean else ""
        return figure(chart, f"Simulated time{rest}.")

    def _pareto(self, prices: Prices) -> str:
        offers = [
            Offer(prices.cost(row), float(str(row["simulated_time"])), str(row["scenario"]))
            for row in self._rows
        ]
        best = pareto_front(offers)
        chart = front(
            [(offer.cost, offer.time, offer.name) for offer in offers],
            best,
            x_label="cost",
            y_label=_TIME,
            show_y=format_time,
        )
        caption = (
            f"{len(best)} of {len(offers)} scenarios, the large points, are Pareto-optimal: no "
            "other is better in both cost and time."
        )
        rows = [
            (
                escape(offers[place].name),
                f"{offers[place].cost:,.12g}",
                format_time(offers[place].time),
            )
            for place in best
        ]
        listed = table(("scenario", "cost", _TIME), rows)
        return figures([figure(chart, caption), listed])

    def _table(self) -> str:
        head = (
            *self._axes,
            _TIME,
            "ratio to the baseline",
            "compute, mean over ranks",
            "communication, mean over ranks",
        )
        head = ("scenario", *head) if not self._axes else head
        rows = []
        for row in self._frame.head(_ROWS).to_dict("records"):
            values = [escape(_shown(row[axis])) for axis in self._axes] or [str(row["scenario"])]
            if row["error"] is not None:
                rows.append((*values, escape(f"failed: {row['error']}"), "", "", ""))
                continue
            times = [
                format_result_time(float(row[name]))
                for name in ("simulated_time", "compute_mean", "communication_mean")
            ]
            ratio = "" if row["ratio"] != row["ratio"] else f"{row['ratio']:.4f}"
            rows.append((*values, times[0], ratio, *times[1:]))
        more = len(self._frame) - _ROWS
        rest = (
            f'<p class="note">And {more:,} more, in the file of the sweep.</p>' if more > 0 else ""
        )
        return table(head, rows, texts=max(len(self._axes), 1)) + rest


def _shown(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _numeric(texts: Sequence[str]) -> bool:
    return bool(texts) and all(math.isfinite(_number(text)) for text in texts)
