"""Models of sites and the values coded with them (docs/tit.md, "Columns")."""

from __future__ import annotations

from .numbers import WORD, ByteReader, DamagedError

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
