"""Numbers that differ from rank to rank, as exact sums of what a rank is.

A number is c + a f, c + a f + b g or c + a f + b g + d f g, where f and g are features of a rank
and a, b, c and d are functions of the number of ranks. The shortest of these sums that gives every
number of every trace is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np

from tisim.traces.extrapolation.families import Fit, fits, is_of_side
from tisim.traces.extrapolation.features import Feature, edge_features, indicators, plain_features
from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.guards import Scene
from tisim.traces.extrapolation.nodes import Mask
from tisim.traces.extrapolation.shares import share_features

# Numbers of a trace that show which pairs of features may explain them all.
_SAMPLE = 48
# Factors of features have no larger denominators.
_LARGEST_DENOMINATOR = 10_000
# Traces that must determine all factors.
_FEWEST_SOLVED = 2


@dataclass(frozen=True)
class Seen:
    """What one trace shows: its scenes, who makes the call in them, and with which numbers."""

    place: Place
    scenes: Sequence[Scene]
    present: Mask  # of all scenes, one after the other
    values: Ranks


@dataclass(frozen=True)
class RankFit:
    """A sum that gives all numbers.

    Attributes
    ----------
    text
        The sum.
    values
        What it says of the target, of all its scenes one after the other.
    confirmed
        How many sizes confirm it beyond those that determine its constants.
    """

    text: str
    values: Ranks
    confirmed: int


class RankNumbers:
    """Finds sums of features.

    Parameters
    ----------
    seen
        The traces that have the call.
    targets
        The scenes at the target.
    present
        Who makes the call in them, one after the other. The numbers of others do not matter.
    prefer
        Grids whose functions are taken where several fit.
    dealt
        Points that are dealt over the sides of the grid.
    """

    def __init__(
        self,
        seen: Sequence[Seen],
        targets: Sequence[Scene],
        present: Mask,
        prefer: Sequence[str] = (),
        dealt: Sequence[int] = (),
    ) -> None:
        self._seen = seen
        self._dealt = dealt
        self._prefer = prefer
        self._targets = targets
        self._present = present
        place, staged = seen[-1].place, targets[0].stage is not None
        self._plain = plain_features(place, staged)
        self._edges = edge_features(place, staged)
        self._indicators = indicators(place, staged)
        self._shares = share_features(place, dealt)
        self._largest = max(seen, key=lambda one: int(one.present.sum()))
        self._known: dict[tuple[int, int], Ranks] = {}

    def fits(self) -> list[RankFit]:
        """The shortest sums; all that differ at the target."""
        for sums in (
            [(feature,) for feature in self._plain],
            # A share explains all places of an axis, a condition those on its two sides.
            [(feature,) for feature in self._shares],
            [(feature,) for feature in self._indicators],
            self._pairs(self._plain, False),
            self._pairs(self._edges, True),
        ):
            found: dict[bytes, RankFit] = {}
            for features in sums:
                for fit in self._fitted(features):
                    found.setdefault(fit.values.tobytes(), fit)
            if found:
                return list(found.values())
        return []

    def _values(self, feature: Feature, scenes: Sequence[Scene]) -> Ranks:
        key = (id(feature), id(scenes))
        if key not in self._known:
            self._known[key] = np.concatenate([feature.values(scene) for scene in scenes])
        return self._known[key]

    def _pairs(self, features: Sequence[Feature], with_product: bool) -> list[tuple[Feature, ...]]:
        """Pairs, and their products, that explain a sample of the largest trace."""
        one = self._largest
        ranks = np.flatnonzero(one.present)
        chosen = ranks[np.linspace(0, len(ranks) - 1, min(len(ranks), _SAMPLE)).astype(np.int64)]
        columns = np.array([self._values(feature, one.scenes)[chosen] for feature in features])
        wanted = one.values[chosen].astype(np.float64)
        made: list[tuple[Feature, ...]] = []
        for first, feature in enumerate(features[:-1]):
            f = np.broadcast_to(columns[first], columns[first + 1 :].shape)
            g = columns[first + 1 :]
            parts = [np.ones_like(f), f, g] + ([f * g] if with_product else [])
            matrix = np.stack(parts, axis=2).astype(np.float64)
            solved = np.linalg.pinv(matrix) @ wanted
            missed = np.abs(np.einsum("nij,nj->ni", matrix, solved) - wanted).max(axis=1)
            for place in np.flatnonzero(missed < 1e-6 * max(1.0, np.abs(wanted).max())):
                other = features[first + 1 + int(place)]
                both = Feature(f"{feature.text} {other.text}", _product(feature, other))
                made.append((feature, other, both) if with_product else (feature, other))
        return made

    def _fitted(self, features: Sequence[Feature]) -> Iterator[RankFit]:
        """The sums of these features that give all numbers."""
        solutions: dict[int, list[Fraction]] = {}
        open_ones: list[Seen] = []
        for one in self._seen:
            solved = _solved(self._matrix(features, one), one.values[one.present])
            if solved is None:
                return
            if solved:
                solutions[one.place.ranks] = solved
            else:
                open_ones.append(one)
        if len(solutions) < _FEWEST_SOLVED:
            return
        target = self._targets[0].place
        factors = [
            self._factors([*solutions], [*values], target)
            for values in zip(*solutions.values(), strict=True)
        ]
        columns = [
            np.concatenate([feature.values(scene) for scene in self._targets])[self._present]
            for feature in features
        ]
        matrix = np.stack([np.ones_like(columns[0]), *columns], axis=1)
        for chosen in product(*factors):
            # Of a small trace the sum is no only one, but it must give its numbers.
            if all(self._gives(chosen, features, one) for one in open_ones):
                values = _evaluated(chosen, matrix, target.ranks)
                if values is not None:
                    confirmed = min(fit.confirmed for fit in chosen)
                    everyone = np.zeros(len(self._present), dtype=np.int64)
                    everyone[self._present] = values
                    yield RankFit(_shown(chosen, features), everyone, confirmed)

    def _factors(
        self, sizes: Sequence[int], values: Sequence[Fraction], target: Place
    ) -> list[Fit]:
        """The functions that give a factor, one of those that say the same of the target."""
        usable = [
            fit
            for fit in fits(sizes, values, target.ranks, target.grids, self._dealt)
            if fit.confirmed >= 1 and fit.at(target.ranks) is not None
        ]
        found = {fit.at(target.ranks): fit for fit in reversed(usable)}
        if len(found) > 1:  # as for numbers that are the same for all ranks
            of_side = {fit.at(target.ranks): fit for fit in usable if is_of_side(fit, self._prefer)}
            found = of_side or found
        return list(found.values())

    def _gives(self, chosen: Sequence[Fit], features: Sequence[Feature], one: Seen) -> bool:
        found = _evaluated(chosen, self._matrix(features, one), one.place.ranks)
        return found is not None and bool((found == one.values[one.present]).all())

    def _matrix(self, features: Sequence[Feature], one: Seen) -> Ranks:
        columns = [self._values(feature, one.scenes)[one.present] for feature in features]
        return np.stack([np.ones_like(columns[0]), *columns], axis=1)


def _product(one: Feature, other: Feature) -> Callable[[Scene], Ranks]:
    return lambda scene: one.values(scene) * other.values(scene)


def _solved(matrix: Ranks, wanted: Ranks) -> list[Fraction] | None:
    """The factors of the columns; none: there are many, None: there are none."""
    if matrix.shape[1] == 2:
        return _line(matrix[:, 1], wanted)
    solution, _, rank, _ = np.linalg.lstsq(matrix.astype(np.float64), wanted, rcond=None)
    if np.abs(matrix @ solution - wanted).max() > 1e-6 * max(1.0, float(np.abs(wanted).max())):
        return None
    if rank < matrix.shape[1]:
        return []
    exact = [Fraction(float(s)).limit_denominator(_LARGEST_DENOMINATOR) for s in solution]
    common = lcm(*(factor.denominator for factor in exact))
    numerators = np.array([int(factor * common) for factor in exact], dtype=np.int64)
    return exact if (matrix @ numerators == wanted * common).all() else None


def _line(column: Ranks, wanted: Ranks) -> list[Fraction] | None:
    """The same of c + a f, without rounding: shares of many points hardly differ."""
    other = int((column != column[0]).argmax())
    if column[other] == column[0]:
        return [] if (wanted == wanted[0]).all() else None
    slope = Fraction(int(wanted[other] - wanted[0]), int(column[other] - column[0]))
    offset = int(wanted[0]) - slope * int(column[0])
    if slope.denominator > _LARGEST_DENOMINATOR:
        return None
    top, bottom, rest = slope.numerator, slope.denominator, int(offset * slope.denominator)
    return [offset, slope] if (column * top + rest == wanted * bottom).all() else None


def _evaluated(chosen: Sequence[Fit], matrix: Ranks, ranks: int) -> Ranks | None:
    """The sum for a number of ranks; None where it is no whole number everywhere."""
    factors = [fit.at(ranks) for fit in chosen]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    common = lcm(*(factor.denominator for factor in known))
    found = matrix @ np.array([int(factor * common) for factor in known], dtype=np.int64)
    return None if (found % common).any() else found // common


def _shown(chosen: Sequence[Fit], features: Sequence[Feature]) -> str:
    parts = [chosen[0].text] if chosen[0].text != "0" else []
    for fit, feature in zip(chosen[1:], features, strict=True):
        factor = "" if fit.text == "1" else f"{fit.text} * "
        parts.append(f"{factor}{feature.text}")
    return " + ".join(parts)
