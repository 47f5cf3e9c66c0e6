"""The file that a sweep writes its rows to, one by one, and that a later sweep resumes from."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.studies.sweep.scenario import Row
from tisim.support.files import replacing

# A file that is written whole each time: not more often than this (in seconds), and so that
# writing takes a small part of the time.
_LEAST_SECONDS_BETWEEN_WRITES = 0.5
_PAUSE_PER_WRITE = 20.0


def open_store(path: str | os.PathLike[str]) -> Store:
    """The file of a sweep, by its suffix.

    Raises
    ------
    InputError
        If the suffix is neither ``.csv`` nor ``.parquet``, or Parquet needs another package.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".csv":
        return CsvStore(target)
    if suffix != ".parquet":
        raise InputError(
            "the rows of a sweep go to a .csv or a .parquet file; name one of these", file=path
        )
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(
            "Parquet needs one more package: pip install 'tisim[parquet]', or name a .csv file",
            file=path,
        ) from None
    return ParquetStore(target)


class Store(ABC):
    """A file of rows that is complete at any time: a killed sweep leaves the rows it has done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """Its name."""
        return self._path

    def load(self) -> list[Row]:
        """The rows that are there, if any.

        Raises
        ------
        InputError
            If the file is something else; it must not be overwritten.
        """
        if not self._path.exists() or self._path.stat().st_size == 0:
            return []
        try:
            columns, rows = self._read()
        except (OSError, ValueError, csv.Error) as error:
            raise InputError(
                f"is there already and cannot be read ({error}); name another file, or remove it",
                file=self._path,
            ) from None
        lacking = [name for name in ("key", "baseline", "baseline_time") if name not in columns]
        if lacking:
            raise InputError(
                f"is there already and not from a sweep (it has no column {lacking[0]!r}); name "
                "another file, or remove it",
                file=self._path,
            )
        return rows

    def keep_copy(self) -> Path:
        """Copy the file to one beside it, before rows are dropped; return its name."""
        copy = self._path.with_name(self._path.name + ".bak")
        shutil.copy2(self._path, copy)
        return copy

    def begin(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Start with these rows in the place of those that are there.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        self._columns = columns
        self.finish(rows)

    def finish(self, rows: Sequence[Row]) -> None:
        """Replace what is in the file, whole or not at all, and wait until the disk has it."""
        with replacing(self._path, durable=True) as temporary:
            self._write(temporary, rows)

    @abstractmethod
    def add(self, row: Row) -> None:
        """Add one row."""

    @abstractmethod
    def _read(self) -> tuple[Sequence[str], list[Row]]: ...

    @abstractmethod
    def _write(self, path: Path, rows: Sequence[Row]) -> None: ...

    def _cannot_write(self, error: OSError) -> InputError:
        return InputError(f"cannot be written: {error.strerror or error}", file=self._path)


class CsvStore(Store):
    """Comma-separated values, with numbers in full precision; a row is a line."""

    def add(self, row: Row) -> None:
        line = self._line([_text(row.get(column)) for column in self._columns])
        try:
            # One write of a whole line: whenever the sweep is killed, the line is there or not.
            with self._path.open("ab", buffering=0) as file:
                file.write(line)
        except OSError as error:
            raise self._cannot_write(error) from None

    def _read(self) -> tuple[Sequence[str], list[Row]]:
        text = self._path.read_text(encoding="utf-8")
        # Without its end, the last line is what a crash of the machine left of it.
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
    """Parquet, which has no use for a part of a file: it is written anew every now and then."""

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
            self._next = end + max(_LEAST_SECONDS_BETWEEN_WRITES, _PAUSE_PER_WRITE * (end - start))

    def _read(self) -> tuple[Sequence[str], list[Row]]:
        import pandas as pd

        frame = pd.read_parquet(self._path, engine="pyarrow")
        rows = frame.to_dict("records")
        return list(frame.columns), [{str(k): v for k, v in row.items()} for row in rows]

    def _write(self, path: Path, rows: Sequence[Row]) -> None:
        from tisim.studies.sweep.table import make_frame

        frame = make_frame(self._columns, rows)
        for column in frame.columns:
            if _is_mixed(frame[column]):
                frame[column] = frame[column].map(_text)
        frame.to_parquet(path, engine="pyarrow", index=False)


def _is_mixed(values: Iterable[object]) -> bool:
    """Whether a column has numbers and texts, for which Parquet has no type."""
    kinds = {isinstance(value, str) for value in values if not _is_missing(value)}
    return len(kinds) > 1


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: object) -> str:
    return "" if _is_missing(value) else str(value)
