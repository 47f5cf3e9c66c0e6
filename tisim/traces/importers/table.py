"""Tables of calls, as CSV or Parquet: an exchange format for any tool that can print its data."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import RankConverter, SpooledTrace
from tisim.traces.importers.importer import (
    NO_FINALIZE,
    ForeignTrace,
    Importer,
    ImportOptions,
    Notes,
)
from tisim.traces.importers.rank_calls import WORLD, Communicators, Group
from tisim.traces.importers.words import ISENDS, SENDS, uniform_collective

#: The quantities of a table, and the column names recognised for each.
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
#: The cells of a row as text, by quantity, without empty cells.
Row = dict[str, str]


def read_rows(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a table with their numbers, from 1 without the header. CSV has a header,
    and commas, semicolons or tabs as separators. Raises InputError if the file cannot be read or
    lacks a column.
    """
    with file.open("rb") as stream:
        is_parquet = stream.read(len(PARQUET)) == PARQUET
    yield from _parquet(file, columns) if is_parquet else _csv(file, columns)


def has_columns(header: str) -> bool:
    """Return whether a first line contains the required columns."""
    names = {name.strip().strip('"').lower() for name in _split(header)}
    return all(names & {*QUANTITIES[quantity]} for quantity in _NEEDED)


def _split(header: str) -> list[str]:
    return header.strip().split(_separator(header))


def _separator(header: str) -> str:
    return max(",;\t", key=header.count)


def _chosen(names: list[str], columns: Mapping[str, str], file: Path) -> dict[str, str]:
    """Return the column of each quantity in the table."""
    for quantity, column in columns.items():
        if quantity not in QUANTITIES:
            raise InputError(f"unknown quantity {quantity!r}; a table has {', '.join(QUANTITIES)}")
        if column not in names:
            raise InputError(
                f"has no column {column!r}; its columns are {_listed(names)}", file=file
            )
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
                f"has no column for the {quantity}: give it with --column {quantity}=COLUMN; its "
                f"columns are {_listed(names)}",
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
            reader = csv.DictReader(stream, delimiter=_separator(header), strict=True)
            names = [name for name in reader.fieldnames or [] if name]
            chosen = _chosen(names, columns, file)
            for number, cells in enumerate(reader, 1):
                if None in cells:
                    raise InputError(
                        "the row has more cells than the header", file=file, line=reader.line_num
                    )
                texts = {quantity: cells[name] or "" for quantity, name in chosen.items()}
                yield number, {q: text.strip() for q, text in texts.items() if text.strip()}
    except UnicodeDecodeError:
        raise InputError("is not a table: it is not text", file=file) from None
    except csv.Error as error:
        raise InputError(
            f"is not a table: {error}; is a quote unclosed?", file=file, line=reader.line_num
        ) from None


