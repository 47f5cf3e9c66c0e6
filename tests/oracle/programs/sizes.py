"""Random message sizes, often at or beside a size where something changes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

#: Bytes of the types that both the trace format and the oracle know.
WIDTH_OF_TYPE = {0: 8, 1: 4, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1, 7: 8, 11: 4, 16: 1, 19: 4, 20: 8, 43: 16}
MAX_BYTES = 4 << 20
#: Bytes of MPI's envelope: factor tables are looked up for the size plus this.
ENVELOPE = 16


class Sizes:
    """Draws counts and types of messages.

    Parameters
    ----------
    rng
        The source of chance.
    thresholds
        Sizes in bytes where the configuration changes something.
    """

    def __init__(self, rng: random.Random, thresholds: Iterable[int]) -> None:
        self.rng = rng
        powers = {1 << k for k in range(4, 23)}
        self.own = sorted(set(thresholds)) or [65536]
        self.usual = sorted(powers | {1426, 3484, 5776, 9376, 12288, 15424, 65472, 81920, 327680})

    def nbytes(self, most: int) -> int:
        """A size from 0 to `most` bytes."""
        chance = self.rng.random()
        if chance < 0.05:
            return 0
        if chance < 0.5:
            edge = self.rng.choice(self.own if chance < 0.35 else self.usual)
            beside = edge + self.rng.choice([-ENVELOPE, 0]) + self.rng.choice([-1, 0, 1])
            if 0 <= beside <= most:
                return beside
        return int(math.exp(self.rng.uniform(0, math.log(most + 1)))) if most else 0

    def draw(self, default_width: int, most: int = MAX_BYTES) -> tuple[int, tuple[int, ...]]:
        """A count, and the word for its type (none: the default type)."""
        if self.rng.random() < 0.5:
            return self.nbytes(most) // default_width, ()
        kind = self.rng.choice(list(WIDTH_OF_TYPE))
        return self.nbytes(most) // WIDTH_OF_TYPE[kind], (kind,)
