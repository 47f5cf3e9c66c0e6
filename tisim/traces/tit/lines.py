"""The lines of one rank (docs/tit.md, "From calls to lines")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .columns import ColumnDecoder, drawn_value
from .numbers import DamagedError, crc32c, unzigzag
from .shapes import STEP, VOLUME, Shape
from .tables import BY_RANK, COLUMN, EXCLUSIVE, RELATIVE, CodedColumns, ColumnTables, TraceTables
from .volumes import volume_text


@dataclass(frozen=True)
class Blocks:
    """The blocks of a rank: values, bytes and checksum of each, and what they store."""

    sizes: list[tuple[int, int, int]]
    stored: bytes


class Column:
    """The values of one rank that stand in no table.

    Parameters
    ----------
    tables : CodedColumns
        Where values stand, and how they are coded.
    blocks : Blocks
        Those of the rank.
    """

    def __init__(self, tables: CodedColumns, blocks: Blocks) -> None:
        self._sites = tables.sites
        self._decoders = self._decoder_of_each(blocks.sizes, blocks.stored)

    @staticmethod
    def _decoder_of_each(
        blocks: list[tuple[int, int, int]], stored: bytes
    ) -> Iterator[ColumnDecoder]:
        at = 0
        for values, size, checksum in blocks:
            block = stored[at : at + size]
            at += size
            if len(block) != size or crc32c(block) != checksum:
                raise DamagedError("a block of values is not what was written")
            decoder = ColumnDecoder(block)
            for _ in range(values):
                yield decoder
            if not decoder.finished():
                raise DamagedError("a block of values is too long")

    def value(self, number: int) -> int:
        """The next value at a site."""
        site = self._sites[number]
        if site.model is None:
            return site.value
        decoder = next(self._decoders, None)
        if decoder is None:
            raise DamagedError("the column of a rank ends too early")
        return decoder.next(site.model)


class RankLines:
    """The lines of a rank, each with its number in its file, from 1."""

    def __init__(
        self, tables: TraceTables, columns: ColumnTables | None, blocks: Blocks, rank: int
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._column = None if columns is None else Column(columns, blocks)
        self._rank = rank
        self._class = tables.classes[tables.class_of[rank]]
        self._prefix = b"%d " % rank
        position = tables.members[tables.class_of[rank]].index(rank)
        vectors = iter(self._class.vectors)
        self._numbers = [
            [
                next(vectors)[position] if mode == BY_RANK else self._number(mode, value)
                for mode, value in tables.calls[call].arguments
            ]
            for call in self._class.calls
        ]

    def _number(self, mode: int, value: int) -> int | None:
        """An argument of this rank; None when it is in the column."""
        if mode == COLUMN:
            return None
        if mode == EXCLUSIVE:
            return self._rank ^ value
        return self._rank + value if mode == RELATIVE else value

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for _, computation, line in self.calls():
            if computation is not None:
                yield computation
            if line is not None:
                yield line

    def calls(
        self,
    ) -> Iterator[tuple[int, tuple[int, bytes] | None, tuple[int, bytes] | None]]:
        """The calls: place in the class, line of the computation before it, line of its own."""
        before = number = 0
        for calls, terminal in enumerate(self._class.grammar.expanded()):
            call = self._class.calls[terminal]
            kind = self._tables.kinds[call]
            shape = self._tables.shapes[self._tables.calls[call].shape]
            site = self._columns.first_site.get((before, kind)) if self._columns else None
            before = kind + 1
            volume = self._volume_before(site, calls)
            computation = line = None
            if volume is not None:
                number += 1
                computation = (number, self._prefix + b"compute " + volume)
            if not shape.is_silent:
                numbers = self._arguments(shape, self._numbers[terminal], site)
                number += numbers[-1] if shape.holes[-1:] == [STEP] else 1
                line = (number, (self._prefix if shape.has_rank else b"") + shape.line(numbers))
            yield terminal, computation, line

    def _volume(self, number: int) -> int:
        """The code of a volume from its number in a column."""
        volumes = self._columns.volumes if self._columns else []
        return volumes[number] if volumes else number

    def _volume_before(self, site: int | None, call: int) -> bytes | None:
        """The volume that is computed before the call at hand."""
        if self._column is None or site is None or not self._class.has_volumes:
            return None
        value = self._drawn(site, call)
        if value is None:
            value = self._column.value(site)
        return volume_text(self._volume(value - 1)).encode() if value else None

    def _drawn(self, site: int, call: int) -> int | None:
        """The value that is drawn at a site; None where it stands in the column."""
        if self._columns is None or self._columns.seed is None:
            return None
        found = self._columns.sites[site]
        if found.model is None:
            return found.value
        return drawn_value(found.model, self._columns.seed, self._rank, site, call)

    def _arguments(self, shape: Shape, numbers: list[int | None], site: int | None) -> list[int]:
        """The numbers of a call, those in the column too."""
        complete = []
        for mark, number in zip(shape.holes, numbers, strict=True):
            if number is None:
                if self._column is None or site is None:
                    raise DamagedError("a call has no place for its values")
                site += 1
                coded = self._column.value(site)
                number = self._volume(coded) if mark == VOLUME else unzigzag(coded)
            complete.append(number)
        return complete
