"""One number for each of some ranks (docs/tit.md, "Vectors of ranks")."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from .grammar import read_grammar
from .numbers import ByteReader, DamagedError, signed, unzigzag

(
    CONSTANT,
    RELATIVE,
    EXCLUSIVE,
    SHIFTED,
    SEQUENCE,
    SEQUENCE_RELATIVE,
    SEQUENCE_EXCLUSIVE,
    SEQUENCE_STEPS,
    PLAIN,
    PLAIN_RELATIVE,
    PLAIN_STEPS,
    MULTIPLE,
) = range(12)


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
