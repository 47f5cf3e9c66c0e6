"""The columns of a table of calls, and the rows by rank."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from tisim.errors import InputError

#: The quantities that a table may have, and the names of columns that are taken for them.
QUANTITIES: dict[str, tuple[str, ...]] = {
    "rank": ("rank", "process", "proc"),
    "call": ("call", "name", "function", "action", "operation"),
    "start": ("start", "begin", "enter", "start_time"),
    "end": ("end", "finish", "leave", "end_time"),
    "peer": ("peer", "partner", "destination", "source", "dst", "src"),
    "bytes": ("bytes", "size", "nbytes", "length"),
    "tag": ("tag",),
    "root": ("root",),
    "communicator": ("communicator", "comm"),
    "communicator_rank": ("communicator_rank", "comm_rank"),
    "request": ("request", "requests"),
    "volume": ("volume", "flops", "instructions"),
    "receive_peer": ("receive_peer", "source_peer"),
    "receive_bytes": ("receive_bytes",),
    "receive_tag": ("receive_tag",),
}
_NEEDED = ("rank", "call")
PARQUET = b"PAR1"
#: The cells of a row, by quantity, as text; cells that are empty are left out.
Row = dict[str, str]


def read_rows(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table with their numbers, from 1 without the header.

    Parameters
    ----------
    file
        CSV (separated by commas, semicolons or tabs, with a header) or Parquet.
    columns
        The column of a quantity, where it has another name than the usual ones.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    with file.open("rb") as stream:
        is_parquet = stream.read(len(PARQUET)) == PARQUET
    yield from _parquet(file, columns) if is_parquet else _csv(file, columns)


def has_columns(header: str) -> bool:
    """Whether a first line names the columns that are needed."""
    names = {name.strip().strip('"').lower() for name in _split(header)}
    return all(names & {*QUANTITIES[quantity]} for quantity in _NEEDED)


def _split(header: str) -> list[str]:
    return header.strip().split(_separator(header))


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _chosen(names: list[str], columns: Mapping[str, str], file: Path) -> dict[str, str]:
    """The column of each quantity that the table has."""
    for quantity, column in columns.items():
        if quantity not in QUANTITIES:
            raise InputError(
                f"there is no quantity {quantity!r}; a table has {', '.join(QUANTITIES)}"
            )
        if column not in names:
            raise InputError(f"has no column {column!r}; it has {_listed(names)}", file=file)
    lower = {name.lower(): name for name in reversed(names)}
    chosen = dict(columns)
    for quantity, usual in QUANTITIES.items():
        if quantity not in chosen:
            found = next((lower[name] for name in usual if name in lower), None)
            if found is not None:
                chosen[quantity] = found
    for quantity in _NEEDED:
        if quantity not in chosen:
            raise InputError(
                f"has no column for the {quantity}: say which it is by --column "
                f"{quantity}=COLUMN; it has {_listed(names)}",
                file=file,
            )
    return chosen


def _listed(names: list[str]) -> str:
    return _printable(", ".join(names))


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _csv(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
            stream.seek(0)
            reader = csv.DictReader(stream, delimiter=_separator(header))
            names = [name for name in reader.fieldnames or [] if name]
            chosen = _chosen(names, columns, file)
            for number, cells in enumerate(reader, 1):
                texts = {quantity: cells[name] or "" for quantity, name in chosen.items()}
                yield number, {q: text.strip() for q, text in texts.items() if text.strip()}
    except UnicodeDecodeError:
        raise InputError("is no table: it is not text", file=file) from None
    except csv.Error as error:
        raise InputError(f"is no table: {error}", file=file) from None


def _parquet(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise InputError(
            'Parquet is read by pyarrow, which is not installed: pip install "tisim[parquet]"',
            file=file,
        ) from None
    try:
        with pq.ParquetFile(file) as table:
            chosen = _chosen(list(table.schema_arrow.names), columns, file)
            number = 0
            for batch in table.iter_batches(columns=sorted({*chosen.values()})):
                for cells in batch.to_pylist():
                    number += 1
                    row = {q: cells[name] for q, name in chosen.items()}
                    yield number, {q: str(value) for q, value in row.items() if value is not None}
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        # The library's messages have several lines, and bytes of the file.
        why = _printable(" ".join(str(error).split()))
        raise InputError(f"cannot be read as Parquet: {why}", file=file) from None
