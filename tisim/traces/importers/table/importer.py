"""Tables of calls as a format that can be imported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_spool import RankSpool
from tisim.traces.importers.table.columns import PARQUET, has_columns, read_rows
from tisim.traces.importers.table.members import Members
from tisim.traces.importers.table.rank_rows import RankRows


class TableImporter(Importer):
    """Reads one row a call: rank, call, start, end, peer, bytes and so on."""

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
        spool = RankSpool()
        try:
            members = Members()
            for file in files:
                _fill(spool, members, file, options)
            return _TableTrace(files[0], spool, members, options, notes)
        except BaseException:
            spool.close()
            raise


def _fill(spool: RankSpool, members: Members, file: Path, options: ImportOptions) -> None:
    if file.is_dir():
        raise InputError("is a directory; name a table", file=file)
    for number, row in read_rows(file, options.columns):
        text = row.pop("rank", "")
        try:
            rank = int(float(text))
        except (ValueError, OverflowError):
            raise InputError(f"{text!r} is no rank", file=file, line=number + 1) from None
        if rank < 0:
            raise InputError(f"{rank} is no rank", file=file, line=number + 1)
        row["line"] = str(number + 1)
        members.learn(rank, row, file)
        spool.add(rank, json.dumps(row))


class _TableTrace(ForeignTrace):
    def __init__(
        self,
        file: Path,
        spool: RankSpool,
        members: Members,
        options: ImportOptions,
        notes: Notes,
    ) -> None:
        self._file = file
        self._spool = spool
        self._options = options
        self._notes = notes
        ranks = spool.ranks()
        if not ranks:
            raise InputError("has no rows", file=file)
        missing = next((rank for rank in range(len(ranks)) if ranks[rank] != rank), None)
        if missing is not None:
            raise InputError(
                f"has no row of rank {missing}, but some of rank {ranks[-1]}; the ranks are 0, 1, "
                "2 and so on",
                file=file,
            )
        self._ranks = len(ranks)
        self._members = members
        self._communicators = Communicators(self._ranks, members.communicators(notes))

    @property
    def has_times(self) -> bool:
        return True

    @property
    def ranks(self) -> int:
        return self._ranks

    def lines(self, rank: int) -> Iterator[str]:
        rows = RankRows(
            rank, self._file, self._members, self._communicators, self._options, self._notes
        )
        yield from rows.lines(json.loads(row) for row in self._spool.rows(rank))

    def close(self) -> None:
        self._spool.close()
