"""Data-dependent numbers of calls, and calls with a number for each rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.extrapolation.shapes import Numbers, Shape
from tisim.traces.extrapolation.volumes import fit_volumes
from tisim.traces.packed_program import NUMBER, PackedTrace

_NUMBER = bytes([NUMBER])
#: By action, whether each of the first groups of numbers in its lines is one per rank.
LAYOUTS: dict[str, tuple[bool, ...]] = {
    "alltoallv": (False, True, False, True),
    "allgatherv": (False, True),
    "gatherv": (False, True),
    "scatterv": (True,),
    "reducescatter": (True,),
}


def collapsed(shape: Shape, values: list[Numbers], ranks: int) -> tuple[Shape, list[Numbers]]:
    """Reduce a call whose line has a number for each of the trace's ranks to one number; `values`
    are by hole and by calling rank. Raises InputError when the numbers for the ranks differ and
    are not approximated.
    """
    layout = LAYOUTS.get(shape.action, ())
    needed = sum(ranks if of_ranks else 1 for of_ranks in layout)
    # In a smaller communicator there are fewer numbers, and displacements as well as a root and two
    # types may follow them: the numbers for ranks cannot be identified.
    if not layout or not needed <= len(values) <= needed + 3 or set(shape.marks) != {NUMBER}:
        return shape, values
    kept: list[Numbers] = []
    texts = shape.text.split(_NUMBER)
    text = texts[0]
    vectors = []
    at, rank_holes = 0, 0
    for of_ranks in (*layout, *[False] * (len(values) - needed)):
        if of_ranks:
            vectors.append(len(kept))
        elif shape.is_rank(at):
            rank_holes |= 1 << len(kept)
        width = ranks if of_ranks else 1
        kept.append(_one(shape, np.stack(values[at : at + width])))
        at += width
        text += _NUMBER + texts[at]
    marks = (NUMBER,) * len(kept)
    return Shape(text, marks, rank_holes, tuple(vectors), is_data=shape.is_data), kept


def _one(shape: Shape, numbers: Numbers) -> Numbers:
    if (numbers != numbers[0]).any():
        if not shape.is_data:
            raise InputError(
                f"the numbers of {shape.action} differ between ranks; if they are data, "
                f"--approximate {shape.action} draws them from a distribution, and "
                f"{shape.action}:means uses their means"
            )
        return np.full(numbers.shape[1], round(float(numbers.mean())), dtype=np.int64)
    return np.asarray(numbers[0], dtype=np.int64)


@dataclass(frozen=True)
class DrawnNumbers:
    """Numbers for ranks drawn from a distribution, consistently on all ranks."""

    action: str
    #: For ``alltoallv``, the amount from each rank to each other rank; otherwise one per rank.
    numbers: Numbers

    @classmethod
    def of(cls, action: str, quantiles: NDArray[np.float64], ranks: int, seed: int) -> DrawnNumbers:
        """Draw the numbers from the quantiles of a distribution."""
        shape = (ranks, ranks) if action == "alltoallv" else (ranks,)
        levels = np.linspace(0.0, 1.0, len(quantiles))
        drawn = np.interp(np.random.default_rng(seed).random(shape), levels, quantiles)
        return cls(action, np.maximum(np.rint(drawn), 0.0).astype(np.int64))

    @property
    def own_hole(self) -> int | None:
        """Index of the hole with the calling rank's own number."""
        return {"allgatherv": 0, "gatherv": 0, "scatterv": 1}.get(self.action)

    def own(self, members: Numbers) -> Numbers:
        """Return the numbers of these ranks."""
        return np.asarray(self.numbers[members], dtype=np.int64)

    def columns(self, which: int, members: Numbers) -> list[Numbers]:
        """Return, for each rank, one number, or one per member where the members' numbers differ.
        For ``alltoallv``, `which` is 0 for sent amounts and 1 for received ones.
        """
        if self.numbers.ndim == 1:
            return list(self.numbers[:, None])
        return list(self.numbers[members].T if which == 0 else self.numbers[:, members])


def expand_vectors(
    shape: Shape,
    numbers: list[Numbers],
    ranks: int,
    members: Numbers,
    drawn: DrawnNumbers | None = None,
) -> tuple[bytes, int, list[Numbers]]:
    """Return the text of a call, its holes that take ranks, and its numbers, one for each rank.

    For each hole, `numbers` has one number, or one for each of the `members` that make the call.
    `drawn` replaces the numbers for ranks, which are otherwise all equal.
    """
    if not shape.vectors:
        return shape.text, shape.rank_holes, numbers
    texts = shape.text.split(_NUMBER)
    made: list[Numbers] = []
    text, rank_holes = texts[0], 0
    for hole, of_hole in enumerate(numbers):
        columns = [of_hole]
        if hole in shape.vectors:
            which = shape.vectors.index(hole)
            columns = [of_hole] * ranks if drawn is None else drawn.columns(which, members)
        elif drawn is not None and hole == drawn.own_hole:
            columns = [drawn.own(members)]
        if shape.is_rank(hole) and len(made) < 64:
            rank_holes |= 1 << len(made)
        text += b" ".join([_NUMBER] * len(columns)) + texts[hole + 1]
        made += columns
    return text, rank_holes, made


