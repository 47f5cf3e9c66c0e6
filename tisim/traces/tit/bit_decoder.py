"""The arithmetic coder and its counters (docs/tit.md, "Coded sections")."""

from __future__ import annotations

from .numbers import DamagedError

MOST_SEEN = 30
RATE = [131072 // (2 * seen + 3) for seen in range(MOST_SEEN + 1)]
WORD = 0xFFFFFFFF


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
        self.low, self.high = 0, WORD
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
            self.low = self.low << 8 & WORD
            self.high = (self.high << 8 & WORD) | 0xFF
            following = self.coded[self.at] if self.at < len(self.coded) else 0
            self.code = (self.code << 8 & WORD) | following
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
