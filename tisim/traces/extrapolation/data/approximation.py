"""Numbers that are data, such as how many keys a sort sends to whom: means, and how they spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.extrapolation.data.vector_calls import LAYOUTS, DrawnNumbers
from tisim.traces.extrapolation.shapes import Shape
from tisim.traces.extrapolation.volumes import fit_volumes
from tisim.traces.tit import TitTrace

#: What may stand for data. The first is taken where nothing is said.
WAYS = ("distributions", "means")
# Quantiles that are kept of a distribution.
_QUANTILES = 129
# Ranks whose numbers for one another can be drawn: a trace has the square of them.
_MOST_DRAWN = 4096


@dataclass(frozen=True)
class Spread:
    """How the numbers for ranks of an action spread in one trace.

    Attributes
    ----------
    deviation
        Their standard deviation.
    quantiles
        Of their differences to the mean, in standard deviations.
    """

    deviation: float
    quantiles: NDArray[np.float64]

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Spread:
        """The spread of some numbers."""
        deviation = float(numbers.std())
        levels = np.linspace(0.0, 1.0, _QUANTILES)
        scaled = (numbers - numbers.mean()) / (deviation or 1.0)
        return cls(deviation, np.quantile(scaled, levels))


@dataclass
class Approximation:
    """Actions whose numbers are data.

    Parameters
    ----------
    how
        Of each action, which of `WAYS` is taken.
    """

    how: Mapping[str, str]
    _spreads: dict[str, dict[int, Spread]] = field(default_factory=dict)
    _means: dict[tuple[int, str, int], list[int] | None] = field(default_factory=dict)
    _drawn: dict[int, DrawnNumbers] = field(default_factory=dict)

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Approximation:
        """Of words such as ``alltoallv`` or ``alltoallv:means``.

        Raises
        ------
        InputError
            When a word is neither.
        """
        how = {}
        for word in words:
            action, colon, way = word.partition(":")
            if colon and way not in WAYS:
                raise InputError(
                    f"--approximate takes ACTION or ACTION:{' or ACTION:'.join(WAYS)}, not {word!r}"
                )
            how[action.lower()] = way or WAYS[0]
        return cls(how)

    def means(self, trace: TitTrace, shape: Shape) -> list[int] | None:
        """The mean of each number of a call, over all ranks and times; None: it is exact."""
        if shape.action not in self.how:
            return None
        key = (id(trace), shape.action, len(shape.marks))
        if key not in self._means:
            self._means[key] = self._read(trace, shape)
        return self._means[key]

    def _read(self, trace: TitTrace, shape: Shape) -> list[int] | None:
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
        """The numbers for ranks at the target; None: they are all the mean.

        Parameters
        ----------
        key
            Of the call: the same for all classes of ranks that make it.
        shape
            The call.
        mean
            What the numbers are on average.
        ranks
            The number of ranks that is asked for.

        Raises
        ------
        InputError
            When there are too many.
        """
        spreads = self._spreads.get(shape.action, {})
        if not shape.is_data or self.how[shape.action] != "distributions" or not spreads:
            return None
        if all(spread.deviation == 0.0 for spread in spreads.values()):
            return None
        if ranks > _MOST_DRAWN:
            raise InputError(
                f"the numbers of {shape.action} can be drawn for up to {_MOST_DRAWN:,} ranks, not "
                f"for {ranks:,}; --approximate {shape.action}:means takes their means"
            )
        if key not in self._drawn:
            deviations = [(size, spread.deviation) for size, spread in sorted(spreads.items())]
            deviation = fit_volumes(deviations, ranks, "auto").value
            quantiles = spreads[max(spreads)].quantiles
            self._drawn[key] = DrawnNumbers.of(
                shape.action, mean + deviation * quantiles, ranks, len(self._drawn)
            )
        return self._drawn[key]
