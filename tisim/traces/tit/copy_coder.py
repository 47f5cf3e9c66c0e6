"""Expands sections that are coded by copies (docs/tit.md, "Sections coded by copies")."""

from __future__ import annotations

from .bit_decoder import BitDecoder, Counter, check_expansion
from .numbers import DamagedError

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
