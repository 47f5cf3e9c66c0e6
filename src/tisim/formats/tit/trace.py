"""The lines of a packed trace of version 2."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from .container import REQUIRED, read_sections
from .lines import Column, RankLines
from .numbers import ByteReader, DamagedError
from .tables import ColumnTables, TraceTables

KNOWN = ("trace", "columns", "values")


class TitTrace:
    """A packed trace of version 2.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    ranks : int
        How many ranks the program has.
    precision : str
        How exact the volumes are; empty when they are exact.

    Raises
    ------
    InputError
        The file is damaged, or needs a section that this reader does not know.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        contents = {}
        for section in read_sections(Path(path).read_bytes()):
            known = section.name in KNOWN and section.version == 1
            if not known and section.flags & REQUIRED:
                raise DamagedError(
                    f"it needs the section {section.name} of version {section.version}"
                )
            if known:
                contents[section.name] = section
        if "trace" not in contents:
            raise DamagedError("it lacks its section trace")
        self._tables = TraceTables(ByteReader(contents["trace"].content()))
        self._columns: dict[int, bytes] = {}  # the blocks of each rank
        self._column_tables: ColumnTables | None = None
        if "columns" in contents:
            self._column_tables = ColumnTables(
                ByteReader(contents["columns"].content()), self._tables
            )
            values = contents["values"].stored if "values" in contents else b""
            at = 0
            for rank, blocks in self._column_tables.blocks.items():
                size = sum(block_size for _, block_size, _ in blocks)
                self._columns[rank] = values[at : at + size]
                at += size
        self.ranks = self._tables.ranks
        self.precision = self._tables.precision

    def _column(self, rank: int) -> Column | None:
        tables = self._column_tables
        if tables is None:
            return None
        return Column(tables, tables.blocks.get(rank, []), self._columns.get(rank, b""))

    def lines(self, rank: int) -> Iterator[bytes]:
        """The lines of a rank, without their newlines."""
        return (text for _, text in RankLines(self._tables, self._column(rank), rank))

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The names and the texts of the files that were packed."""
        tables = self._tables
        if tables.index_name:
            yield tables.index_name.decode(), tables.index_text
        if tables.merged:
            numbered = (self._in_order(rank) for rank in range(self.ranks))
            ordered = list(heapq.merge(*numbered))
            last = ordered[-1][1] if ordered else 0
            yield tables.names[0].decode(), self._text([text for _, _, text in ordered], last)
            return
        for rank in range(self.ranks):
            yield tables.names[rank].decode(), self._text(list(self.lines(rank)), rank)

    def _in_order(self, rank: int) -> Iterator[tuple[int, int, bytes]]:
        lines = RankLines(self._tables, self._column(rank), rank)
        return ((number, rank, text) for number, text in lines)

    def _text(self, lines: list[bytes], rank: int) -> bytes:
        end = b"\n" if lines and self._tables.has_last_newline[rank] else b""
        return b"\n".join(lines) + end