#: Replacements for data. The first is the default.
WAYS = ("distributions", "means")
# Number of quantiles kept of a distribution.
_QUANTILES = 129
# Maximum number of ranks for drawn numbers, which take quadratic space in a trace.
_MOST_DRAWN = 4096


@dataclass(frozen=True)
class Spread:
    """Spread of an action's numbers for ranks in one trace."""

    #: Their standard deviation.
    deviation: float
    #: Quantiles of their deviations from the mean, in standard deviations.
    quantiles: NDArray[np.float64]

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Spread:
        """Compute the spread of some numbers."""
        deviation = float(numbers.std())
        levels = np.linspace(0.0, 1.0, _QUANTILES)
        scaled = (numbers - numbers.mean()) / (deviation or 1.0)
        return cls(deviation, np.quantile(scaled, levels))


@dataclass
class Approximation:
    """Actions with data-dependent numbers."""

    #: The chosen entry of `WAYS`, by action.
    how: Mapping[str, str]
    _spreads: dict[str, dict[int, Spread]] = field(default_factory=dict)
    _means: dict[tuple[int, str, int], list[int] | None] = field(default_factory=dict)
    _drawn: dict[int, DrawnNumbers] = field(default_factory=dict)

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Approximation:
        """Parse words such as ``alltoallv`` or ``alltoallv:means``. Raises InputError for any other
        word.
        """
        how = {}
        for word in words:
            action, colon, way = word.partition(":")
            if colon and way not in WAYS:
                raise InputError(
                    f"--approximate must be ACTION or ACTION:{' or ACTION:'.join(WAYS)}, not "
                    f"{word!r}"
                )
            how[action.lower()] = way or WAYS[0]
        return cls(how)

    def means(self, trace: PackedTrace, shape: Shape) -> list[int] | None:
        """Return the mean of each number of a call over all ranks and calls; None if exact."""
        if shape.action not in self.how:
            return None
        key = (id(trace), shape.action, len(shape.marks))
        if key not in self._means:
            self._means[key] = self._read(trace, shape)
        return self._means[key]

    def _read(self, trace: PackedTrace, shape: Shape) -> list[int] | None:
        action, count = shape.action.encode(), len(shape.marks)
        rows = []
        for rank in range(trace.ranks):
            for line in trace.lines(rank):
                words = line.split()
                if len(words) == count + 2 and words[1].lower() == action:
                    rows.append([float(word.rpartition(b"=")[2]) for word in words[2:]])
        if not rows:
            return None
        table = np.array(rows)
        layout = LAYOUTS.get(shape.action, ())
        if True in layout and count >= sum(trace.ranks if many else 1 for many in layout):
            first = layout.index(True)
            spread = Spread.of(table[:, first : first + trace.ranks].ravel())
            self._spreads.setdefault(shape.action, {})[trace.ranks] = spread
        return [round(number) for number in table.mean(axis=0).tolist()]

    def drawn(self, key: int, shape: Shape, mean: int, ranks: int) -> DrawnNumbers | None:
        """Return the numbers for ranks at the target; None if all equal the mean. Calls with one
        `key` are the same call in all classes of ranks, and share their numbers. Raises InputError
        for too many ranks.
        """
        spreads = self._spreads.get(shape.action, {})
        if not shape.is_data or self.how[shape.action] != "distributions" or not spreads:
            return None
        if all(spread.deviation == 0.0 for spread in spreads.values()):
            return None
        if ranks > _MOST_DRAWN:
            raise InputError(
                f"the numbers of {shape.action} can be drawn for up to {_MOST_DRAWN:,} ranks, not "
                f"for {ranks:,}; --approximate {shape.action}:means uses their means"
            )
        if key not in self._drawn:
            deviations = [(size, spread.deviation) for size, spread in sorted(spreads.items())]
            deviation = fit_volumes(deviations, ranks, "auto").value
            quantiles = spreads[max(spreads)].quantiles
            self._drawn[key] = DrawnNumbers.of(
                shape.action, mean + deviation * quantiles, ranks, len(self._drawn)
            )
        return self._drawn[key]
