"""Expands sections that are coded adaptively (docs/tit.md, "Coded sections")."""

from __future__ import annotations

import math

from .bit_decoder import WORD, BitDecoder, Counter, check_expansion

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
            value = (value + self.before(order) + 1) * 0x2F0B4C47 & WORD
            self.contexts.append((value + order) << 8 & WORD)
        self.contexts.append(((self.before(2) + 1) * 0x7A4D5B13 + 9) << 8 & WORD)

    def probability(self) -> int:
        self.chosen: list[Counter] = []
        self.logits: list[int] = []
        longest = 0
        for number, context in enumerate(self.contexts):
            slot = ((context + self.partial) * HASH & WORD) >> self.shift
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
            place = (key * HASH & WORD) % self.places
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
