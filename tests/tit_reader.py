"""A slow reader of packed traces, written from docs/tit.md alone.

It shows that the description is enough to read a file: tests compare it with the core's reader.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from os import PathLike
from pathlib import Path

from tisim.errors import InputError

# Numbers and texts as bytes, and the checksum of blocks.

WORD = (1 << 64) - 1


class DamagedError(InputError):
    """The bytes of a packed trace are not what was written."""


def signed(number: int) -> int:
    """A number modulo 2^64 as one from -2^63 to 2^63 - 1."""
    number &= WORD
    return number - (1 << 64) if number >> 63 else number


def unzigzag(code: int) -> int:
    """The number of either sign that a code stands for: 0, -1, 1, -2 and so on."""
    return code >> 1 if code & 1 == 0 else -(code >> 1) - 1


def varint_bytes(number: int) -> bytes:
    """A number that is not negative as a varint."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


class ByteReader:
    """Takes numbers and texts off the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def at_end(self) -> bool:
        return self.at == len(self.data)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise DamagedError("the bytes end too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def fixed32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if value > WORD or (byte == 0 and shift > 7):
            raise DamagedError("a number is not written as it should be")
        return value

    def zigzag(self) -> int:
        return unzigzag(self.varint())

    def text(self) -> bytes:
        return self.take(self.varint())


def _table() -> list[int]:
    table = []
    for byte in range(256):
        checksum = byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
        table.append(checksum)
    return table


_CHECKSUMS = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = checksum >> 8 ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    return checksum ^ 0xFFFFFFFF


# The arithmetic coder and its counters (docs/tit.md, "Coded sections").

MOST_SEEN = 30
RATE = [131072 // (2 * seen + 3) for seen in range(MOST_SEEN + 1)]
WORD_32 = 0xFFFFFFFF


class Counter:
    """How often a bit was 1: a probability in 1 / 65,536, and how often it was seen."""

    __slots__ = ("probability", "seen")

    def __init__(self) -> None:
        self.probability = 32768
        self.seen = 0

    def update(self, bit: int) -> None:
        target = 65535 if bit else 0
        self.probability += (target - self.probability) * RATE[self.seen] >> 16
        if self.seen < MOST_SEEN:
            self.seen += 1


class BitDecoder:
    """Takes bits from a code."""

    def __init__(self, coded: bytes) -> None:
        self.coded = coded
        self.low, self.high = 0, WORD_32
        self.code = int.from_bytes((coded + bytes(4))[:4], "big")
        self.at = 4

    def take(self, probability: int) -> int:
        cut = self.low + ((self.high - self.low) * probability >> 16)
        bit = int(self.code <= cut)
        if bit:
            self.high = cut
        else:
            self.low = cut + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & WORD_32
            self.high = (self.high << 8 & WORD_32) | 0xFF
            following = self.coded[self.at] if self.at < len(self.coded) else 0
            self.code = (self.code << 8 & WORD_32) | following
            self.at += 1
        return bit

    def take_by(self, counter: Counter) -> int:
        """Take a bit that a counter predicts, and learns from."""
        bit = self.take(counter.probability)
        counter.update(bit)
        return bit

    def finish(self) -> None:
        if not self.at - 4 <= len(self.coded) <= self.at:
            raise DamagedError("a coded section is not that of its content")


def check_expansion(coded: bytes, size: int) -> None:
    """Refuse what so few bytes cannot stand for."""
    if size // 2100 > len(coded):
        raise DamagedError("a coded section is too short for what it should hold")


# Expands sections that are coded adaptively (docs/tit.md, "Coded sections").

MOST_LOGIT = 2047
PROBABILITY_OF = [
    math.floor(65536 / (1 + math.exp(-logit / 256)) + 0.5)
    for logit in range(-MOST_LOGIT, MOST_LOGIT + 1)
]
LOGIT_OF = [math.floor(256 * math.log((i + 0.5) / (4095.5 - i)) + 0.5) for i in range(4096)]
HASH = 0x9E3779B1
ORDERS = 4
LEAST_MATCH = 4


class BitPredictor:
    """Predicts the next bit from all before."""

    def __init__(self, size: int) -> None:
        bits = 10
        while bits < 20 and 1 << bits < size * 32:
            bits += 1
        self.shift = 32 - bits
        self.counters: dict[int, Counter] = {}  # those that were met, of 2^bits
        self.last_seen: dict[int, int] = {}
        self.places = 1 << min(bits, 16)
        self.weights = [[65536 * 3 // 10] * (ORDERS + 2) for _ in range((ORDERS + 1) * 3)]
        self.match_counters = [Counter() for _ in range(16)]
        self.data = bytearray()
        self.match = self.match_length = 0
        self.start_byte()

    def before(self, back: int) -> int:
        return self.data[-back] if back <= len(self.data) else 0

    def start_byte(self) -> None:
        self.partial = 1
        self.known = 0
        self.contexts = [0]
        value = 0
        for order in range(1, ORDERS):
            value = (value + self.before(order) + 1) * 0x2F0B4C47 & WORD_32
            self.contexts.append((value + order) << 8 & WORD_32)
        self.contexts.append(((self.before(2) + 1) * 0x7A4D5B13 + 9) << 8 & WORD_32)

    def probability(self) -> int:
        self.chosen: list[Counter] = []
        self.logits: list[int] = []
        longest = 0
        for number, context in enumerate(self.contexts):
            slot = ((context + self.partial) * HASH & WORD_32) >> self.shift
            counter = self.counters.get(slot)
            if counter is None:
                counter = self.counters[slot] = Counter()
            self.chosen.append(counter)
            self.logits.append(LOGIT_OF[counter.probability >> 4])
            if counter.seen and number < ORDERS:
                longest = number + 1
        repeated = 0
        if self.match_length:
            expected = self.data[self.match] | 0x100
            if expected >> 8 - self.known == self.partial:
                self.expected_bit = expected >> 7 - self.known & 1
                counter = self.match_counters[min(self.match_length, 15)]
                logit = LOGIT_OF[counter.probability >> 4]
                repeated = logit if self.expected_bit else -logit
            else:
                self.match_length = 0
        self.logits.append(repeated)
        matched = 0 if self.match_length == 0 else 1 if self.match_length < 16 else 2
        self.set = self.weights[longest * 3 + matched]
        total = sum(map(int.__mul__, self.logits, self.set)) >> 16
        logit = max(-MOST_LOGIT, min(MOST_LOGIT, total))
        self.predicted = PROBABILITY_OF[logit + MOST_LOGIT]
        return self.predicted

    def update(self, bit: int) -> None:
        error = (65535 if bit else 0) - self.predicted
        weights = self.set
        for number, logit in enumerate(self.logits):
            weights[number] += logit * error * 2 + (1 << 15) >> 16
        for counter in self.chosen:
            counter.update(bit)
        if self.match_length:
            right = bit == self.expected_bit
            self.match_counters[min(self.match_length, 15)].update(int(right))
            if not right:
                self.match_length = 0
        self.partial = self.partial * 2 + bit
        self.known += 1
        if self.known == 8:
            self.end_byte()

    def end_byte(self) -> None:
        data = self.data
        data.append(self.partial & 0xFF)
        end = len(data)
        if self.match_length:
            self.match += 1
            self.match_length += 1
        if end >= LEAST_MATCH:
            key = int.from_bytes(data[-LEAST_MATCH:], "little")
            place = (key * HASH & WORD_32) % self.places
            last = self.last_seen.get(place, 0)
            if self.match_length == 0 and last > 0:
                self.match = last
                length = 0
                while length < min(32, last) and data[last - 1 - length] == data[end - 1 - length]:
                    length += 1
                self.match_length = length
            self.last_seen[place] = end
        self.start_byte()


def expand_bytes(coded: bytes, size: int) -> bytes:
    """The `size` bytes that were coded."""
    check_expansion(coded, size)
    predictor = BitPredictor(size)
    decoder = BitDecoder(coded)
    for _ in range(size * 8):
        predictor.update(decoder.take(predictor.probability()))
    decoder.finish()
    return bytes(predictor.data)


# Expands sections that are coded by copies (docs/tit.md, "Sections coded by copies").

MOST_BITS = 32


class Numbers:
    """The counters of numbers from 1 on."""

    def __init__(self) -> None:
        self.size = [Counter() for _ in range(MOST_BITS + 1)]
        self.bit = [[Counter() for _ in range(MOST_BITS)] for _ in range(MOST_BITS + 1)]

    def take(self, decoder: BitDecoder) -> int:
        bits = 1
        while decoder.take_by(self.size[bits]):
            bits += 1
            if bits > MOST_BITS:
                raise DamagedError("a coded section has too large a number")
        number = 1
        for place in range(bits - 2, -1, -1):
            number = 2 * number + decoder.take_by(self.bit[bits][place])
        return number


def expand_copies(coded: bytes, size: int) -> bytes:
    """The `size` bytes that were coded."""
    check_expansion(coded, size)
    decoder = BitDecoder(coded)
    is_copy = [Counter(), Counter()]
    literal = [Counter() for _ in range(256)]
    is_again = Counter()
    distances, lengths = Numbers(), Numbers()
    data = bytearray()
    distance = after_copy = 0
    while len(data) < size:
        after_copy = decoder.take_by(is_copy[after_copy])
        if not after_copy:
            known = 1
            while known < 256:
                known = 2 * known + decoder.take_by(literal[known])
            data.append(known & 0xFF)
            continue
        again = decoder.take_by(is_again)
        if not again:
            distance = distances.take(decoder)
        length = lengths.take(decoder) + (1 if again else 2)
        if not 0 < distance <= len(data) or length > size - len(data):
            raise DamagedError("a coded section copies bytes that are not there")
        for _ in range(length):
            data.append(data[-distance])
    decoder.finish()
    return bytes(data)


# A file of named sections (docs/tit.md, "The file").

MAGIC = b"\x89TIT\r\n\x1a\n"
REQUIRED, CODED, COPIED = 1, 2, 4
WAYS = (0, CODED, COPIED)


@dataclass(frozen=True)
class Section:
    """A section as it is stored."""

    name: str
    version: int
    flags: int
    stored: bytes
    size: int
    checksum: int

    def content(self) -> bytes:
        if crc32c(self.stored) != self.checksum:
            raise DamagedError(f"its section {self.name} is not what was written")
        if self.flags & CODED:
            return expand_bytes(self.stored, self.size)
        return expand_copies(self.stored, self.size) if self.flags & COPIED else self.stored


def read_sections(data: bytes) -> list[Section]:
    """The sections of a file, in order."""
    reader = ByteReader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise DamagedError("it does not begin as a packed trace")
    version = reader.fixed32()
    if version != 2:
        raise DamagedError(f"it is of version {version}, not 2")
    checksum = reader.fixed32()
    table = reader.text()
    if crc32c(table) != checksum:
        raise DamagedError("its table of sections is not what was written")
    entries = ByteReader(table)
    sections = []
    while not entries.at_end():
        name = entries.text().decode()
        number = entries.varint()
        flags = entries.byte()
        if flags & ~REQUIRED not in WAYS:
            raise DamagedError("a section is coded in no known way")
        stored = entries.varint()
        size = entries.varint() if flags & (CODED | COPIED) else stored
        sections.append(Section(name, number, flags, reader.take(stored), size, entries.fixed32()))
    if not reader.at_end():
        raise DamagedError("it is longer than its sections")
    return sections


def with_section(data: bytes, name: str, content: bytes) -> bytes:
    """The file with an optional section of version 1 more, at its end."""
    sections = [*read_sections(data), Section(name, 1, 0, content, len(content), crc32c(content))]
    table = b"".join(_entry(section) for section in sections)
    head = MAGIC + _fixed32(2) + _fixed32(crc32c(table)) + varint_bytes(len(table))
    return b"".join([head, table, *(section.stored for section in sections)])


def _entry(section: Section) -> bytes:
    name = section.name.encode()
    size = varint_bytes(section.size) if section.flags & (CODED | COPIED) else b""
    return b"".join(
        (
            varint_bytes(len(name)) + name,
            varint_bytes(section.version) + bytes([section.flags]),
            varint_bytes(len(section.stored)) + size,
            _fixed32(section.checksum),
        )
    )


def _fixed32(number: int) -> bytes:
    return number.to_bytes(4, "little")


# The texts of volumes (docs/tit.md, "Volumes").

MILLION = 1_000_000
SHORT_END = MILLION + 10 * 900_000
FIRST_LONG = 4_129 << 50
LONG_EXPONENTS = FIRST_LONG + 21 * 10**17


def volume_text(code: int) -> str:
    """The volume of a code as it was written."""
    if code < MILLION:
        return str(code)
    if code < SHORT_END:
        exponent, mantissa = divmod(code - MILLION, 900_000)
        digits = str(mantissa + 100_000).rstrip("0")
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e+{exponent + 6:02d}"
    if code >= FIRST_LONG:
        return _long_text(code)
    style = (code >> 50) - 1
    number = code & (1 << 50) - 1
    if style < 32:
        return _with_point(number, style)
    decimals, exponent = divmod(style - 32, 256)
    exponent -= 128
    return f"{_with_point(number, decimals)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _long_text(code: int) -> str:
    if code < LONG_EXPONENTS:
        decimals, number = divmod(code - FIRST_LONG, 10**17)
        return _with_point(number, decimals)
    exponent, mantissa = divmod(code - LONG_EXPONENTS, 99 * 10**15)
    if mantissa < 9 * 10**16:
        return f"{_with_point(mantissa + 10**16, 16)}e+{exponent:02d}"
    return f"{_with_point(mantissa - 89 * 10**15, 15)}e+{exponent:02d}"


def _with_point(number: int, decimals: int) -> str:
    text = str(number).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


# Lines and names without their numbers (docs/tit.md, "Shapes").

NUMBER, VOLUME, NO_RANK, STEP, SILENT, PADDED, LITERAL = range(1, 8)
HOLES = (NUMBER, VOLUME, STEP, PADDED)


@dataclass(frozen=True)
class Shape:
    """Parts in their order: plain bytes, or (mark of a hole, width)."""

    parts: tuple[bytes | tuple[int, int], ...]
    has_rank: bool
    is_silent: bool
    rank_holes: int = 0

    @property
    def holes(self) -> list[int]:
        """The marks of the holes."""
        return [part[0] for part in self.parts if not isinstance(part, bytes)]

    def line(self, numbers: Sequence[int]) -> bytes:
        """The text with these numbers."""
        out = b""
        values = iter(numbers)
        for part in self.parts:
            if isinstance(part, bytes):
                out += part
                continue
            mark, width = part
            value = next(values)
            if mark == VOLUME:
                out += volume_text(value).encode()
            elif mark != STEP:
                out += str(value).rjust(width, "0").encode()
        return out


def shape_of(text: bytes, rank_holes: int = 0) -> Shape:
    """The shape of a text with marks."""
    parts: list[bytes | tuple[int, int]] = []
    plain = b""
    at = 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark > LITERAL:
            plain += bytes([mark])
        elif mark == LITERAL:
            plain += text[at : at + 1]
            at += 1
        elif mark in HOLES:
            parts += [plain, (mark, text[at] if mark == PADDED else 0)]
            plain = b""
            at += mark == PADDED
    parts.append(plain)
    return Shape(tuple(parts), text[:1] != bytes([NO_RANK]), text == bytes([SILENT]), rank_holes)


# Sequences as grammars (docs/tit.md, "Grammars").

DEEPEST = 128


@dataclass
class Grammar:
    """Rules of items: (whether it is a rule, its number, how often in a row)."""

    rules: list[list[tuple[bool, int, int]]] = field(default_factory=lambda: [[]])
    lengths: list[int] = field(default_factory=lambda: [0])

    def expanded(self) -> Iterator[int]:
        """The terminals of the sequence."""
        path = [iter([(True, 0, 1)])]
        while path:
            item = next(path[-1], None)
            if item is None:
                path.pop()
                continue
            is_rule, number, times = item
            for _ in range(0 if is_rule else times):
                yield number
            if is_rule:
                path.append(self._repeated(number, times))

    def _repeated(self, rule: int, times: int) -> Iterator[tuple[bool, int, int]]:
        for _ in range(times):
            yield from self.rules[rule]


def read_grammar(reader: ByteReader, terminals: int) -> Grammar:
    """The next grammar, of a sequence of numbers below `terminals`."""
    grammar = Grammar()
    next_terminal = 0
    path = [(0, 1)]
    while True:
        code = reader.varint()
        kind = code >> 1
        times = 2 + reader.varint() if code & 1 else 1
        rule = path[-1][0]
        if kind == 0:  # the end of the rule
            _, repeated = path.pop()
            length = grammar.lengths[rule]
            if not path:
                return grammar
            if length == 0 or times != 1:
                raise DamagedError("a rule is empty")
            grammar.lengths[path[-1][0]] += length * repeated
            continue
        if kind == 2:  # a new rule, which follows
            if len(path) == DEEPEST:
                raise DamagedError("rules are too deep in one another")
            number = len(grammar.rules)
            grammar.rules[rule].append((True, number, times))
            grammar.rules.append([])
            grammar.lengths.append(0)
            path.append((number, times))
            continue
        symbol = 2 * next_terminal if kind == 1 else kind - 3
        number = symbol >> 1
        if symbol & 1:
            if number >= len(grammar.rules) or any(number == open_one for open_one, _ in path):
                raise DamagedError("a rule uses an unknown rule")
            grammar.lengths[rule] += grammar.lengths[number] * times
        else:
            if number >= terminals:
                raise DamagedError("a rule has an unknown terminal")
            next_terminal = max(next_terminal, number + 1)
            grammar.lengths[rule] += times
        if grammar.lengths[rule] >> 63:
            raise DamagedError("a sequence is too long")
        grammar.rules[rule].append((bool(symbol & 1), number, times))


# One number for each of some ranks (docs/tit.md, "Vectors of ranks").

# Forms; the first three have the numbers of the modes of arguments.
(
    SHIFTED,
    SEQUENCE,
    SEQUENCE_RELATIVE,
    SEQUENCE_EXCLUSIVE,
    SEQUENCE_STEPS,
    PLAIN,
    PLAIN_RELATIVE,
    PLAIN_STEPS,
    MULTIPLE,
) = range(3, 12)


def read_vector(
    reader: ByteReader, ranks: Sequence[int], before: Sequence[list[int]] = ()
) -> list[int]:
    """The number of each of `ranks`; `before` are the vectors before it of their class."""
    form = reader.varint()
    if form > MULTIPLE:
        raise DamagedError("a vector of ranks has no known form")
    if form == MULTIPLE:
        return _read_multiple(reader, ranks, before)
    if form in (SEQUENCE, SEQUENCE_RELATIVE, SEQUENCE_EXCLUSIVE, SEQUENCE_STEPS):
        return _read_sequence(reader, form, ranks)
    if form in (PLAIN, PLAIN_RELATIVE, PLAIN_STEPS):
        return _read_plain(reader, form, ranks)
    constant = reader.zigzag()
    if form == CONSTANT:
        return [constant] * len(ranks)
    if form == RELATIVE:
        return [signed(rank + constant) for rank in ranks]
    if form == EXCLUSIVE:
        return [rank ^ constant for rank in ranks]
    moved = list(ranks)
    for _ in range(reader.varint()):
        span = reader.varint()
        distance = reader.varint()
        if distance >= span:
            raise DamagedError("ranks are moved out of their block")
        moved = [rank - rank % span + (rank + distance) % span for rank in moved]
    return [signed(rank + constant) for rank in moved]


def _read_sequence(reader: ByteReader, form: int, ranks: Sequence[int]) -> list[int]:
    has_bit = form in (SEQUENCE_RELATIVE, SEQUENCE_EXCLUSIVE)
    codes = []
    last = 0
    for _ in range(reader.varint()):
        code = reader.varint()
        last = signed(last + unzigzag(code >> 1 if has_bit else code))
        codes.append((last, has_bit and code & 1 == 1))
    grammar = read_grammar(reader, len(codes))
    if grammar.lengths[0] != len(ranks):
        raise DamagedError("a vector of ranks does not have a value for each rank")
    chosen = [codes[number] for number in grammar.expanded()]
    if form == SEQUENCE_STEPS:
        return [signed(total) for total in accumulate(value for value, _ in chosen)]
    values = []
    for (value, alone), rank in zip(chosen, ranks, strict=True):
        if form == SEQUENCE_RELATIVE and not alone:
            value = signed(value + rank)
        elif form == SEQUENCE_EXCLUSIVE and not alone:
            value ^= rank
        values.append(value)
    return values


def _read_plain(reader: ByteReader, form: int, ranks: Sequence[int]) -> list[int]:
    least = reader.zigzag()
    width = reader.byte()
    if not 1 <= width <= 8:
        raise DamagedError("a number is not written as it should be")
    beyond = [0] * len(ranks)
    for _ in range(width):
        beyond = [
            value << 8 | byte for value, byte in zip(beyond, reader.take(len(ranks)), strict=True)
        ]
    values = [signed(least + value) for value in beyond]
    if form == PLAIN_RELATIVE:
        return [signed(value + rank) for value, rank in zip(values, ranks, strict=True)]
    return values if form == PLAIN else [signed(total) for total in accumulate(values)]


def _read_multiple(
    reader: ByteReader, ranks: Sequence[int], before: Sequence[list[int]]
) -> list[int]:
    back = reader.varint()
    times = reader.varint()
    parts = reader.varint()
    if back >= len(before) or parts == 0:
        raise DamagedError("a vector is of multiples of nothing")
    rest = read_vector(reader, ranks)
    return [
        signed(signed(other * times) // parts + value)
        for other, value in zip(before[-1 - back], rest, strict=True)
    ]


# Models of sites and the values coded with them (docs/tit.md, "Columns").

FREQUENCY_BITS = 12
ALL = 1 << FREQUENCY_BITS
OFFSET_BITS = 20
LEAST_STATE = 1 << 32


class SiteModel:
    """The bins of a site's values, by slot: (low, width, frequency, number in the bin)."""

    def __init__(self, bins: list[tuple[int, int]], weights: list[int]) -> None:
        total = sum(weights)
        if total > ALL:
            raise DamagedError("the weights of a model are too large")
        ends = [sum(weights[: i + 1]) * ALL // total for i in range(len(weights))]
        self.frequencies = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        self.slots = [
            (*bins[place], self.frequencies[place], number)
            for place, number in alias_slots(self.frequencies)
        ]


def alias_slots(frequencies: list[int]) -> list[tuple[int, int]]:
    """For each of the 4,096 slots its bin and its number among the bin's slots (Vose's method)."""
    bits = (len(frequencies) - 1).bit_length()
    count = 1 << bits
    size = ALL >> bits
    left = [*frequencies, *[0] * (count - len(frequencies))]
    small = [i for i in range(count) if left[i] < size]
    large = [i for i in range(count) if left[i] >= size]
    own = [size] * count
    other = [0] * count
    while small and large:
        filled = small.pop()
        giver = large[-1]
        own[filled] = left[filled]
        other[filled] = giver
        left[giver] -= size - left[filled]
        if left[giver] < size:
            large.pop()
            small.append(giver)
    used = own.copy()
    slots = []
    for bucket in range(count):
        slots += [(bucket, number) for number in range(own[bucket])]
        giver = other[bucket]
        lent = size - own[bucket]
        slots += [(giver, used[giver] + number) for number in range(lent)]
        used[giver] += lent
    return slots


def read_model(reader: ByteReader) -> SiteModel:
    """The next model: the tree of its bins, then their weights."""
    bits = reader.varint()
    if bits > 64:
        raise DamagedError("a value has too many bits")
    bins = []
    ranges = [(0, bits)]
    while ranges:
        low, width = ranges.pop()
        node = reader.byte()
        if node == 0:
            bins.append((low, width))
            if len(bins) > ALL:
                raise DamagedError("a model has too many bins")
            continue
        if node > 3 or width == 0:
            raise DamagedError("the bins of a model are no tree")
        if node != 2:
            ranges.append((low + (1 << width - 1), width - 1))
        if node != 3:
            ranges.append((low, width - 1))
    weights = [1 + reader.varint() for _ in bins] if len(bins) > 1 else [1]
    return SiteModel(bins, weights)


def _scrambled(number: int) -> int:
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ number >> 27) * 0x94D049BB133111EB & WORD
    return number ^ number >> 31


