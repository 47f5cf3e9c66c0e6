"""The table that a sweep makes: its columns, its rows, and the pandas frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tisim.studies.sweep.scenario import OUTCOMES, Cell, Outcome, Row, Scenario

if TYPE_CHECKING:
    import pandas as pd

    from tisim.studies.sweep.plan import Plan

_WHOLE = ("ranks", "actions", "bytes_sent", "messages_sent", "replicate")
_TEXTS = ("error", "warnings", "key", "baseline")


class Table:
    """The rows of a sweep, done and not yet done.

    Parameters
    ----------
    plan
        The scenarios.

    Attributes
    ----------
    columns
        Names of the columns.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._outcomes: dict[str, Outcome] = {}
        self._scenarios: dict[str, list[Scenario]] = {}
        for scenario in plan.scenarios:
            self._scenarios.setdefault(scenario.key, []).append(scenario)
        self._baselines: dict[str, float | None] = {}
        self.columns = (
            "scenario",
            *plan.axes,
            *(("replicate",) if plan.replicates > 1 else ()),
            "simulated_time",
            "ratio",
            *OUTCOMES[1:],
            "baseline_time",
            "key",
            "baseline",
        )

    @property
    def missing(self) -> list[str]:
        """Keys of what is left to do, the baselines first."""
        left = [key for key in self._scenarios if key not in self._outcomes]
        unknown = [key for key in self._plan.baselines if key not in self._baselines]
        fine: Outcome = {"error": None}
        needed = {
            scenario.baseline
            for scenario in self._plan.scenarios
            if self._outcomes.get(scenario.key, fine)["error"] is None
        }
        return list(dict.fromkeys([*(key for key in unknown if key in needed), *left]))

    def take(self, rows: Iterable[Mapping[str, object]]) -> int:
        """Take what an earlier sweep did; return how many rows are of no use here."""
        useless = 0
        for row in rows:
            key = str(row["key"])
            outcome = {name: _read(name, row.get(name)) for name in OUTCOMES}
            if key in self._scenarios and _is_final(outcome):
                self._outcomes[key] = outcome
                reference, value = row.get("baseline"), _read("baseline_time", row["baseline_time"])
                if reference in self._plan.baselines and isinstance(value, int | float):
                    self._baselines[str(reference)] = value
            useless += key not in self._scenarios
        self._note_baselines()
        return useless

    def add(self, key: str, outcome: Outcome) -> list[Row]:
        """Take an outcome; return the rows that are done with it."""
        if key in self._plan.baselines:
            self._baselines[key] = _time(outcome)
        if key not in self._scenarios:
            return []
        self._outcomes[key] = {name: outcome.get(name) for name in OUTCOMES}
        return [self._row(scenario) for scenario in self._scenarios[key]]

    def rows(self) -> list[Row]:
        """The rows that are done, in the order of the scenarios."""
        return [self._row(s) for s in self._plan.scenarios if s.key in self._outcomes]

    def frame(self) -> pd.DataFrame:
        """The rows that are done, as a frame."""
        return make_frame(self.columns, self.rows())

    def _note_baselines(self) -> None:
        for key in self._plan.baselines:
            if key in self._outcomes:
                self._baselines[key] = _time(self._outcomes[key])

    def _row(self, scenario: Scenario) -> Row:
        outcome = self._outcomes[scenario.key]
        reference = self._baselines.get(scenario.baseline)
        time = _time(outcome)
        return {
            "scenario": scenario.title,
            **scenario.parameters,
            "replicate": scenario.replicate,
            **outcome,
            "ratio": time / reference if time is not None and reference else None,
            "baseline_time": reference,
            "key": scenario.key,
            "baseline": scenario.baseline,
        }


def _time(outcome: Outcome) -> float | None:
    """The simulated seconds of an outcome; None if it failed."""
    time = outcome.get("simulated_time")
    return time if isinstance(time, int | float) else None


def make_frame(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """A frame with these columns; what is not known is missing (NaN, NA or None)."""
    import pandas as pd

    frame = pd.DataFrame({name: _column(name, [row.get(name) for row in rows]) for name in columns})
    return frame


def _column(name: str, values: list[object]) -> object:
    import pandas as pd

    if name in _WHOLE:
        known = None not in values
        return pd.array(values, dtype="int64" if known else "Int64")
    if name in _TEXTS:
        return pd.Series(values, dtype=object)
    if name in ("ratio", "baseline_time", *OUTCOMES):
        return pd.Series(values, dtype="float64")
    return values


def _read(name: str, value: object) -> Cell:
    """A value of a file, whose columns may all be texts."""
    if value is None or value == "" or value != value:
        return None
    if name in _TEXTS:
        return str(value)
    number = float(str(value))
    return int(number) if name in _WHOLE and math.isfinite(number) else number


def _is_final(outcome: Outcome) -> bool:
    """Whether doing it again would give the same: all but what a machine's troubles ended."""
    error = outcome["error"]
    return error is None or str(error).partition(":")[0] in ("InputError", "SimulationError")
