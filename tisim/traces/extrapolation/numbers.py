"""The numbers of calls and loops at the target, including those that differ between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.extrapolation.families import Fit, Slope, depends_on_side, fits, nearest_fits
from tisim.traces.extrapolation.features import (
    Feature,
    edge_features,
    group_features,
    indicators,
    plain_features,
    share_features,
)
from tisim.traces.extrapolation.findings import Findings
from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.guards import Scene
from tisim.traces.extrapolation.next_sizes import distinguishing_size, example_text
from tisim.traces.extrapolation.nodes import Mask
from tisim.traces.extrapolation.shapes import Numbers
from tisim.traces.extrapolation.volumes import (
    UnexplainedVolumeError,
    code_of,
    codes_of,
    fit_volumes,
    value_of,
    whole_volumes,
)
from tisim.traces.packed_program import VOLUME

# A number is c + a f, c + a f + b g or c + a f + b g + d f g, where f and g are features of a rank
# and a, b, c and d are functions of the number of ranks. The shortest of these sums that gives
# every number of every trace is used.

# Sample size of a trace's numbers for preselecting pairs of features.
_SAMPLE = 48
# Maximum denominator of a feature's factor.
_LARGEST_DENOMINATOR = 10_000
# Minimum number of traces that determine all factors.
_FEWEST_SOLVED = 2


@dataclass(frozen=True)
class Observation:
    """Data of one trace: its scenes, the ranks that make the call in them, and the numbers."""

    place: Place
    scenes: Sequence[Scene]
    present: Mask  # of all scenes, one after the other
    values: Ranks


@dataclass(frozen=True)
class RankFit:
    """A sum of features that gives all numbers."""

    text: str
    #: Its values at the target, concatenated over all scenes.
    values: Ranks
    #: Number of sizes that confirm it beyond those that determine its constants.
    confirming_sizes: int


class RankNumbers:
    """Finds sums of features. `present` masks the ranks that make the call in the scenes at the
    target, concatenated; the numbers of other ranks are ignored. If several functions fit, those
    of the grids in `prefer` are taken. `is_name` is true for numbers in file names.
    """

    def __init__(
        self,
        observations: Sequence[Observation],
        targets: Sequence[Scene],
        present: Mask,
        prefer: Sequence[str] = (),
        distributed_points: Sequence[int] = (),
        is_name: bool = False,
    ) -> None:
        self._seen = observations
        self._is_name = is_name
        self._distributed_points = distributed_points
        self._prefer = prefer
        self._targets = targets
        self._present = present
        place, staged = observations[-1].place, targets[0].stage is not None
        self._plain = plain_features(place, staged)
        self._edges = edge_features(place, staged)
        self._indicators = indicators(place, staged)
        self._shares = share_features(place, distributed_points)
        self._largest = max(observations, key=lambda sample: int(sample.present.sum()))
        self._known: dict[tuple[int, int], Ranks] = {}

    def fits(self) -> list[RankFit]:
        """Return the shortest sums, one of each set that agrees at the target."""
        for sums in (
            [(feature,) for feature in self._plain],
            [(feature,) for feature in self._groups()],
            # A share distinguishes all places of an axis, a condition only its two sides.
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

    def _groups(self) -> list[Feature]:
        """Return groups of ranks, if all ranks make the call once."""
        if any(len(sample.scenes) > 1 or not sample.present.all() for sample in self._seen):
            return []
        return group_features([sample.values for sample in self._seen])

    def _values(self, feature: Feature, scenes: Sequence[Scene]) -> Ranks:
        key = (id(feature), id(scenes))
        if key not in self._known:
            self._known[key] = np.concatenate([feature.values(scene) for scene in scenes])
        return self._known[key]

    def _pairs(self, features: Sequence[Feature], with_product: bool) -> list[tuple[Feature, ...]]:
        """Return pairs, with products if asked, that explain a sample of the largest trace."""
        sample = self._largest
        ranks = np.flatnonzero(sample.present)
        chosen = ranks[np.linspace(0, len(ranks) - 1, min(len(ranks), _SAMPLE)).astype(np.int64)]
        columns = np.array([self._values(feature, sample.scenes)[chosen] for feature in features])
        wanted = sample.values[chosen].astype(np.float64)
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
        """Yield the sums of these features that give all numbers."""
        solutions: dict[int, list[Fraction]] = {}
        open_ones: list[Observation] = []
        for sample in self._seen:
            solved = _solved(self._matrix(features, sample), sample.values[sample.present])
            if solved is None:
                return
            if solved:
                solutions[sample.place.ranks] = solved
            else:
                open_ones.append(sample)
        if len(solutions) < _FEWEST_SOLVED:
            return
        target = self._targets[0].place
        factors = [
            self._factors([*solutions], [*values], target)
            for values in zip(*solutions.values(), strict=True)
        ]
        if self._is_name:
            slopes = [[fit for fit in of if fit.family == "constant"] for of in factors[1:]]
            factors = [factors[0], *slopes]
        columns = [
            np.concatenate([feature.values(scene) for scene in self._targets])[self._present]
            for feature in features
        ]
        matrix = np.stack([np.ones_like(columns[0]), *columns], axis=1)
        for chosen in product(*factors):
            # In a small trace the factors are ambiguous, but the sum must give its numbers.
            if all(self._gives(chosen, features, sample) for sample in open_ones):
                values = _evaluated(chosen, matrix, target.ranks)
                if values is not None:
                    confirming_sizes = min(fit.confirming_sizes for fit in chosen)
                    everyone = np.zeros(len(self._present), dtype=np.int64)
                    everyone[self._present] = values
                    yield RankFit(_shown_ranks(chosen, features), everyone, confirming_sizes)

    def _factors(
        self, sizes: Sequence[int], values: Sequence[Fraction], target: Place
    ) -> list[Fit]:
        """Return the functions that give a factor, one of each set that agrees at the target."""
        usable = [
            fit
            for fit in fits(sizes, values, target.ranks, target.grids, self._distributed_points)
            if fit.confirming_sizes >= 1 and fit.evaluate(target.ranks) is not None
        ]
        by_value = {fit.evaluate(target.ranks): fit for fit in reversed(usable)}
        if len(by_value) > 1:  # as for numbers that are equal on all ranks
            of_side = {
                fit.evaluate(target.ranks): fit
                for fit in usable
                if depends_on_side(fit, self._prefer)
            }
            by_value = of_side or by_value
        return list(by_value.values())

    def _gives(
        self, chosen: Sequence[Fit], features: Sequence[Feature], sample: Observation
    ) -> bool:
        found = _evaluated(chosen, self._matrix(features, sample), sample.place.ranks)
        return found is not None and bool((found == sample.values[sample.present]).all())

    def _matrix(self, features: Sequence[Feature], sample: Observation) -> Ranks:
        columns = [self._values(feature, sample.scenes)[sample.present] for feature in features]
        return np.stack([np.ones_like(columns[0]), *columns], axis=1)


def _product(one: Feature, other: Feature) -> Callable[[Scene], Ranks]:
    return lambda scene: one.values(scene) * other.values(scene)


def _solved(matrix: Ranks, wanted: Ranks) -> list[Fraction] | None:
    """Return the factors of the columns; empty if ambiguous, None if there are none."""
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
    """Solve c + a f as `_solved` does, without rounding: shares of many points hardly differ."""
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
    """Evaluate the sum for a number of ranks; None unless it is whole on all ranks."""
    factors = [fit.evaluate(ranks) for fit in chosen]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    common = lcm(*(factor.denominator for factor in known))
    found = matrix @ np.array([int(factor * common) for factor in known], dtype=np.int64)
    return None if (found % common).any() else found // common


def _shown_ranks(chosen: Sequence[Fit], features: Sequence[Feature]) -> str:
    parts = [chosen[0].text] if chosen[0].text != "0" else []
    for fit, feature in zip(chosen[1:], features, strict=True):
        factor = "" if fit.text == "1" else f"{fit.text} * "
        parts.append(f"{factor}{feature.text}")
    return " + ".join(parts)


@dataclass
class NumberFitter:
    """Fits numbers over the number of ranks, and over the ranks if they differ between these."""

    #: The requested number of ranks.
    target: Place
    #: Receives the parameters.
    findings: Findings
    #: Functions a t that explain numbers of the program.
    slopes: frozenset[Slope] = frozenset()
    #: Numbers of points distributed over the sides of the grid.
    distributed_points: tuple[int, ...] = ()
    #: The functions a t that were found.
    found_slopes: set[Slope] = field(default_factory=set)

    def fit_by_size(
        self, site: str, what: str, sizes: list[int], values: Sequence[int | Fraction]
    ) -> int:
        """Return a number that is the same on all ranks."""
        found = fits(sizes, values, self.target.ranks, self.target.grids, self.distributed_points)
        usable = [fit for fit in found if fit.confirming_sizes >= 1]
        pairs = ", ".join(f"{v} at {p} ranks" for p, v in zip(sizes, values, strict=True))
        if not usable:
            near = "; ".join(nearest_fits(sizes, values, self.target.ranks, self.target.grids))
            raise InputError(f"{site}: no family explains {what}: {pairs}; the nearest: {near}")
        by_value = _by_value(usable, min(values) < 0)
        if not by_value:
            raise InputError(
                f"{site}: {what} ({pairs}) is {usable[0].text}, which is not a whole number from 0 "
                f"at {self.target.ranks} ranks"
            )
        asked = [fit for fit in usable if self.findings.prefers(*_names(fit))]
        if by_asked := _by_value(asked, min(values) < 0):
            usable, by_value = asked, by_asked
        # Preference among several: a constant difference from a function that explains another
        # number, then dependence on the sides of a grid that the user has named.
        for simpler in (
            [fit for fit in usable if fit.slope in self.slopes],
            [fit for fit in usable if depends_on_side(fit, self.findings.prefer)],
        ):
            if len(by_value) > 1:
                by_value = _by_value(simpler, min(values) < 0) or by_value
        listed = [(fit.family, _shown(fit), value) for value, fit in by_value.items()]
        example = ""
        if len(by_value) > 1:
            size = distinguishing_size(
                sizes, self.target.ranks, [fit.evaluate for fit in by_value.values()]
            )
            example = example_text(size)
        text, value = self.findings.choose(site, what, listed, example)
        fit = by_value[value]
        if len(by_value) == 1 and fit.slope and fit.family == fit.slope[0]:
            self.found_slopes.add(fit.slope)
        self.findings.note(site, what, text, fit.confirming_sizes)
        return value

    def fit_by_rank(
        self,
        site: str,
        what: str,
        mark: int,
        observations: Sequence[Observation],
        targets: Sequence[Scene],
        present: Mask,
        *,
        is_data: bool = False,
        is_name: bool = False,
    ) -> Numbers:
        """Return a number of each rank, or one for all, in each scene of the target. `mark` marks
        its hole in the text; `present` masks the ranks that make the call at the target, by scene.
        A mean (`is_data`) need not have an exact function. In a file name (`is_name`), the factors
        of features do not depend on the number of ranks.
        """
        chosen = [sample.values[sample.present] for sample in observations]
        if all((values == values[0]).all() for values in chosen):
            sizes = [sample.place.ranks for sample in observations]
            if is_data:
                means = [int(values[0]) for values in chosen]
                return np.array([self._mean(site, what, sizes, means)], dtype=np.int64)
            value = self._same(site, what, mark, sizes, [int(values[0]) for values in chosen])
            return np.array([value], dtype=np.int64)
        known = [*observations] if mark != VOLUME else _with_volumes(observations)
        prefer, distributed_points = self.findings.prefer, self.distributed_points
        numbers = (
            RankNumbers(known, targets, present, prefer, distributed_points, is_name)
            if known
            else None
        )
        found = numbers.fits() if numbers is not None else []
        if not found:
            sample, values = next(
                (sample, values)
                for sample, values in zip(observations, chosen, strict=True)
                if (values != values[0]).any()
            )
            refused = UnexplainedVolumeError if mark == VOLUME else InputError
            raise refused(
                f"{site}: {what} differs between the {sample.place.ranks} ranks: {few(values)}; "
                "no family explains it"
            )
        texts = [(fit.text, fit.text, fit) for fit in found]
        text, fit = self.findings.choose(site, what, texts)
        if mark == VOLUME and (fit.values < 0).any():
            raise UnexplainedVolumeError(
                f"{site}: {what} is {text}, which is below 0 on some of {self.target.ranks} ranks"
            )
        self.findings.note(site, what, text, fit.confirming_sizes)
        return codes_of(fit.values) if mark == VOLUME else fit.values

    def _mean(self, site: str, what: str, sizes: list[int], means: list[int]) -> int:
        pairs = [(ranks, float(mean)) for ranks, mean in zip(sizes, means, strict=True)]
        if len(set(means)) == 1:  # such as the types of a vector collective
            return self.fit_by_size(site, what, sizes, means)
        fit = fit_volumes(pairs, self.target.ranks, "auto")
        text = f"means: {fit.family} (within {fit.error:.1%} in cross-validation)"
        self.findings.note(site, what, text, len(sizes) - 2)
        return round(fit.value)

    def _same(self, site: str, what: str, mark: int, sizes: list[int], codes: list[int]) -> int:
        if mark != VOLUME:
            return self.fit_by_size(site, what, sizes, codes)
        if len(set(codes)) == 1:  # keep its spelling
            self.findings.note(site, what, "constant", len(set(sizes)) - 1)
            return codes[0]
        try:
            return code_of(self.fit_by_size(site, what, sizes, [value_of(code) for code in codes]))
        except InputError as error:
            raise UnexplainedVolumeError(error.message) from None


def _names(fit: Fit) -> list[str]:
    """Return its names in ``--prefer``: as in messages, and the name of its term."""
    return [fit.family, fit.text, _shown(fit), *(fit.slope or ())[:1]]


def _shown(fit: Fit) -> str:
    return f"{fit.text} = {fit.value}"


def _by_value(fits: Sequence[Fit], may_be_negative: bool) -> dict[int, Fit]:
    found: dict[int, Fit] = {}
    for fit in fits:
        if fit.value is not None and (fit.value >= 0 or may_be_negative):
            found.setdefault(fit.value, fit)
    return found


def _with_volumes(observations: Sequence[Observation]) -> list[Observation]:
    """Replace codes by volumes; empty if any volume is not a whole number."""
    known = [(sample, whole_volumes(sample.values)) for sample in observations]
    made = [replace(sample, values=volumes) for sample, volumes in known if volumes is not None]
    return made if len(made) == len(observations) else []


def few(values: NDArray[np.int64]) -> str:
    """Format the first of some numbers for messages."""
    shown = ", ".join(map(str, values[:8].tolist()))
    return f"{shown}, ..." if len(values) > 8 else shown
