"""The attributes of calls (docs/tit.md, "The sections attributes and attribute values")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .lines import Blocks, Column, RankLines
from .numbers import ByteReader, DamagedError, unzigzag
from .tables import BY_RANK, CONSTANT, CodedColumns, TraceTables, read_argument
from .vectors import read_vector

TEXT, RANK = 1, 3


@dataclass(frozen=True)
class Layout:
    """Which attributes a call has: fixed ones, and those in the column."""

    fixed: list[tuple[int, tuple[int, int]]]  # attribute; mode and value
    before: list[int]
    at: list[int]


class AttributeTables:
    """What the section ``attributes`` says."""

    def __init__(self, reader: ByteReader, tables: TraceTables) -> None:
        self.attributes = [(reader.text().decode(), reader.byte()) for _ in range(reader.varint())]
        self.texts = [reader.text().decode() for _ in range(reader.varint())]
        self.layouts = [self._read_layout(reader) for _ in range(reader.varint())]
        self.layout_of: list[list[int]] = []  # of the calls of each class
        self.vectors: list[list[list[int]]] = []
        sites: set[tuple[int, int, bool]] = set()
        for number, of_class in enumerate(tables.classes):
            numbers = [reader.varint() for _ in of_class.calls]
            layouts = [self.layouts[layout] for layout in numbers]
            by_rank = sum(mode == BY_RANK for one in layouts for _, (mode, _) in one.fixed)
            self.layout_of.append(numbers)
            self.vectors.append(
                [read_vector(reader, tables.members[number]) for _ in range(by_rank)]
            )
            for call, layout in zip(of_class.calls, layouts, strict=True):
                kind = tables.kinds[call]
                sites |= {(kind, attribute, True) for attribute in layout.before}
                sites |= {(kind, attribute, False) for attribute in layout.at}
        ordered = sorted(sites)
        self.site_of = {site: number for number, site in enumerate(ordered)}
        self.columns = CodedColumns(reader, len(ordered))
        if not reader.at_end():
            raise DamagedError("its attributes are longer than what they say")

    @staticmethod
    def _read_layout(reader: ByteReader) -> Layout:
        fixed = [(reader.varint(), read_argument(reader)) for _ in range(reader.varint())]
        if any(mode not in (CONSTANT, BY_RANK) for _, (mode, _) in fixed):
            raise DamagedError("an attribute is said in no known way")
        before = [reader.varint() for _ in range(reader.varint())]
        return Layout(fixed, before, [reader.varint() for _ in range(reader.varint())])


class RankAttributes:
    """The lines of a rank that have attributes."""

    def __init__(
        self,
        tables: TraceTables,
        attributes: AttributeTables,
        lines: RankLines,
        blocks: Blocks,
        rank: int,
    ) -> None:
        self._tables = tables
        self._attributes = attributes
        self._lines = lines
        self._column = Column(attributes.columns, blocks)
        self._rank = rank
        self._number = tables.class_of[rank]
        position = tables.members[self._number].index(rank)
        vectors = iter(attributes.vectors[self._number])
        self._fixed = [
            {
                attribute: next(vectors)[position] if mode == BY_RANK else value
                for attribute, (mode, value) in attributes.layouts[layout].fixed
            }
            for layout in attributes.layout_of[self._number]
        ]

    def __iter__(self) -> Iterator[tuple[int, dict[str, int | str]]]:
        calls = self._tables.classes[self._number].calls
        layouts = self._attributes.layout_of[self._number]
        for terminal, computation, line in self._lines.calls():
            layout = self._attributes.layouts[layouts[terminal]]
            kind = self._tables.kinds[calls[terminal]]
            before = self._values(layout.before, kind, is_before=True)
            if before:
                if computation is None:
                    raise DamagedError("a computation with attributes is not there")
                yield computation[0], self._named(before)
            at = self._fixed[terminal] | self._values(layout.at, kind, is_before=False)
            if at and line is not None:
                yield line[0], self._named(at)

    def _values(self, attributes: list[int], kind: int, *, is_before: bool) -> dict[int, int]:
        found = {}
        for attribute in attributes:
            code = self._column.value(self._attributes.site_of[kind, attribute, is_before])
            if code:
                relative = self._attributes.attributes[attribute][1] == RANK
                found[attribute] = unzigzag(code - 1) + (self._rank if relative else 0)
        return found

    def _named(self, values: dict[int, int]) -> dict[str, int | str]:
        named: dict[str, int | str] = {}
        for attribute, value in values.items():
            name, kind = self._attributes.attributes[attribute]
            named[name] = self._attributes.texts[value] if kind == TEXT else value
        return named
