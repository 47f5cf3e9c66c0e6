"""Random sparse communication: every rank has a few partners anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.traces.generate.pattern import Pattern, Program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Sparse(Pattern):
    """Every rank sends to a few others, drawn at random once, as on an unstructured mesh.

    Parameters
    ----------
    degree
        To how many others a rank sends; to all of them when there are fewer.
    nbytes
        Bytes of a message; or the least and the most of sizes whose logarithms are drawn uniformly
        for each pair of partners.
    """

    degree: int = 4
    nbytes: int | tuple[int, ...] = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("degree", self.degree >= 0, "at least 0")
        least, most = self._range
        self._check("nbytes", 0 <= least <= most, "a size, or the least and the most")

    @property
    def _range(self) -> tuple[int, int]:
        sizes = (self.nbytes,) if isinstance(self.nbytes, int) else tuple(self.nbytes)
        return (sizes[0], sizes[-1]) if len(sizes) <= 2 else (1, 0)

    @cached_property
    def _partners(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """To whom each rank sends and how much; shapes (ranks, degree)."""
        import numpy as np

        others = self.ranks - 1
        degree = min(self.degree, others)
        random = self.random(2)
        # How far on the partners are, all different (Floyd's sampling, all ranks at once).
        steps = np.empty((self.ranks, degree), dtype=np.int32)
        for column, most in enumerate(range(others - degree, others)):
            drawn = random.integers(0, most, self.ranks, dtype=np.int32, endpoint=True)
            taken = (steps[:, :column] == drawn[:, None]).any(axis=1)
            steps[:, column] = np.where(taken, most, drawn)
        ranks = np.arange(self.ranks, dtype=np.int64)[:, None]
        targets = ((ranks + 1 + steps) % self.ranks).astype(np.int32)
        least, most = self._range
        logarithms = random.uniform(np.log(least + 1), np.log(most + 1), targets.shape)
        sizes = (np.exp(logarithms) - 1).round().astype(np.int64)
        return targets, sizes.clip(least, most)

    @cached_property
    def _sources(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Messages by their target, and where those of each rank begin; shape (ranks + 1,)."""
        import numpy as np

        targets = self._partners[0].ravel()
        starts = np.zeros(self.ranks + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=self.ranks), out=starts[1:])
        return np.argsort(targets, kind="stable"), starts

    def iteration(self, rank: int) -> Program:
        targets, sizes = self._partners
        order, starts = self._sources
        incoming = order[starts[rank] : starts[rank + 1]]
        sources = (incoming // max(targets.shape[1], 1)).tolist()
        received = sizes.ravel()[incoming].tolist()
        sent = zip(targets[rank].tolist(), sizes[rank].tolist(), strict=True)
        messages: Program = [
            *(f"irecv {source} 0 {size}" for source, size in zip(sources, received, strict=True)),
            *(f"isend {target} 0 {size}" for target, size in sent),
        ]
        return [1.0, *messages, "waitall"] if messages else [1.0]