def _parquet(file: Path, columns: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise InputError(
            'Parquet needs pyarrow, which is not installed: pip install "tisim[parquet]"',
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
        # The library's messages contain several lines, and bytes of the file.
        why = _printable(" ".join(str(error).split()))
        raise InputError(f"cannot be read as Parquet: {why}", file=file) from None


_WORLDS = frozenset({"", "0", "WORLD", "MPI_COMM_WORLD"})


class Members:
    """Collects the ranks that name each communicator.

    A communicator consists of the ranks whose rows name it, in the order of the column
    ``communicator_rank``, or else in the world's order.
    """

    def __init__(self) -> None:
        # By name and rank of the world: the rank in the communicator, if a row gives it.
        self._ranks: dict[str, dict[int, int | None]] = {}
        self._number: dict[str, int] = {}

    def learn(self, rank: int, row: Row, file: Path) -> None:
        """Process the communicator of a row. Raises InputError if its rank in the communicator is
        not a number, or differs from an earlier one.
        """
        name = row.get("communicator", "")
        if name.upper() in _WORLDS:
            return
        self._number.setdefault(name, len(self._number))
        text = row.get("communicator_rank")
        members = self._ranks.setdefault(name, {})
        known = members.get(rank)
        if text is None:
            members.setdefault(rank, None)
            return
        if not text.isdecimal() or known not in (None, int(text)):
            raise InputError(
                f"the communicator_rank {text!r} of rank {rank} is not a number, or differs from "
                "an earlier row",
                file=file,
                line=int(row["line"]),
            )
        members[rank] = int(text)

    def number(self, name: str) -> int | None:
        """Return the number of a communicator; None for the world."""
        return None if name.upper() in _WORLDS else self._number[name]

    def communicators(self, notes: Notes) -> dict[int, Group]:
        """Return the ranks of each communicator in order, by its number. Raises InputError if two
        ranks have the same rank in one.
        """
        found: dict[int, Group] = {}
        for name, members in self._ranks.items():
            places = [place for place in members.values() if place is not None]
            if not places:
                notes.add(
                    "a communicator without communicator_rank consists of the ranks that name it, "
                    "in the world's order",
                    f"communicator {name}",
                )
            elif sorted(places) != list(range(len(members))):
                raise InputError(
                    f"the communicator {name!r} has {len(members)} ranks, but their "
                    f"communicator_rank are not 0 to {len(members) - 1}"
                )
            order = sorted(members, key=lambda rank: (members[rank] or 0, rank))
            found[self._number[name]] = tuple(order)
        return found


_NOT_NEGATIVE = {"bytes", "receive_bytes", "volume"}
_BLOCKING = {*SENDS.values(), "recv"}
_NON_BLOCKING = {*ISENDS.values(), "irecv"}
_WORDS = {name.lower(): word for name, word in (SENDS | ISENDS).items()}
_SILENT = {"init", "init_thread", "comm_size", "comm_rank", "get_count", "type_commit", "wtime"}
_WAITS = {"wait", "waitall", "waitany", "waitsome"}


class RankRows(RankConverter):
    """Converts the rows of one rank in order."""

    def __init__(self, rank: int, trace: TableTrace) -> None:
        super().__init__(rank, trace)
        self._members = trace.members
        self._communicators = trace.communicators
        self._row: Row = {}
        self._ended_at: float | None = None
        self._unnamed = 0
        self._pending: list[str] = []

    def lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the lines of the rank."""
        calls = self._calls
        self._write_head(self._communicators)
        is_finalized = False
        for row in rows:
            self._row = row
            if "call" not in row:
                raise self._error("a row without a call")
            word = self._word()
            self._compute(word)
            if word == "finalize":
                is_finalized = True
                break
            self._write(word)
            self._keep_row(word)
            yield from calls.ready()
        if self._pending:
            text = "a request without a wait"
            self._notes.add(text, self._place(), len(self._pending))
        if not is_finalized:
            self._notes.add(NO_FINALIZE, self._place())
        calls.action("finalize")
        if is_finalized:
            self._keep_row("finalize")
        yield from calls.ready()

    def _word(self) -> str:
        name = self._row.get("call", "").lower().removeprefix("mpi_").removesuffix("_")
        return _WORDS.get(name, name)

    def _place(self) -> str:
        return f"line {self._row.get('line', '?')}"

    def _number(self, quantity: str, default: int | None = None) -> int:
        text = self._row.get(quantity)
        if text is None:
            if default is not None:
                return default
            raise self._error(f"the {self._row['call']} has no {quantity}")
        try:
            number = float(text)
            whole = int(number)
        except (ValueError, OverflowError):
            raise self._error(f"the {quantity} {text!r} is not a number") from None
        if whole < 0 and quantity in _NOT_NEGATIVE:
            raise self._error(f"the {quantity} {text!r} is negative")
        if number != whole:
            self._notes.add(f"a {quantity} is truncated to a whole number", self._place())
        return whole

    def _seconds(self, quantity: str) -> float | None:
        text = self._row.get(quantity)
        if text is None:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.inf
        if not math.isfinite(seconds):
            raise self._error(f"the {quantity} {text!r} is not a number of seconds")
        return seconds

    def _error(self, message: str) -> InputError:
        return InputError(message, file=self._file, line=int(self._row["line"]))

    def _compute(self, word: str) -> None:
        """Write the rank's computation before this row."""
        start, end = self._seconds("start"), self._seconds("end")
        if start is not None and end is not None and end < start:
            raise self._error(f"the call ends ({end:g} s) before it starts ({start:g} s)")
        if start is not None and self._ended_at is not None and word != "init":
            if start < self._ended_at:
                raise self._error(
                    f"starts at {start:.9g} s, before the call above it ends at "
                    f"{self._ended_at:.9g} s; sort the rows of each rank by start"
                )
            if start > self._ended_at:
                self._calls.compute(self._options.volume_of(start - self._ended_at))
        if end is not None:
            self._ended_at = end
        if word != "compute" and "volume" in self._row:
            self._calls.compute(float(self._number("volume")))

    def _write(self, word: str) -> None:
        calls = self._calls
        if word == "compute":
            if "volume" in self._row:
                calls.compute(float(self._number("volume")))
            else:
                start, end = self._seconds("start"), self._seconds("end")
                if start is None or end is None:
                    raise self._error("a compute needs a volume, or a start and an end")
                calls.compute(self._options.volume_of(end - start))
        elif word in _BLOCKING:
            calls.message(word, *self._message(), self._comm())
        elif word in _NON_BLOCKING:
            calls.post(word, *self._message(), self._new_request(), self._comm())
        elif word in ("sendrecv", "sendrecv_replace"):
            self._exchange()
        elif word in _WAITS or (word.startswith("test") and "request" in self._row):
            self._complete()
        elif word in _SILENT:
            pass
        else:
            self._collective(word)

    def _message(self) -> tuple[int, int, int]:
        return self._number("peer"), self._number("tag", 0), self._number("bytes")

    def _new_request(self) -> str:
        request = self._row.get("request")
        if request is None:
            self._unnamed += 1
            request = f"#{self._unnamed}"
        self._pending.append(request)
        return request

    def _complete(self) -> None:
        named = self._row.get("request")
        if named is None:
            requests, self._pending = self._pending, []
            if self._word() != "waitall" and len(requests) > 1:
                self._notes.add(
                    f"{self._row['call']} without a request is assumed to wait for all",
                    self._place(),
                )
        else:
            requests = named.replace(";", " ").replace(",", " ").split()
            for request in requests:
                if request not in self._pending:
                    raise self._error(f"waits for the request {request!r}, which is not pending")
                self._pending.remove(request)
        self._calls.complete(requests)

    def _exchange(self) -> None:
        tag, nbytes, peer = self._number("tag", 0), self._number("bytes"), self._number("peer")
        comm = self._comm()
        if "receive_peer" not in self._row:
            self._notes.add(
                "an exchange without receive_peer is assumed to be with the same peer",
                self._place(),
            )
        source = self._number("receive_peer", peer)
        other_tag, room = self._number("receive_tag", tag), self._number("receive_bytes", nbytes)
        self._calls.exchange((peer, tag, nbytes, comm), (source, other_tag, room, comm))

    def _collective(self, word: str) -> None:
        words = uniform_collective(word, self._number("bytes", 0), self._number("root", 0))
        if words is None:
            self._notes.add(f"{self._row['call']} is left out", self._place())
        elif word.startswith("i"):
            self._calls.start(words, self._new_request(), self._comm())
        else:
            self._calls.action(words, self._comm())

    def _comm(self) -> int:
        name = self._members.number(self._row.get("communicator", ""))
        number = WORLD if name is None else self._communicators.number(name)
        assert number is not None  # all rows were read before
        return number

    def _keep_row(self, word: str) -> None:
        start, end = self._seconds("start"), self._seconds("end")
        if start is not None and end is not None:
            self._keep_times(word, round(start * 1e9), round(end * 1e9))


class TableImporter(Importer):
    """Reads one row per call: rank, call, start, end, peer, bytes and so on."""

    name = "table"
    title = "a table of calls as CSV or Parquet"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if head.startswith(PARQUET):
            return True
        first = head.partition(b"\n")[0]
        try:
            return has_columns(first.decode("utf-8-sig"))
        except UnicodeDecodeError:
            return False

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        return TableTrace(files, options, notes)


class TableTrace(SpooledTrace):
    """The rows of a table, by rank."""

    def __init__(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> None:
        self._files = files
        self.members = Members()
        super().__init__(files[0], options, notes)
        self.communicators = Communicators(self.ranks, self.members.communicators(notes))

    def _read(self) -> None:
        for file in self._files:
            self._read_table(file)
        ranks = self._spool.ranks()
        if not ranks:
            raise InputError("has no rows", file=self.file)
        missing = next((rank for rank in range(len(ranks)) if ranks[rank] != rank), None)
        if missing is not None:
            raise InputError(
                f"contains no row of rank {missing}, but rows of rank {ranks[-1]}; ranks must be "
                "0, 1, 2 and so on",
                file=self.file,
            )
        self.ranks = len(ranks)

    def _read_table(self, file: Path) -> None:
        if file.is_dir():
            raise InputError("is a directory; give a table", file=file)
        for number, row in read_rows(file, self.options.columns):
            text = row.pop("rank", "")
            try:
                rank = int(float(text))
            except (ValueError, OverflowError):
                raise InputError(f"{text!r} is not a rank", file=file, line=number + 1) from None
            if rank < 0:
                raise InputError(f"{rank} is not a rank", file=file, line=number + 1)
            row["line"] = str(number + 1)
            self.members.learn(rank, row, file)
            self._spool.add(rank, json.dumps(row))

    def lines(self, rank: int) -> Iterator[str]:
        return RankRows(rank, self).lines(json.loads(row) for row in self._spool.rows(rank))
