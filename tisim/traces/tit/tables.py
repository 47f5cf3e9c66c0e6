"""The tables of a packed trace (docs/tit.md, "The sections trace and columns")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .columns import SiteModel, read_model
from .grammar import Grammar, read_grammar
from .numbers import ByteReader, DamagedError, unzigzag
from .shapes import NUMBER, Shape, shape_of
from .vectors import read_vector

CONSTANT, RELATIVE, EXCLUSIVE, BY_RANK, COLUMN = range(5)


@dataclass(frozen=True)
class Call:
    """A call without what differs between ranks or from time to time."""

    shape: int
    arguments: tuple[tuple[int, int], ...]  # mode and value


@dataclass(frozen=True)
class RankClass:
    """Ranks that do the same."""

    grammar: Grammar
    calls: list[int]
    vectors: list[list[int]]  # of each argument by rank, in order: a number for each rank
    has_volumes: bool


@dataclass(frozen=True)
class Site:
    """The values at one place: all the same, or coded with a model."""

    value: int
    model: SiteModel | None


def read_argument(reader: ByteReader) -> tuple[int, int]:
    """The mode and the value of an argument."""
    code = reader.varint()
    mode, value = code & 7, code >> 3
    if mode == 7:
        mode, value = value, reader.varint()
    if mode > COLUMN:
        raise DamagedError("an argument is said in no known way")
    return mode, unzigzag(value)


def members(numbers: Sequence[int], count: int) -> list[list[int]]:
    """The ranks of each of `count` classes."""
    ranks: list[list[int]] = [[] for _ in range(count)]
    for rank, number in enumerate(numbers):
        if not 0 <= number < count:
            raise DamagedError("a rank is in no class")
        ranks[number].append(rank)
    return ranks


class TraceTables:
    """What the section ``trace`` says."""

    def __init__(self, reader: ByteReader) -> None:
        ranks = range(reader.varint())
        self.ranks = len(ranks)
        flags = reader.byte()
        self.legacy = bool(flags & 1)
        self.merged = bool(flags & 2)
        self.precision = reader.text().decode()
        self.index_name = reader.text()
        self.index_text = reader.text()
        names = reader.varint()
        name_of = read_vector(reader, ranks)
        self.names = [b""] * len(ranks)
        for named in members(name_of, names):
            shape = shape_of(reader.text())
            numbers = [read_vector(reader, named) for _ in shape.holes]
            for place, rank in enumerate(named):
                self.names[rank] = shape.line([values[place] for values in numbers])
        self.has_last_newline = [value != 0 for value in read_vector(reader, ranks)]
        self.shapes: list[Shape] = []
        self.shape_texts: list[bytes] = []
        for _ in range(reader.varint()):
            text = reader.text()
            self.shapes.append(shape_of(text, reader.varint()))
            self.shape_texts.append(text)
        self.calls = [self._read_call(reader) for _ in range(reader.varint())]
        classes = reader.varint()
        self.class_of = read_vector(reader, ranks)
        self.members = members(self.class_of, classes)
        self.classes = [self._read_class(reader, inside) for inside in self.members]
        if not reader.at_end():
            raise DamagedError("its tables are longer than what they say")
        numbers_of: dict[tuple[int, ...], int] = {}
        self.kinds = [
            numbers_of.setdefault(self._kind(call), len(numbers_of)) for call in self.calls
        ]

    def _read_call(self, reader: ByteReader) -> Call:
        number = reader.varint()
        return Call(number, tuple(read_argument(reader) for _ in self.shapes[number].holes))

    def _read_class(self, reader: ByteReader, ranks: list[int]) -> RankClass:
        head = reader.varint()
        calls = []
        following = 0
        for _ in range(head >> 1):
            calls.append(following + reader.zigzag())
            following = calls[-1] + 1
        if any(not 0 <= call < len(self.calls) for call in calls):
            raise DamagedError("a class has a call that is not there")
        grammar = read_grammar(reader, len(calls))
        vectors: list[list[int]] = []
        for call in calls:
            for mode, _ in self.calls[call].arguments:
                if mode == BY_RANK:
                    vectors.append(read_vector(reader, ranks, vectors))
        return RankClass(grammar, calls, vectors, bool(head & 1))

    def _kind(self, call: Call) -> tuple[int, ...]:
        """What tells calls apart as places of values."""
        shape = self.shapes[call.shape]
        key = [call.shape]
        for place, ((mode, value), mark) in enumerate(
            zip(call.arguments, shape.holes, strict=True)
        ):
            is_rank = place < 64 and shape.rank_holes >> place & 1
            if mode == COLUMN:
                key.append(-1 - place)
            elif mode == CONSTANT and mark == NUMBER and not is_rank and place < 6:
                key += [place, value]
        return tuple(key)


class CodedColumns:
    """Sites, the models of those that vary, and where the values of ranks are."""

    def __init__(self, reader: ByteReader, sites: int) -> None:
        codes = [reader.varint() for _ in range(sites)]
        varying = [site for site, code in enumerate(codes) if code == 0]
        model_of = {}
        count = 0
        for site in varying:
            number = reader.varint()
            model_of[site] = number - 1 if number else count
            count += number == 0
        models = [read_model(reader) for _ in range(count)]
        self.sites = [
            Site(0, models[model_of[site]]) if code == 0 else Site(code - 1, None)
            for site, code in enumerate(codes)
        ]
        # Of each rank with a column: (values, bytes, checksum) of each block.
        self.blocks: dict[int, list[tuple[int, int, int]]] = {}
        rank = 0
        for _ in range(reader.varint()):
            rank += reader.varint()
            reader.varint()  # lines that the column adds
            self.blocks[rank] = [
                (reader.varint(), reader.varint(), reader.fixed32()) for _ in range(reader.varint())
            ]


class ColumnTables(CodedColumns):
    """What the section ``columns`` says."""

    def __init__(self, reader: ByteReader, tables: TraceTables) -> None:
        #: What volumes before calls are drawn by; None: they stand in the columns.
        self.seed: int | None = None
        self.volumes: list[int] = []
        for _ in range(reader.varint()):
            step = reader.varint()
            self.volumes.append(step + (self.volumes[-1] if self.volumes else 0))
        columns_of = {
            kind: sum(mode == COLUMN for mode, _ in call.arguments)
            for call, kind in zip(tables.calls, tables.kinds, strict=True)
        }
        self.first_site: dict[tuple[int, int], int] = {}
        before = sites = 0
        for _ in range(reader.varint()):
            before += reader.varint()
            kind = reader.varint()
            self.first_site[before, kind] = sites
            sites += 1 + columns_of[kind]
        super().__init__(reader, sites)
        if not reader.at_end():
            raise DamagedError("its columns are longer than what they say")
