"""The numbers of calls and loops at the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.extrapolation.families import Fit, Slope, fits, is_of_side, nearest
from tisim.traces.extrapolation.findings import Findings
from tisim.traces.extrapolation.grids import Place
from tisim.traces.extrapolation.guards import Scene
from tisim.traces.extrapolation.nodes import Mask
from tisim.traces.extrapolation.rank_numbers import RankNumbers, Seen
from tisim.traces.extrapolation.shapes import Numbers
from tisim.traces.extrapolation.volume_codes import code_of, codes_of, value_of, whole_volumes
from tisim.traces.extrapolation.volumes import UnexplainedVolumeError, fit_volumes
from tisim.traces.tit.shapes import VOLUME


@dataclass
class NumberFitter:
    """Fits numbers over the number of ranks, and over the ranks where they differ.

    Parameters
    ----------
    target
        The number of ranks that is asked for.
    findings
        Where parameters go.
    slopes
        Functions a t that explain numbers of the program.
    """

    target: Place
    findings: Findings
    slopes: frozenset[Slope] = frozenset()
    #: Points that are dealt over the sides of the grid.
    dealt: tuple[int, ...] = ()
    #: The functions a t that were found.
    found_slopes: set[Slope] = field(default_factory=set)

    def by_size(
        self, site: str, what: str, sizes: list[int], values: Sequence[int | Fraction]
    ) -> int:
        """A number that is the same for all ranks."""
        found = fits(sizes, values, self.target.ranks, self.target.grids, self.dealt)
        usable = [fit for fit in found if fit.confirmed >= 1]
        pairs = ", ".join(f"{v} at {p} ranks" for p, v in zip(sizes, values, strict=True))
        if not usable:
            near = "; ".join(nearest(sizes, values, self.target.ranks, self.target.grids))
            raise InputError(f"{site}: no family explains {what}: {pairs}; the nearest: {near}")
        by_value = _by_value(usable, min(values) < 0)
        if not by_value:
            raise InputError(
                f"{site}: {what} ({pairs}) is {usable[0].text}, which is no whole number from 0 "
                f"at {self.target.ranks} ranks"
            )
        asked = [fit for fit in usable if self.findings.prefers(*_names(fit))]
        if by_asked := _by_value(asked, min(values) < 0):
            usable, by_value = asked, by_asked
        # Of several: what differs by a constant from what explains another number, then what
        # depends on the sides of a grid that the user has named.
        for simpler in (
            [fit for fit in usable if fit.slope in self.slopes],
            [fit for fit in usable if is_of_side(fit, self.findings.prefer)],
        ):
            if len(by_value) > 1:
                by_value = _by_value(simpler, min(values) < 0) or by_value
        listed = [(fit.family, _shown(fit), value) for value, fit in by_value.items()]
        text, value = self.findings.only(site, what, listed)
        fit = by_value[value]
        if len(by_value) == 1 and fit.slope and fit.family == fit.slope[0]:
            self.found_slopes.add(fit.slope)
        self.findings.note(site, what, text, fit.confirmed)
        return value

    def by_rank(
        self,
        site: str,
        what: str,
        mark: int,
        seen: Sequence[Seen],
        targets: Sequence[Scene],
        present: Mask,
        *,
        is_data: bool = False,
    ) -> Numbers:
        """A number of each rank, or one for all, in each scene of the target.

        Parameters
        ----------
        site, what
            What messages call it.
        mark
            What its place in the text is marked with.
        seen
            What the traces show, where they have the call.
        targets
            The scenes at the target.
        present
            Who makes the call in them, one after the other.
        is_data
            Whether it is a mean, which no exact function has to explain.
        """
        chosen = [one.values[one.present] for one in seen]
        if all((values == values[0]).all() for values in chosen):
            sizes = [one.place.ranks for one in seen]
            if is_data:
                means = [int(values[0]) for values in chosen]
                return np.array([self._mean(site, what, sizes, means)], dtype=np.int64)
            value = self._same(site, what, mark, sizes, [int(values[0]) for values in chosen])
            return np.array([value], dtype=np.int64)
        known = [*seen] if mark != VOLUME else _with_volumes(seen)
        prefer, dealt = self.findings.prefer, self.dealt
        found = RankNumbers(known, targets, present, prefer, dealt).fits() if known else []
        if not found:
            one, values = next(
                (one, values)
                for one, values in zip(seen, chosen, strict=True)
                if (values != values[0]).any()
            )
            refused = UnexplainedVolumeError if mark == VOLUME else InputError
            raise refused(
                f"{site}: {what} differs between the {one.place.ranks} ranks: {few(values)}; "
                "no family explains it"
            )
        texts = [(fit.text, fit.text, fit) for fit in found]
        text, fit = self.findings.only(site, what, texts)
        if mark == VOLUME and (fit.values < 0).any():
            raise UnexplainedVolumeError(
                f"{site}: {what} is {text}, which is below 0 on some of {self.target.ranks} ranks"
            )
        self.findings.note(site, what, text, fit.confirmed)
        return codes_of(fit.values) if mark == VOLUME else fit.values

    def _mean(self, site: str, what: str, sizes: list[int], means: list[int]) -> int:
        pairs = [(ranks, float(mean)) for ranks, mean in zip(sizes, means, strict=True)]
        if len(set(means)) == 1:  # such as the types of a vector collective
            return self.by_size(site, what, sizes, means)
        fit = fit_volumes(pairs, self.target.ranks, "auto")
        text = f"means: {fit.family} (within {fit.error:.1%} where a size is left out)"
        self.findings.note(site, what, text, len(sizes) - 2)
        return round(fit.value)

    def _same(self, site: str, what: str, mark: int, sizes: list[int], codes: list[int]) -> int:
        if mark != VOLUME:
            return self.by_size(site, what, sizes, codes)
        if len(set(codes)) == 1:  # as it is written
            self.findings.note(site, what, "constant", len(set(sizes)) - 1)
            return codes[0]
        try:
            return code_of(self.by_size(site, what, sizes, [value_of(code) for code in codes]))
        except InputError as error:
            raise UnexplainedVolumeError(error.message) from None


def _names(fit: Fit) -> list[str]:
    """What ``--prefer`` may call it: as messages do, and by the name of its term."""
    return [fit.family, fit.text, _shown(fit), *(fit.slope or ())[:1]]


def _shown(fit: Fit) -> str:
    return f"{fit.text} = {fit.value}"


def _by_value(fits: Sequence[Fit], may_be_negative: bool) -> dict[int, Fit]:
    found: dict[int, Fit] = {}
    for fit in fits:
        if fit.value is not None and (fit.value >= 0 or may_be_negative):
            found.setdefault(fit.value, fit)
    return found


def _with_volumes(seen: Sequence[Seen]) -> list[Seen]:
    """The same with volumes instead of their codes; none where they are no whole numbers."""
    known = [(one, whole_volumes(one.values)) for one in seen]
    made = [replace(one, values=volumes) for one, volumes in known if volumes is not None]
    return made if len(made) == len(seen) else []


def few(values: NDArray[np.int64]) -> str:
    """The first of some numbers, as messages show them."""
    shown = ", ".join(map(str, values[:8].tolist()))
    return f"{shown}, ..." if len(values) > 8 else shown


def seen_scenes(
    places: Sequence[Place],
    stages: Sequence[Sequence[int | None]],
    present: Sequence[Sequence[Mask]],
    values: Sequence[Sequence[Numbers]],
) -> list[Seen]:
    """What each trace shows of a number, where it has it: by trace, then by stage."""
    return [
        Seen(
            place,
            [Scene(place, stage) for stage in known],
            np.concatenate(masks),
            np.concatenate(numbers),
        )
        for place, known, masks, numbers in zip(places, stages, present, values, strict=True)
        if known and any(mask.any() for mask in masks)
    ]
