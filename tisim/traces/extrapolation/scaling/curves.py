"""What each call site costs over the number of ranks."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.extrapolated import ExtrapolatedVolume
from tisim.traces.extrapolation.target_nodes import TargetCall, TargetLoop, TargetNode
from tisim.traces.extrapolation.volume_codes import COMPUTE, value_of

if TYPE_CHECKING:
    from tisim.platform import Platform
    from tisim.traces.extrapolation.hypotheses import Explanation
    from tisim.traces.extrapolation.recordings import Recordings

# Numbers of ranks between the largest trace and the target.
_BETWEEN = 6
# Replays with drawn volumes at each number of ranks.
_DRAWS = 8


@dataclass(frozen=True)
class SitePoint:
    """What a call site costs on a number of ranks: the mean over the ranks, and an interval."""

    ranks: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SiteCurve:
    """What a call site costs over the number of ranks.

    Attributes
    ----------
    site
        The call, and where it stands; or the kind of calls, where only that is known. Empty for all
        computations together, and for the whole program.
    computes
        Whether it is computations; else it is the time in calls.
    points
        By the number of ranks, ascending.
    """

    site: str
    computes: bool
    points: tuple[SitePoint, ...]

    @property
    def text(self) -> str:
        """What messages call it."""
        if not self.site:
            return "computing at all call sites" if self.computes else "the whole program"
        return f"computing before {self.site}" if self.computes else f"in {self.site}"


@dataclass(frozen=True)
class ScalingCurves:
    """The costs of all call sites over the number of ranks.

    Attributes
    ----------
    unit
        ``"s"`` with a platform; else ``"flops"``, of computations alone.
    recorded
        The numbers of ranks that were recorded.
    ranks
        The numbers of ranks of the curves.
    curves
        The most expensive at the target first.
    computing
        All computations together; none where there is one call site at most.
    whole
        The simulated times; none without a platform.
    left_out
        Numbers of ranks at which the program cannot be extrapolated, and why.
    """

    unit: str
    recorded: tuple[int, ...]
    ranks: tuple[int, ...]
    curves: tuple[SiteCurve, ...]
    computing: SiteCurve | None
    whole: SiteCurve | None
    left_out: tuple[tuple[int, str], ...]

    def dominating(self) -> list[tuple[int, SiteCurve]]:
        """From which number of ranks on which of the curves is the highest."""
        highest = []
        for place, ranks in enumerate(self.ranks):
            best = max(self.curves, key=lambda curve: curve.points[place].value)
            highest.append((ranks, best))
        return [next(group) for _, group in groupby(highest, key=lambda entry: id(entry[1]))]


def scaling_curves(
    recordings: Recordings,
    target: int,
    *,
    prefer: Sequence[str] = (),
    platform: Platform | None = None,
) -> ScalingCurves:
    """What each call site costs on the recorded numbers of ranks, at the target and between.

    Parameters
    ----------
    recordings
        The traces.
    target
        The largest number of ranks.
    prefer
        Families of functions that are taken where several explain what was seen.
    platform
        Where the traces are replayed; None: only computed volumes are shown.

    Raises
    ------
    InputError
        When the program cannot be extrapolated to the target, or has nothing to show.
    """
    rows: dict[int, dict[tuple[str, bool], SitePoint]] = {}
    left_out: list[tuple[int, str]] = []
    for ranks in _numbers_of_ranks(recordings.sizes, target):
        try:
            found = recordings.explained(ranks, prefer)
            points = _computed(found, ranks)
            if platform is not None:
                points = _replayed(recordings, found, ranks, platform, points)
            rows[ranks] = points
        except InputError as error:
            if ranks == target:
                raise
            left_out.append((ranks, error.message))
    sites = {site for points in rows.values() for site in points}
    if not sites:
        raise InputError("the traces have no computations; --platform FILE shows times of calls")
    known = sorted(rows)
    curves = [
        SiteCurve(
            *site, tuple(rows[ranks].get(site, SitePoint(ranks, 0.0, 0.0, 0.0)) for ranks in known)
        )
        for site in sites
    ]
    curves.sort(key=lambda curve: (-curve.points[-1].value, curve.text))
    single = [curve for curve in curves if curve.site != _ALL]
    computing = [curve for curve in curves if (curve.site, curve.computes) == (_ALL, True)]
    whole = [curve for curve in curves if (curve.site, curve.computes) == (_ALL, False)]
    several = sum(curve.computes for curve in single) > 1
    return ScalingCurves(
        "flops" if platform is None else "s",
        tuple(sorted(set(recordings.sizes))),
        tuple(known),
        tuple(single),
        computing[0] if several else None,
        whole[0] if whole else None,
        tuple(left_out),
    )


# Stands for all sites: of computations, or of the whole program.
_ALL = ""


def _numbers_of_ranks(sizes: Sequence[int], target: int) -> list[int]:
    """The recorded ones, the target, and some between that the grids of the sizes also have.

    Those between are multiples of the largest size by powers of the ratio of two sizes, such as
    two, or the squares between where all sizes are squares.
    """
    known = sorted({*sizes, target})
    largest = max(sizes)
    if all(math.isqrt(size) ** 2 == size for size in known):
        between = [side**2 for side in range(math.isqrt(largest) + 1, math.isqrt(target))]
    else:
        ordered = sorted(set(sizes))
        factor = max(2, ordered[-1] // ordered[-2])
        between = []
        while (ranks := largest * factor ** (len(between) + 1)) < target:
            between.append(ranks)
    step = max(1, math.ceil(len(between) / _BETWEEN))
    return sorted({*known, *between[::step]})


def _computed(found: Explanation, ranks: int) -> dict[tuple[str, bool], SitePoint]:
    """What ranks compute before each call on average, in flops."""
    fits = {one.site: one.fit for one in found.findings.volumes}
    sums: dict[tuple[str, bool], float] = {}
    for node, times in _calls(found.program):
        volume = float(node.volume)
        if node.site.shape.text == COMPUTE:
            codes = node.numbers[0] if len(node.numbers[0]) == 1 else node.numbers[0][node.present]
            volume = sum(float(value_of(int(code))) for code in codes) / max(len(codes), 1)
        if volume:
            key = (node.name, True)
            share = float(node.present.mean())
            sums[key] = sums.get(key, 0.0) + volume * times * share
    points = {}
    for (site, computes), value in sums.items():
        low = high = value
        if site in fits:
            fit = fits[site]
            kept = ExtrapolatedVolume(site, fit.family, round(fit.value), fit.left_out(ranks))
            low, high = (value * end / fit.value for end in kept.interval)
        points[site, computes] = SitePoint(ranks, value, min(low, value), max(high, value))
    if points:
        values, lows, highs = zip(*((p.value, p.low, p.high) for p in points.values()), strict=True)
        points[_ALL, True] = SitePoint(ranks, sum(values), sum(lows), sum(highs))
    return points


def _calls(program: Sequence[TargetNode], times: int = 1) -> Iterator[tuple[TargetCall, int]]:
    """The calls, and how often each is made."""
    for node in program:
        if isinstance(node, TargetLoop):
            yield from _calls(node.body, times * node.times)
        else:
            yield node, times


def _replayed(
    recordings: Recordings,
    found: Explanation,
    ranks: int,
    platform: Platform,
    computed: dict[tuple[str, bool], SitePoint],
) -> dict[tuple[str, bool], SitePoint]:
    """The same in seconds, and the time in calls by their kind, from replays.

    Computations before a call have the part of the time that they have of the volume.
    """
    with tempfile.TemporaryDirectory(prefix="tisim-scaling-") as directory:
        trace = Path(directory) / "made.tit"
        recordings.write(found, ranks, trace)
        draws = _DRAWS if found.findings.volumes else 0
        runs = [_spent(trace, platform, ranks, seed) for seed in range(draws + 1)]
    first = runs[0]
    flops = computed[_ALL, True].value if computed else 0.0
    computing = [run.pop("compute", 0.0) for run in runs]
    second = computing[0] / flops if flops else 0.0
    points = {
        site: SitePoint(ranks, p.value * second, p.low * second, p.high * second)
        for site, p in computed.items()
    }
    for kind, value in first.items():
        values = [run.get(kind, 0.0) for run in runs]
        points[kind, False] = SitePoint(ranks, value, min(values), max(values))
    points[_ALL, True] = SitePoint(ranks, computing[0], min(computing), max(computing))
    return points


def _spent(trace: Path, platform: Platform, ranks: int, seed: int) -> dict[str, float]:
    """Seconds by kind of action, the mean over the ranks, and the simulated time."""
    from tisim.simulation.replay import replay

    config = {"tisim/volume-seed": str(seed)}
    result = replay(trace, platform=platform, event_log=True, config=config)
    kinds = result.require_event_log().to_dict()["kinds"]
    spent = {kind: of["seconds"] / ranks for kind, of in kinds.items() if of["seconds"]}
    return {**spent, _ALL: result.simulated_time}
