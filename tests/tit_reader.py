"""A slow reader of packed traces, written from docs/tit.md alone.

It shows that the description suffices to read a file: tests compare it with the core's reader. It
trusts data with a correct checksum, and reads neither attributes of calls nor sections coded bit
by bit, which current writers do not produce.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import TypeVar

from tisim.errors import InputError

T = TypeVar("T")

MAGIC = b"\x89TIT\r\n\x1a\n"
REQUIRED, CODED, COPIED = 1, 2, 4
WORD, WORD_32 = (1 << 64) - 1, (1 << 32) - 1


class DamagedError(InputError):
    """A packed trace is damaged."""


def signed(number: int) -> int:
    """Convert a number modulo 2^64 to the range from -2^63 to 2^63 - 1."""
    return (number + (1 << 63) & WORD) - (1 << 63)


def unzigzag(code: int) -> int:
    """Decode a signed number from a zigzag code: 0, -1, 1, -2, ..."""
    return -(code >> 1) - 1 if code & 1 else code >> 1


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) checksum."""
    checksum = WORD_32
    for byte in data:
        checksum = checksum >> 8 ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    return checksum ^ WORD_32


def _checksum_of(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CHECKSUMS = [_checksum_of(byte) for byte in range(256)]


class ByteReader:
    """Reads numbers and strings sequentially from a byte string."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def at_end(self) -> bool:
        return self.at == len(self.data)

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        self.at += size
        if len(taken) < size:
            raise DamagedError("the bytes end too early")
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def fixed32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def zigzag(self) -> int:
        return unzigzag(self.varint())

    def text(self) -> bytes:
        return self.take(self.varint())

    def list_of(self, item: Callable[[], T]) -> list[T]:
        """Read a list of items, preceded by its length."""
        return [item() for _ in range(self.varint())]

    def ascending(self) -> list[int]:
        """Read an ascending list of numbers, stored as differences."""
        return list(accumulate(self.list_of(self.varint)))


# Sections compressed with copies of earlier bytes.


class Counter:
    """Adaptive probability that a bit is 1, in 1 / 65,536, and the number of observations."""

    def __init__(self) -> None:
        self.probability, self.seen = 32768, 0


class BitDecoder:
    """Arithmetic decoder of bits and numbers; the name of a bit selects its counter."""

    def __init__(self, coded: bytes) -> None:
        self.rest = iter(coded)
        self.low, self.high, self.code = 0, WORD_32, 0
        self.counters: dict[tuple[object, ...], Counter] = {}
        for _ in range(4):
            self.code = self.code << 8 | next(self.rest, 0)

    def bit(self, *name: object) -> int:
        counter = self.counters.setdefault(name, Counter())
        cut = self.low + ((self.high - self.low) * counter.probability >> 16)
        bit = int(self.code <= cut)
        if bit:
            self.high = cut
        else:
            self.low = cut + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & WORD_32
            self.high = (self.high << 8 & WORD_32) | 0xFF
            self.code = (self.code << 8 & WORD_32) | next(self.rest, 0)
        rate = 131072 // (2 * counter.seen + 3)
        counter.probability += (65535 * bit - counter.probability) * rate >> 16
        counter.seen = min(counter.seen + 1, 30)
        return bit

    def number(self, name: str) -> int:
        """Decode a number that is at least 1."""
        bits = 1
        while self.bit(name, "size", bits):
            bits += 1
        number = 1
        for place in range(bits - 1, 0, -1):
            number = 2 * number + self.bit(name, bits, place)
        return number


def expand_copies(coded: bytes, size: int) -> bytes:
    """Decompress `size` bytes."""
    decoder = BitDecoder(coded)
    data = bytearray()
    distance = after_copy = 0
    while len(data) < size:
        after_copy = decoder.bit("copy", after_copy)
        if not after_copy:
            known = 1
            while known < 256:
                known = 2 * known + decoder.bit("byte", known)
            data.append(known & 0xFF)
            continue
        again = decoder.bit("again")
        if not again:
            distance = decoder.number("distance")
        for _ in range(decoder.number("length") + (1 if again else 2)):
            data.append(data[-distance])
    return bytes(data)


# File structure.


@dataclass(frozen=True)
class Section:
    """A section as stored in the file."""

    name: str
    version: int
    flags: int
    stored: bytes
    size: int
    checksum: int

    def content(self) -> bytes:
        if crc32c(self.stored) != self.checksum:
            raise DamagedError(f"its section {self.name} has a wrong checksum")
        if self.flags & CODED:
            raise DamagedError(f"its section {self.name} is coded bit by bit")
        return expand_copies(self.stored, self.size) if self.flags & COPIED else self.stored


def read_sections(data: bytes) -> list[Section]:
    """Return the sections of a file, in order."""
    reader = ByteReader(data)
    if reader.take(len(MAGIC)) != MAGIC or reader.fixed32() != 2:
        raise DamagedError("it does not begin like a packed trace of version 2")
    checksum = reader.fixed32()
    table = reader.text()
    if crc32c(table) != checksum:
        raise DamagedError("its table of sections has a wrong checksum")
    entries = ByteReader(table)
    sections = []
    while not entries.at_end():
        name, version, flags = entries.text().decode(), entries.varint(), entries.byte()
        stored = entries.varint()
        size = entries.varint() if flags & (CODED | COPIED) else stored
        stored_bytes = reader.take(stored)
        sections.append(Section(name, version, flags, stored_bytes, size, entries.fixed32()))
    if not reader.at_end():
        raise DamagedError("it is longer than its sections")
    return sections


# Volumes and shapes.

NUMBER, VOLUME, NO_RANK, STEP, SILENT, PADDED, LITERAL = range(1, 8)


def volume_text(code: int) -> str:
    """Return the text of a volume, as originally written, from its code."""
    if code < 10**6:
        return str(code)
    if code < 10**7:
        exponent, mantissa = divmod(code - 10**6, 900_000)
        digits = str(mantissa + 100_000).rstrip("0")
        return f"{_with_point(digits, len(digits) - 1)}e+{exponent + 6:02d}"
    style = (code >> 50) - 1
    digits = str(code & (1 << 50) - 1)
    if style < 32:
        return _with_point(digits, style)
    decimals, exponent = divmod(style - 32, 256)
    exponent -= 128
    return f"{_with_point(digits, decimals)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _with_point(digits: str, decimals: int) -> str:
    text = digits.rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


class Shape:
    """The template of a line or name, with holes for numbers."""

    def __init__(self, text: bytes, rank_holes: int = 0) -> None:
        self.rank_holes = rank_holes
        self.has_rank = text[:1] != bytes([NO_RANK])
        self.is_silent = text == bytes([SILENT])
        self.parts: list[bytes | tuple[int, int]] = []  # text, or mark and width of a hole
        rest = iter(text)
        for mark in rest:
            if mark == PADDED:
                self.parts.append((mark, next(rest)))
            elif mark in (NUMBER, VOLUME, STEP):
                self.parts.append((mark, 0))
            elif mark == LITERAL or mark > LITERAL:
                self.parts.append(bytes([next(rest) if mark == LITERAL else mark]))
        #: The marks of the holes.
        self.holes = [part[0] for part in self.parts if isinstance(part, tuple)]

    def line(self, numbers: Sequence[int]) -> bytes:
        """Return the text with its holes filled with numbers."""
        values = iter(numbers)
        return b"".join(
            part if isinstance(part, bytes) else self._printed(next(values), *part)
            for part in self.parts
        )

    @staticmethod
    def _printed(value: int, mark: int, width: int) -> bytes:
        if mark == STEP:
            return b""
        return (volume_text(value) if mark == VOLUME else str(value).rjust(width, "0")).encode()


# Grammars and per-rank vectors.


class Grammar:
    """Grammar rules, each a list of items: (is it a rule, its number, repetitions)."""

    def __init__(self, reader: ByteReader) -> None:
        self.rules: list[list[tuple[bool, int, int]]] = [[]]
        next_terminal = 0
        path = [0]
        while path:
            code = reader.varint()
            kind = code >> 1
            times = 2 + reader.varint() if code & 1 else 1
            if kind == 0:  # the end of the rule
                path.pop()
            elif kind == 2:  # a new rule, which follows
                self.rules[path[-1]].append((True, len(self.rules), times))
                path.append(len(self.rules))
                self.rules.append([])
            else:
                symbol = 2 * next_terminal if kind == 1 else kind - 3
                self.rules[path[-1]].append((symbol & 1 == 1, symbol >> 1, times))
                if not symbol & 1:
                    next_terminal = max(next_terminal, (symbol >> 1) + 1)

    def expanded(self, rule: int = 0) -> Iterator[int]:
        """Yield the terminals that a rule expands to."""
        for is_rule, number, times in self.rules[rule]:
            for _ in range(times):
                if is_rule:
                    yield from self.expanded(number)
                else:
                    yield number


def read_vector(
    reader: ByteReader, ranks: Sequence[int], before: Sequence[list[int]] = ()
) -> list[int]:
    """Read a number for each of `ranks`; `before`: the preceding vectors of their class."""
    form = reader.varint()
    if form == 11:
        back, times, parts = reader.varint(), reader.varint(), reader.varint()
        numbers = [signed(other * times) // parts for other in before[-1 - back]]
        rest = read_vector(reader, ranks)
        return [signed(number + more) for number, more in zip(numbers, rest, strict=True)]
    if form >= 8:
        numbers = _read_plain(reader, len(ranks))
        if form == 9:
            return [signed(number + rank) for number, rank in zip(numbers, ranks, strict=True)]
        return [signed(total) for total in accumulate(numbers)] if form == 10 else numbers
    if form >= 4:
        return _read_sequence(reader, form, ranks)
    constant = reader.zigzag()
    if form == 0:
        return [constant] * len(ranks)
    if form == 2:
        return [rank ^ constant for rank in ranks]
    moved = list(ranks)
    for _ in range(reader.varint() if form == 3 else 0):
        span, distance = reader.varint(), reader.varint()
        moved = [rank - rank % span + (rank + distance) % span for rank in moved]
    return [signed(rank + constant) for rank in moved]


def _read_sequence(reader: ByteReader, form: int, ranks: Sequence[int]) -> list[int]:
    has_bit = form in (5, 6)
    codes = []
    last = 0
    for code in reader.list_of(reader.varint):
        last = signed(last + unzigzag(code >> 1 if has_bit else code))
        codes.append((last, not has_bit or code & 1 == 1))
    chosen = [codes[number] for number in Grammar(reader).expanded()]
    if form == 7:
        return [signed(total) for total in accumulate(value for value, _ in chosen)]
    return [
        value if alone else signed(value + rank) if form == 5 else value ^ rank
        for (value, alone), rank in zip(chosen, ranks, strict=True)
    ]


def _read_plain(reader: ByteReader, count: int) -> list[int]:
    least, width = reader.zigzag(), reader.byte()
    highest_first = [reader.take(count) for _ in range(width)]
    beyond = [int.from_bytes(number, "big") for number in zip(*highest_first, strict=True)]
    return [signed(least + number) for number in beyond]


# Models of sites and the values coded with them.

ALL = 1 << 12
LEAST_STATE = 1 << 32


class SiteModel:
    """Bins of the values at a site, by slot: (low, width, frequency, number in the bin)."""

    def __init__(self, reader: ByteReader) -> None:
        bins = []
        ranges = [(0, reader.varint())]
        while ranges:
            low, width = ranges.pop()
            node = reader.byte()
            if node == 0:
                bins.append((low, width))
            if node in (1, 3):
                ranges.append((low + (1 << width - 1), width - 1))
            if node in (1, 2):
                ranges.append((low, width - 1))
        weights = [1 + reader.varint() for _ in bins] if len(bins) > 1 else [1]
        ends = [total * ALL // sum(weights) for total in accumulate(weights)]
        frequencies = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        self.slots = [
            (*bins[place], frequencies[place], number) for place, number in alias_slots(frequencies)
        ]


def alias_slots(frequencies: list[int]) -> list[tuple[int, int]]:
    """Return bin and number within the bin of each of the 4,096 slots (Vose's alias method)."""
    bits = (len(frequencies) - 1).bit_length()
    count, size = 1 << bits, ALL >> bits
    left = [*frequencies, *[0] * (count - len(frequencies))]
    small = [i for i in range(count) if left[i] < size]
    large = [i for i in range(count) if left[i] >= size]
    own, other = [size] * count, [0] * count
    while small and large:
        filled, giver = small.pop(), large[-1]
        own[filled], other[filled] = left[filled], giver
        left[giver] -= size - left[filled]
        if left[giver] < size:
            small.append(large.pop())
    used = own.copy()
    slots = []
    for bucket, giver in enumerate(other):
        slots += [(bucket, number) for number in range(own[bucket])]
        lent = size - own[bucket]
        slots += [(giver, used[giver] + number) for number in range(lent)]
        used[giver] += lent
    return slots


def _scrambled(number: int) -> int:
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


def drawn_value(model: SiteModel, seed: int, rank: int, site: int, call: int) -> int:
    """Draw a value from a model; deterministic for the same arguments."""
    step = 0x9E3779B97F4A7C15
    random = _scrambled(seed + step & WORD)
    for part in (rank, site, call):
        random = _scrambled((random ^ part) + step & WORD)
    low, width, _, _ = model.slots[random & ALL - 1]
    return low + (_scrambled(random + step & WORD) & (1 << width) - 1)


class BlockDecoder:
    """Decodes a block of a column: an asymmetric numeral system with four interleaved states."""

    def __init__(self, block: bytes) -> None:
        sizes = [size for both in block[-2:] for size in (both & 15, both >> 4)]
        reader = ByteReader(block)
        self.words = [reader.fixed32() for _ in range((len(block) - 2 - sum(sizes)) // 4)]
        self.states = [int.from_bytes(reader.take(size), "little") for size in sizes]
        self.words.reverse()

    def take(self, bits: int) -> int:
        """Return the low bits of the current state."""
        taken = self.states[0] & (1 << bits) - 1
        self.states[0] >>= bits
        if self.states[0] < LEAST_STATE and self.words:
            self.states[0] = self.states[0] << 32 | self.words.pop()
        return taken

    def next(self, model: SiteModel) -> int:
        low, width, frequency, number = model.slots[self.states[0] & ALL - 1]
        self.states[0] = frequency * (self.states[0] >> 12) + number
        offset = self.take(min(width, 20))
        for taken in range(20, width, 20):
            offset |= self.take(min(width - taken, 20)) << taken
        self.states.append(self.states.pop(0))
        return low + offset & WORD


# Tables.

CONSTANT, RELATIVE, EXCLUSIVE, BY_RANK, COLUMN = range(5)

Argument = tuple[int, int]  # mode and value


@dataclass(frozen=True)
class RankClass:
    """Ranks with the same sequence of calls."""

    ranks: list[int]
    calls: list[int]
    grammar: Grammar
    vectors: list[list[int]]  # of the arguments that depend on the rank: a number per rank
    has_volumes: bool


def read_argument(reader: ByteReader) -> Argument:
    """Read the mode and the value of an argument."""
    code = reader.varint()
    mode, value = (code >> 3, reader.varint()) if code & 7 == 7 else (code & 7, code >> 3)
    return mode, unzigzag(value)


def members(numbers: Sequence[int], count: int) -> list[list[int]]:
    """Return the ranks of each of `count` classes."""
    return [[rank for rank, own in enumerate(numbers) if own == number] for number in range(count)]


class TraceTables:
    """Content of the section ``trace``."""

    def __init__(self, reader: ByteReader) -> None:
        ranks = range(reader.varint())
        self.ranks = len(ranks)
        self.merged = reader.byte() & 2 != 0
        self.precision = reader.text().decode()
        self.index_name, self.index_text = reader.text(), reader.text()
        count = reader.varint()
        self.names = [b""] * len(ranks)
        for named in members(read_vector(reader, ranks), count):
            shape = Shape(reader.text())
            numbers = [read_vector(reader, named) for _ in shape.holes]
            for place, rank in enumerate(named):
                self.names[rank] = shape.line([values[place] for values in numbers])
        self.has_last_newline = [value != 0 for value in read_vector(reader, ranks)]
        self.shapes = reader.list_of(lambda: Shape(reader.text(), reader.varint()))
        #: Shapes, and modes and values of arguments.
        self.calls: list[tuple[Shape, list[Argument]]] = []
        numbers_of: dict[tuple[int, ...], int] = {}
        self.kinds: list[int] = []
        for _ in range(reader.varint()):
            number = reader.varint()
            shape = self.shapes[number]
            self.calls.append((shape, [read_argument(reader) for _ in shape.holes]))
            kind = (number, *_kind(*self.calls[-1]))
            self.kinds.append(numbers_of.setdefault(kind, len(numbers_of)))
        count = reader.varint()
        self.class_of = read_vector(reader, ranks)
        self.classes = [self._read_class(reader, own) for own in members(self.class_of, count)]

    def _read_class(self, reader: ByteReader, ranks: list[int]) -> RankClass:
        head = reader.varint()
        calls: list[int] = []
        for _ in range(head >> 1):
            calls.append(reader.zigzag() + (calls[-1] + 1 if calls else 0))
        grammar = Grammar(reader)
        vectors: list[list[int]] = []
        for call in calls:
            for mode, _ in self.calls[call][1]:
                if mode == BY_RANK:
                    vectors.append(read_vector(reader, ranks, vectors))
        return RankClass(ranks, calls, grammar, vectors, head & 1 == 1)


def _kind(shape: Shape, arguments: list[Argument]) -> Iterator[int]:
    """Yield the properties that distinguish the value sites of calls with the same shape."""
    for place, (mode, value) in enumerate(arguments):
        is_rank = place < 64 and shape.rank_holes >> place & 1
        if mode == COLUMN:
            yield -1 - place
        elif mode == CONSTANT and shape.holes[place] == NUMBER and not is_rank and place < 6:
            yield from (place, value)


def _decoders(blocks: list[tuple[int, bytes, int]]) -> Iterator[BlockDecoder]:
    for count, block, checksum in blocks:
        if crc32c(block) != checksum:
            raise DamagedError("a block of values has a wrong checksum")
        decoder = BlockDecoder(block)
        for _ in range(count):
            yield decoder
        assert not decoder.words
        assert decoder.states in ([0] * 4, [LEAST_STATE] * 4)


class ColumnTables:
    """Content of the section ``columns``: sites (a value, or a model if it varies), blocks by rank.

    `seed`: random seed of drawn volumes; None: volumes are stored.
    """

    def __init__(
        self, reader: ByteReader, tables: TraceTables, stored: bytes, seed: int | None
    ) -> None:
        self.seed = seed
        self.volumes = reader.ascending()
        columns_of = {
            kind: sum(mode == COLUMN for mode, _ in arguments)
            for (_, arguments), kind in zip(tables.calls, tables.kinds, strict=True)
        }
        self.first_site: dict[tuple[int, int], int] = {}
        before = sites = 0
        for _ in range(reader.varint()):
            before += reader.varint()
            kind = reader.varint()
            self.first_site[before, kind] = sites
            sites += 1 + columns_of[kind]
        codes = [reader.varint() for _ in range(sites)]
        model_of: list[int] = []
        for _ in range(codes.count(0)):
            model_of.append((reader.varint() or max(model_of, default=-1) + 2) - 1)
        models = [SiteModel(reader) for _ in range(max(model_of, default=-1) + 1)]
        varying = iter(model_of)
        self.sites = [code - 1 if code else models[next(varying)] for code in codes]
        #: For each rank, the decoder of the block with each of its values.
        self.decoders: dict[int, Iterator[BlockDecoder]] = {}
        rank = at = 0
        for _ in range(reader.varint()):
            rank += reader.varint()
            reader.varint()  # number of lines that the column adds
            blocks = []
            for _ in range(reader.varint()):
                count, size, checksum = reader.varint(), reader.varint(), reader.fixed32()
                blocks.append((count, stored[at : at + size], checksum))
                at += size
            self.decoders[rank] = _decoders(blocks)

    def value(self, rank: int, number: int) -> int:
        """Return the next value of a rank, which is at this site."""
        site = self.sites[number]
        return site if isinstance(site, int) else next(self.decoders[rank]).next(site)

    def volume(self, number: int) -> int:
        """Return the code of a volume from its number in a column."""
        return self.volumes[number] if self.volumes else number

    def volume_before(self, rank: int, site: int, call: int) -> int:
        """Return 1 plus the code of the volume before a call of a rank; 0 if none."""
        model = self.sites[site]
        if self.seed is None or isinstance(model, int):
            value = self.value(rank, site)
        else:
            value = drawn_value(model, self.seed, rank, site, call)
        return 1 + self.volume(value - 1) if value else 0


# From calls to lines.


class TitTrace:
    """A packed trace of version 2.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If the file is damaged or requires a section that this reader does not support.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        known = ("trace", "columns", "values", "drawn volumes")
        contents = {}
        for section in read_sections(Path(path).read_bytes()):
            if section.name in known and section.version == 1:
                is_values = section.name == "values"
                contents[section.name] = section.stored if is_values else section.content()
            elif section.flags & REQUIRED:
                raise DamagedError(
                    f"it needs the section {section.name} of version {section.version}"
                )
        self._contents = contents
        self.tables = TraceTables(ByteReader(contents["trace"]))
        self.ranks, self.precision = self.tables.ranks, self.tables.precision
        seed = contents.get("drawn volumes")
        self._seed = None if seed is None else ByteReader(seed).varint()

    def _columns(self) -> ColumnTables | None:
        content, stored = self._contents.get("columns"), self._contents.get("values", b"")
        if content is None:
            return None
        return ColumnTables(ByteReader(content), self.tables, stored, self._seed)

    def _arguments(self, of_class: RankClass, rank: int) -> list[list[int | None]]:
        """Return the arguments of each call of a class on a rank; None: stored in its column."""
        position = of_class.ranks.index(rank)
        vectors = iter(of_class.vectors)
        number: dict[int, Callable[[int], int | None]] = {
            CONSTANT: lambda value: value,
            RELATIVE: lambda value: rank + value,
            EXCLUSIVE: lambda value: rank ^ value,
            BY_RANK: lambda _: next(vectors)[position],
            COLUMN: lambda _: None,
        }
        return [
            [number[mode](value) for mode, value in self.tables.calls[call][1]]
            for call in of_class.calls
        ]

    def _numbered(self, rank: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield the lines of a rank, each as line number, rank and text."""
        tables, columns = self.tables, self._columns()
        of_class = tables.classes[tables.class_of[rank]]
        arguments = self._arguments(of_class, rank)
        prefix = b"%d " % rank
        before = number = 0
        for count, place in enumerate(of_class.grammar.expanded()):
            call = of_class.calls[place]
            shape = tables.calls[call][0]
            kind = tables.kinds[call]
            site = columns.first_site.get((before, kind)) if columns else None
            before = kind + 1
            if columns and site is not None and of_class.has_volumes:
                volume = columns.volume_before(rank, site, count)
                if volume:
                    number += 1
                    yield number, rank, prefix + b"compute " + volume_text(volume - 1).encode()
            if not shape.is_silent:
                numbers = []
                for mark, value in zip(shape.holes, arguments[place], strict=True):
                    if value is None:
                        assert columns is not None and site is not None
                        site += 1
                        coded = columns.value(rank, site)
                        value = columns.volume(coded) if mark == VOLUME else unzigzag(coded)
                    numbers.append(value)
                number += numbers[-1] if shape.holes[-1:] == [STEP] else 1
                yield number, rank, (prefix if shape.has_rank else b"") + shape.line(numbers)

    def lines(self, rank: int) -> Iterator[bytes]:
        """Return the lines of a rank, without newlines."""
        return (text for _, _, text in self._numbered(rank))

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents of the packed files."""
        tables = self.tables
        if tables.index_name:
            yield tables.index_name.decode(), tables.index_text
        ranks = [self._numbered(rank) for rank in range(self.ranks)]
        for rank, numbered in enumerate([heapq.merge(*ranks)] if tables.merged else ranks):
            lines = list(numbered)
            end = b"\n" if lines and tables.has_last_newline[lines[-1][1]] else b""
            yield tables.names[rank].decode(), b"\n".join(text for _, _, text in lines) + end