def drawn_value(model: SiteModel, seed: int, rank: int, site: int, call: int) -> int:
    """A value drawn from a model: always the same for the same numbers."""
    step = 0x9E3779B97F4A7C15
    random = _scrambled(seed + step & WORD)
    for part in (rank, site, call):
        random = _scrambled((random ^ part) + step & WORD)
    low, width, _, _ = model.slots[random & ALL - 1]
    return low + (_scrambled(random + step & WORD) & (1 << width) - 1)


class ColumnDecoder:
    """Takes values from a block of a column."""

    def __init__(self, block: bytes) -> None:
        sizes = [size for both in block[-2:] for size in (both & 15, both >> 4)]
        at = len(block) - 2 - sum(sizes)
        if max(sizes) > 8 or at < 0 or at % 4:
            raise DamagedError("the values of a column are none")
        self.words = block[:at]
        self.at = 0
        self.states = []
        for size in sizes:
            self.states.append(int.from_bytes(block[at : at + size], "little"))
            at += size

    def _refill(self) -> None:
        if self.states[0] < LEAST_STATE and self.at < len(self.words):
            word = int.from_bytes(self.words[self.at : self.at + 4], "little")
            self.states[0] = self.states[0] << 32 | word
            self.at += 4

    def next(self, model: SiteModel) -> int:
        low, width, frequency, number = model.slots[self.states[0] & ALL - 1]
        product = frequency * (self.states[0] >> FREQUENCY_BITS) + number
        taken = min(width, OFFSET_BITS)
        offset = product & (1 << taken) - 1
        self.states[0] = product >> taken
        self._refill()
        while taken < width:
            more = min(width - taken, OFFSET_BITS)
            offset |= (self.states[0] & (1 << more) - 1) << taken
            self.states[0] >>= more
            self._refill()
            taken += more
        self.states.append(self.states.pop(0))
        return low + offset & WORD

    def finished(self) -> bool:
        ends = ([0] * len(self.states), [LEAST_STATE] * len(self.states))
        return self.at == len(self.words) and self.states in ends


# The tables of a packed trace (docs/tit.md, "The sections trace and columns").

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


# The attributes of calls (docs/tit.md, "The sections attributes and attribute values").

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


# The lines of one rank (docs/tit.md, "From calls to lines").


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


# The lines of a packed trace.

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
