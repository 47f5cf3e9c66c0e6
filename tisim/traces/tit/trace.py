"""The lines of a packed trace of version 2."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from .attributes import AttributeTables, RankAttributes
from .container import REQUIRED, Section, read_sections
from .lines import Blocks, RankLines
from .numbers import ByteReader, DamagedError
from .tables import CodedColumns, ColumnTables, TraceTables

KNOWN = ("trace", "columns", "values", "attributes", "attribute values", "drawn volumes")
#: Of sections that have more than version 1.
VERSIONS = {"trace": (1, 2)}


_NO_BLOCKS = Blocks([], b"")


def _blocks_of_ranks(columns: CodedColumns, values: Section | None) -> dict[int, Blocks]:
    """The blocks of each rank, which stand one behind the other."""
    stored = values.stored if values else b""
    blocks = {}
    at = 0
    for rank, sizes in columns.blocks.items():
        size = sum(block_size for _, block_size, _ in sizes)
        blocks[rank] = Blocks(sizes, stored[at : at + size])
        at += size
    return blocks


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
            known = section.name in KNOWN and section.version in VERSIONS.get(section.name, (1,))
            if not known and section.flags & REQUIRED:
                raise DamagedError(
                    f"it needs the section {section.name} of version {section.version}"
                )
            if known:
                contents[section.name] = section
        if "trace" not in contents:
            raise DamagedError("it lacks its section trace")
        self._tables = TraceTables(ByteReader(contents["trace"].content()))
        self._columns: ColumnTables | None = None
        self._blocks: dict[int, Blocks] = {}
        if "columns" in contents:
            self._columns = ColumnTables(ByteReader(contents["columns"].content()), self._tables)
            self._blocks = _blocks_of_ranks(self._columns, contents.get("values"))
            if "drawn volumes" in contents:
                self._columns.seed = ByteReader(contents["drawn volumes"].content()).varint()
        self._attributes: AttributeTables | None = None
        self._attribute_blocks: dict[int, Blocks] = {}
        if "attributes" in contents:
            reader = ByteReader(contents["attributes"].content())
            self._attributes = AttributeTables(reader, self._tables)
            values = contents.get("attribute values")
            self._attribute_blocks = _blocks_of_ranks(self._attributes.columns, values)
        self.ranks = self._tables.ranks
        self.precision = self._tables.precision

    @property
    def tables(self) -> TraceTables:
        """Classes of ranks, their calls and grammars."""
        return self._tables

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes of calls."""
        return tuple(name for name, _ in self._attributes.attributes) if self._attributes else ()

    def attributes_of(self, rank: int) -> Iterator[tuple[int, dict[str, int | str]]]:
        """The lines of a rank that have attributes: number of the line, values by name."""
        if self._attributes is None:
            return
        blocks = self._attribute_blocks.get(rank, _NO_BLOCKS)
        lines = self._lines(rank)
        yield from RankAttributes(self._tables, self._attributes, lines, blocks, rank)

    def _lines(self, rank: int) -> RankLines:
        return RankLines(self._tables, self._columns, self._blocks.get(rank, _NO_BLOCKS), rank)

    def calls(self, rank: int) -> Iterator[tuple[int, bytes | None]]:
        """The calls of a rank: place in its class, and the line of the computation before it."""
        for place, computation, _ in self._lines(rank).calls():
            yield place, None if computation is None else computation[1]

    def lines(self, rank: int) -> Iterator[bytes]:
        """The lines of a rank, without their newlines."""
        return (text for _, text in self._lines(rank))

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
        lines = self._lines(rank)
        return ((number, rank, text) for number, text in lines)

    def _text(self, lines: list[bytes], rank: int) -> bytes:
        end = b"\n" if lines and self._tables.has_last_newline[rank] else b""
        return b"\n".join(lines) + end
