"""The output file of a sweep, written row by row, from which a later sweep resumes."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.studies.sweep.scenario import OUTCOMES, Cell, Outcome, Row, Scenario
from tisim.support.files import replacing

if TYPE_CHECKING:
    import pandas as pd

    from tisim.studies.sweep.plan import Plan

# A file that is rewritten completely each time: minimum seconds between writes, and a multiple of
# the duration of a write, so that writing takes a small fraction of the time.
_MIN_SECONDS_BETWEEN_WRITES = 0.5
_PAUSE_PER_WRITE = 20.0


def open_store(path: str | os.PathLike[str]) -> Store:
    """Return the file of a sweep, depending on its suffix.

    Raises `InputError` if the suffix is neither ``.csv`` nor ``.parquet``, or Parquet needs another
    package.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".csv":
        return CsvStore(target)
    if suffix != ".parquet":
        raise InputError("the output of a sweep must be a .csv or .parquet file", file=path)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "Parquet needs one more package: pip install 'tisim[parquet]', or use a .csv file",
            file=path,
        ) from None
    return ParquetStore(target)


class Store(ABC):
    """A file of rows that is valid at any time: a killed sweep leaves its finished rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._path

    def load(self) -> list[Row]:
        """Return the existing rows, if any.

        Raises `InputError` if the file is not of a sweep; it must not be overwritten.
        """
        if not self._path.exists() or self._path.stat().st_size == 0:
            return []
        try:
            columns, rows = self._read()
        except (OSError, ValueError, csv.Error) as error:
            raise InputError(
                f"already exists and cannot be read ({error}); use another file, or remove it",
                file=self._path,
            ) from None
        lacking = [name for name in ("key", "baseline", "baseline_time") if name not in columns]
        if lacking:
            raise InputError(
                f"already exists and is not from a sweep (it has no column {lacking[0]!r}); use "
                "another file, or remove it",
                file=self._path,
            )
        return rows

    def keep_copy(self) -> Path:
        """Copy the file to a backup before rows are dropped; return its path."""
        copy = self._path.with_name(self._path.name + ".bak")
        shutil.copy2(self._path, copy)
        return copy

    def begin(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Start with these rows, replacing existing ones.

        Raises `InputError` if the file cannot be written.
        """
        self._columns = columns
        self.finish(rows)

    def finish(self, rows: Sequence[Row]) -> None:
        """Replace the content of the file atomically and durably."""
        with replacing(self._path, durable=True) as temporary:
            self._write(temporary, rows)

    @abstractmethod
    def add(self, row: Row) -> None:
        """Add one row."""

    @abstractmethod
    def _read(self) -> tuple[Sequence[str], list[Row]]: ...

    @abstractmethod
    def _write(self, path: Path, rows: Sequence[Row]) -> None: ...


class CsvStore(Store):
    """Comma-separated values, with numbers in full precision; a row is a line."""

    def add(self, row: Row) -> None:
        line = self._line([_text(row.get(column)) for column in self._columns])
        try:
            # A whole line in one write: if the sweep is killed, the line is either present or not.
            with self._path.open("ab", buffering=0) as file:
                file.write(line)
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise InputError(message, file=self._path) from None

    def _read(self) -> tuple[Sequence[str], list[Row]]:
        text = self._path.read_text(encoding="utf-8")
        # An unterminated last line is the remainder of a crash of the machine.
        whole = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(whole))
        return reader.fieldnames or (), list(reader)

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        lines = [self._line(self._columns)]
        lines += [self._line([_text(row.get(c)) for c in self._columns]) for row in rows]
        path.write_bytes(b"".join(lines))

    @staticmethod
    def _line(values: Sequence[str]) -> bytes:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow(values)
        return buffer.getvalue().encode()


class ParquetStore(Store):
    """Parquet, of which partial files are useless: it is rewritten from time to time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rows: list[Row] = []
        self._next = 0.0

    def begin(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        super().begin(columns, rows)
        self._rows = list(rows)

    def add(self, row: Row) -> None:
        self._rows.append(row)
        start = time.monotonic()
        if start >= self._next:
            self.finish(self._rows)
            end = time.monotonic()
            self._next = end + max(_MIN_SECONDS_BETWEEN_WRITES, _PAUSE_PER_WRITE * (end - start))

    def _read(self) -> tuple[Sequence[str], list[Row]]:
        import pandas as pd

        frame = pd.read_parquet(self._path, engine="pyarrow")
        rows = frame.to_dict("records")
        return list(frame.columns), [{str(k): v for k, v in row.items()} for row in rows]

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        frame = make_frame(self._columns, rows)
        for column in frame.columns:
            # Parquet has no type for a column of both numbers and texts.
            known = (value for value in frame[column] if not _is_missing(value))
            if len({isinstance(value, str) for value in known}) > 1:
                frame[column] = frame[column].map(_text)
        frame.to_parquet(path, engine="pyarrow", index=False)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: object) -> str:
    return "" if _is_missing(value) else str(value)


_WHOLE = ("ranks", "actions", "bytes_sent", "messages_sent", "replicate")
_TEXTS = ("error", "warnings", "key", "baseline")


class Table:
    """Finished and missing rows of a sweep."""

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
        """Keys of the missing scenarios, the baselines first."""
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
        """Take the rows of an earlier sweep; return the number of rows of no use here."""
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
        for key in self._plan.baselines:
            if key in self._outcomes:
                self._baselines[key] = _time(self._outcomes[key])
        return useless

    def add(self, key: str, outcome: Outcome) -> list[Row]:
        """Add an outcome; return the rows that it completes."""
        if key in self._plan.baselines:
            self._baselines[key] = _time(outcome)
        if key not in self._scenarios:
            return []
        self._outcomes[key] = {name: outcome.get(name) for name in OUTCOMES}
        return [self._row(scenario) for scenario in self._scenarios[key]]

    def rows(self) -> list[Row]:
        """Return the finished rows, in the order of the scenarios."""
        return [self._row(s) for s in self._plan.scenarios if s.key in self._outcomes]

    def frame(self) -> pd.DataFrame:
        """Return the finished rows as a frame."""
        return make_frame(self.columns, self.rows())

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
    """Return the simulated seconds of an outcome; None if it failed."""
    time = outcome.get("simulated_time")
    return time if isinstance(time, int | float) else None


def make_frame(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return a frame with these columns; unknown values are missing (NaN, NA or None)."""
    import pandas as pd

    return pd.DataFrame({name: _column(name, [row.get(name) for row in rows]) for name in columns})


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
    """Convert a value from a file, whose columns may all be texts."""
    if value is None or value == "" or value != value:
        return None
    if name in _TEXTS:
        return str(value)
    number = float(str(value))
    return int(number) if name in _WHOLE and math.isfinite(number) else number


def _is_final(outcome: Outcome) -> bool:
    """Return whether a repetition would give the same result: all but failures of a machine."""
    error = outcome["error"]
    return error is None or str(error).partition(":")[0] in ("InputError", "SimulationError")
