"""Darshan's extended traces (DXT), as printed by darshan-dxt-parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError
from tisim.traces.importers.file_calls import FileCalls
from tisim.traces.importers.format import RankConverter, SpooledTrace, need_speed, only_file
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes

#: The first words of a listing, and those of its tables.
FIRST = "# darshan log version:"
_FILE = re.compile(r"# DXT, file_id: (\d+), file_name: (.*)$")
_RANK = re.compile(r"# DXT, rank: (-?\d+), hostname:")
_COUNTS = re.compile(r"# DXT, write_count: (\d+), read_count: (\d+)")
_PROCESSES = re.compile(r"# nprocs: (\d+)")
_INCOMPLETE = "*WARNING*"
# Number of columns read from a row; Lustre OSTs and a thread follow.
_COLUMNS = 8
_POSIX, _MPI_IO = "X_POSIX", "X_MPIIO"


class Access(NamedTuple):
    """One read or write of a rank."""

    #: Seconds since the start of the job.
    start: float
    end: float
    file: str
    writes: bool
    offset: int
    nbytes: int


class Listing(SpooledTrace):
    """The accesses of a job, by rank. Raises InputError if it is not a listing, or truncated."""

    def __init__(self, path: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(path, options, notes)
        notes.add(
            "DXT contains only file reads and writes: everything between them, including messages, "
            "counts as computation",
            "rank 0",
        )

    def lines(self, rank: int) -> Iterator[str]:
        return AccessReader(rank, self).lines(self.accesses(rank))

    def accesses(self, rank: int) -> list[Access]:
        """Return the accesses of a rank, ordered by start time."""
        rows = (json.loads(row) for row in self._spool.rows(rank))
        return sorted(Access(*row) for row in rows)

    def _read(self) -> None:
        table = _Table("", 0)
        has_posix = False
        try:
            with self.file.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if line.startswith("#"):
                        table = self._heading(line.rstrip("\n"), number, table)
                        continue
                    words = line.split()
                    if not words:
                        continue
                    is_posix = words[0] == _POSIX
                    has_posix |= is_posix
                    if is_posix or words[0] == _MPI_IO:
                        table.left -= 1
                        self._row(words, number, table)
                    else:
                        raise InputError("is not a row of a DXT table", file=self.file, line=number)
        except UnicodeDecodeError:
            raise InputError("is not a DXT listing: it is not text", file=self.file) from None
        if not self.ranks:
            raise InputError("lacks the line '# nprocs:' of DXT listings", file=self.file)
        self._check_whole(table)
        if not self._spool.ranks():
            raise InputError(
                "contains no accesses: was DXT enabled during the run (DXT_ENABLE_IO_TRACE=1)?",
                file=self.file,
            )

    def _heading(self, line: str, number: int, table: _Table) -> _Table:
        """Process a comment; return the table to which the following rows belong."""
        place = f"line {number}"
        if (found := _PROCESSES.match(line)) is not None:
            self.ranks = int(found[1])
        elif (found := _FILE.match(line)) is not None:
            self._check_whole(table)
            return _Table(found[2], number)
        elif (found := _RANK.match(line)) is not None:
            table.rank = int(found[1])
            if not 0 <= table.rank < self.ranks:
                raise InputError(
                    f"{table.rank} is not a rank: the trace has {self.ranks}",
                    file=self.file,
                    line=number,
                )
        elif (found := _COUNTS.match(line)) is not None:
            table.left = int(found[1]) + int(found[2])
        elif _INCOMPLETE in line:
            self.notes.add("Darshan's memory was full: accesses are missing", place)
        return table

    def _check_whole(self, table: _Table) -> None:
        if table.left:
            raise InputError(
                f"is truncated: {table.left} accesses of rank {table.rank} to {table.file} are "
                "missing",
                file=self.file,
                line=table.line,
            )

    def _row(self, words: list[str], number: int, table: _Table) -> None:
        try:
            module, rank, way, _, offset, nbytes, start, end = words[:_COLUMNS]
            access = Access(
                float(start), float(end), table.file, way == "write", int(offset), int(nbytes)
            )
            is_whole = int(rank) == table.rank and way in ("read", "write") and access.nbytes >= 0
        except ValueError:
            is_whole = False
        if not is_whole or access.offset < 0:
            raise InputError("is not a DXT access", file=self.file, line=number)
        if module == _MPI_IO:
            self.notes.add(
                "an MPI-IO access is left out: the underlying POSIX accesses are in the trace",
                f"line {number}",
            )
            return
        self._spool.add(table.rank, json.dumps(access))


class _Table:
    """The accesses of one rank to one file, while being read."""

    def __init__(self, file: str, line: int) -> None:
        self.file = file
        self.line = line
        self.rank = -1
        self.left = 0


_BINARY = "is not text: run darshan-dxt-parser LOG > dxt.txt, and import its output"


class DarshanImporter(Importer):
    """Reads the output of darshan-dxt-parser."""

    name = "darshan"
    title = "Darshan's extended traces (DXT), printed by darshan-dxt-parser"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(FIRST.encode()) or files[0].suffix == ".darshan"

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        file = only_file(files, "a DXT listing must be one file")
        with file.open("rb") as stream:
            if not stream.read(len(FIRST)).startswith(FIRST.encode()):
                raise InputError(_BINARY, file=file)
        need_speed(options, file, "DXT has")
        return Listing(file, options, notes)


class AccessReader(RankConverter):
    """Writes the accesses of one rank as lines."""

    def lines(self, accesses: Sequence[Access]) -> Iterator[str]:
        """Yield the lines of the rank."""
        calls, rank = self._calls, self._rank
        files = FileCalls(rank, calls)
        last = {access.file: number for number, access in enumerate(accesses)}
        ways: dict[str, set[str]] = {}
        for access in accesses:
            ways.setdefault(access.file, set()).add("w" if access.writes else "r")
        calls.action("init")
        ended = 0.0
        for number, access in enumerate(accesses):
            if access.start < ended:
                self._notes.add(
                    "an access that begins before the previous one ends is placed after it",
                    f"rank {rank}, {access.start:.4f} s",
                )
            calls.compute(self._options.volume_of(max(access.start - ended, 0.0)))
            ended = max(ended, access.end)
            if not files.is_open(access.file):
                # The creator of a file is unknown: without the flag c the file existed before.
                files.open(access.file, access.file, "".join(sorted(ways[access.file])))
            files.transfer(access.file, access.nbytes, writes=access.writes, offset=access.offset)
            word = "pwrite" if access.writes else "pread"
            self._keep_times(word, round(access.start * 1e9), round(access.end * 1e9))
            if last[access.file] == number:
                files.close(access.file)
            yield from calls.ready()
        calls.action("finalize")
        yield from calls.ready()
