"""The speed of each region of a program, and what the regions of another run of it take.

A region is what a rank computes between two calls; it is known by the call paths of the two, or by
their kinds in a trace without call sites. A program that counts instructions says how much each
region does, and the same program as its users run it how long that takes.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile, zip_longest
from os import PathLike
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tisim.errors import InputError
from tisim.traces.call_paths import names_of_paths, recorded_paths
from tisim.traces.call_sites import BETWEEN, short_path
from tisim.traces.volumes import PREDICTED_TIME, volumes_of

_Name = str | PathLike[str]
_COUNTER = "# counter: "
# Lines of what the recorder has noted beside calls; they have no numbers.
_BESIDE = "# @"
_COMPUTE = "compute"
# The part of a rank's time that must be in regions of both traces where their calls differ.
_ALIKE = 0.7
# A region that takes less of all time is measured too briefly for larger volumes.
_BRIEF = 1e-3
# Visits of that many times the measured volume may have data that no longer fit into a cache.
_LARGER = 2.0
_BEGINNING, _END = "beginning", "end"


class Region(NamedTuple):
    """A computation between two calls, named by their call paths or their kinds."""

    before: str
    after: str

    def text(self) -> str:
        """The two paths, of the callers that both have only the last."""
        before, after = (short_path(path).split(BETWEEN) for path in self)
        alike = takewhile(
            lambda pair: pair[0] == pair[1], zip(before[:-1], after[:-1], strict=False)
        )
        shared = sum(1 for _ in alike)
        within = f"{before[shared - 1]}: " if shared else ""
        return f"{within}{BETWEEN.join(before[shared:])} .. {BETWEEN.join(after[shared:])}"


class _Computation(NamedTuple):
    """All that a rank computes between two calls."""

    region: Region
    volume: float
    #: The name of the call behind it, by which two recordings of one program are compared.
    call: str


@dataclass
class RegionRate:
    """What a region does in all ranks together, and how long it takes.

    Attributes
    ----------
    volume
        Its instructions, or what else was counted.
    seconds
        Of processor time; of several timed runs, the median.
    visits
        How often a rank came by.
    """

    volume: float = 0.0
    seconds: float = 0.0
    visits: int = 0

    @property
    def mean_volume(self) -> float:
        """The volume of a visit."""
        return self.volume / self.visits


@dataclass(frozen=True)
class RegionRates:
    """The rates of a program's regions on one machine.

    Attributes
    ----------
    regions
        By region.
    counted_seconds
        What the program that counts took for all of them, where its trace says so.
    slowdowns
        How many times as long regions take that find no data in the caches, where that was
        measured.
    """

    regions: dict[Region, RegionRate]
    counted_seconds: float | None
    slowdowns: Mapping[Region, float] = field(default_factory=dict)

    @cached_property
    def seconds(self) -> float:
        """What all regions take."""
        return sum(rate.seconds for rate in self.regions.values())

    @cached_property
    def per_second(self) -> float:
        """Instructions a second over all regions."""
        return sum(rate.volume for rate in self.regions.values()) / self.seconds

    def seconds_of(self, region: Region, volume: float) -> float:
        """What a volume takes in a region; one that was not measured has the rate of all.

        Where nothing was counted in a region, which then computes in libraries alone, each visit
        takes what it took in the mean. Of a region that was measured briefly, what a volume has
        beyond the mean of those measured takes the rate of all.
        """
        rate = self.regions.get(region)
        if rate is None or rate.seconds == 0:
            return volume / self.per_second
        if rate.volume == 0:
            return rate.seconds / rate.visits
        beyond = 0.0
        if rate.seconds < _BRIEF * self.seconds:
            beyond = max(0.0, volume - rate.mean_volume)
        return (volume - beyond) * rate.seconds / rate.volume + beyond / self.per_second


def nearest_rates(
    inputs: Sequence[RegionRates], visited: Mapping[Region, RegionRate]
) -> dict[Region, RegionRates]:
    """The rates for each visited region: those of the input, of several, most like it.

    Inputs are compared by the mean volume of a visit: where it is alike, so is the working set.
    """
    return {
        region: min(inputs, key=lambda rates: _distance(rates.regions.get(region), rate))
        for region, rate in visited.items()
    }


def hit_rate(held: float) -> float:
    """The share of accesses that find their data in a cache, which holds a share of all data.

    The data are swept over again and again, and the cache replaces any of its lines. Of `C` lines,
    one outlasts a sweep over `W` with the probability ``(1 - 1 / C) ** ((1 - h) W)``, since each
    miss replaces one: ``h = exp(-(1 - h) / held)``. Twice the cache are found again to 20 %, three
    times to 6 %.
    """
    if held >= 1:
        return 1.0
    rate, following = 0.0, math.exp(-1 / held) if held else 0.0
    while following - rate > 1e-6:
        rate, following = following, math.exp(-(1 - following) / held)
    return following


def _is_like(measured: RegionRate | None, cold: RegionRate) -> bool:
    """True if visits have no more data than where the slowdown of cold caches was measured."""
    return measured is not None and measured.mean_volume <= _LARGER * cold.mean_volume


def _distance(measured: RegionRate | None, other: RegionRate) -> float:
    """By which factor the mean volumes of a visit differ, as a logarithm."""
    if measured is None:
        return math.inf
    if not measured.volume or not other.volume:
        return abs(measured.volume - other.volume)
    return abs(math.log(measured.mean_volume / other.mean_volume))


@dataclass(frozen=True)
class TimedTrace:
    """What came of the volumes of a trace.

    Attributes
    ----------
    seconds
        Of all its computations.
    unknown
        The part of `seconds` that is in regions whose rate was not measured.
    larger
        The part in regions whose visits have more than twice the measured volume, and which may
        find less in the caches.
    warm
        `seconds`, with all regions as fast as they were measured.
    """

    seconds: float
    unknown: float
    larger: float
    warm: float


def measure_regions(
    counted: _Name, timed: Sequence[_Name], cold: Sequence[_Name] = ()
) -> RegionRates:
    """Find the rate of each region.

    `counted` is a trace whose volumes are instructions, `timed` are runs of the same program with
    the same input, as users have compiled it, recorded with the counter ``time``, and `cold` with
    the counter ``cold``. Raises `InputError` where they are something else, or do not make the same
    calls.
    """
    from tisim.traces.counts import counter_totals

    regions: dict[Region, RegionRate] = {}
    with _opened(counted, timed=False) as trace, ExitStack() as stack:
        ranks = trace.trace.ranks
        runs = [stack.enter_context(_opened(name, timed=True)) for name in (*timed, *cold)]
        times: dict[Region, list[float]] = {}
        for number, run in enumerate(runs):
            if run.trace.ranks != ranks:
                raise InputError(
                    f"has {run.trace.ranks} ranks, {trace.trace.name} has {ranks}",
                    file=run.trace.name,
                )
            run.check_caches(cold=number >= len(timed))
        for rank in range(ranks):
            computations = trace.computations(rank)
            _add(regions, computations)
            for number, run in enumerate(runs):
                for region, seconds in run.seconds(rank, computations).items():
                    times.setdefault(region, [0.0] * len(runs))[number] += seconds
        slowdowns: dict[Region, float] = {}
        for region, of_runs in times.items():
            rate = regions[region]
            rate.seconds = median(of_runs[: len(timed)])
            if cold and rate.seconds:
                slowdowns[region] = max(1.0, median(of_runs[len(timed) :]) / rate.seconds)
        found = [row.total * 1e-9 for row in counter_totals(trace.trace) if row.name == "time"]
    return RegionRates(regions, found[0] if found else None, slowdowns)


def _add(regions: dict[Region, RegionRate], computations: Iterable[_Computation]) -> None:
    """Add the volumes and visits of a rank."""
    for one in computations:
        rate = regions.setdefault(one.region, RegionRate())
        rate.volume += one.volume
        rate.visits += 1


def write_timed(
    trace: _Name, inputs: Sequence[RegionRates], output: _Name, cached: float = 0.0
) -> TimedTrace:
    """Write a packed trace whose volumes are nanoseconds, from one whose volumes are counted.

    Each region of it takes as long for each instruction as with the input, of those that were
    measured, whose visits have volumes most like its own. Where visits have more than twice the
    volume of the first input and of that one, and the slowdown of cold caches was measured with
    the first, the part of it counts that `hit_rate` leaves of the share `cached` of the data that
    the last cache holds. What the recorder has noted beside calls, such as call sites, is left out.
    Raises `InputError` where a file cannot be read or written.
    """
    from tisim.traces.packed import pack

    total = unknown = larger = warm = 0.0
    with _opened(trace, timed=False) as source, tempfile.TemporaryDirectory() as changed:
        visited: dict[Region, RegionRate] = {}
        for rank in range(source.trace.ranks):
            _add(visited, source.computations(rank))
        rates = nearest_rates(inputs, visited)
        measured = {region: of.regions.get(region) for region, of in rates.items()}
        is_larger = {
            region: known is not None and visited[region].mean_volume > _LARGER * known.mean_volume
            for region, known in measured.items()
        }
        misses = 1.0 - hit_rate(cached)
        slowdowns = {
            region: 1.0 + (slowdown - 1.0) * misses
            for region, slowdown in inputs[0].slowdowns.items()
            if is_larger.get(region) and _is_like(measured[region], inputs[0].regions[region])
        }
        for rank in range(source.trace.ranks):
            times: list[float] = []
            for one in source.computations(rank):
                as_measured = rates[one.region].seconds_of(one.region, one.volume)
                seconds = as_measured * slowdowns.get(one.region, 1.0)
                times.append(seconds)
                total += seconds
                warm += as_measured
                unknown += seconds if measured[one.region] is None else 0.0
                may_differ = is_larger[one.region] and one.region not in slowdowns
                larger += seconds if may_differ else 0.0
            with (
                source.file(rank).open() as lines,
                Path(changed, f"rank-{rank}.txt").open("w") as out,
            ):
                out.writelines(_with_times(lines, times))
        pack(changed, output)
    return TimedTrace(total, unknown / (total or 1.0), larger / (total or 1.0), warm)


def _with_times(lines: Iterable[str], times: Iterable[float]) -> Iterator[str]:
    """The lines of a rank with times: a computation in front of each call, and one at the end."""
    upcoming = iter(times)
    rank = ""
    for line in lines:
        if line.startswith(_COUNTER):
            yield f"{_COUNTER}{PREDICTED_TIME}\n"
        elif line.startswith("#"):
            if not line.startswith(_BESIDE):
                yield line
        else:
            rank, action = line.split(maxsplit=2)[:2]
            if action != _COMPUTE:
                yield from _compute(rank, next(upcoming))
                yield line
    yield from _compute(rank, next(upcoming))


def _compute(rank: str, seconds: float) -> Iterator[str]:
    nanoseconds = round(1e9 * seconds)
    if nanoseconds:
        yield f"{rank} {_COMPUTE} {nanoseconds}\n"


class _Text:
    """The text of a packed trace, in a folder that is there for a time."""

    def __init__(self, name: _Name, folder: Path, *, timed: bool) -> None:
        from tisim.traces import Trace
        from tisim.traces.packed import unpack

        self.trace = Trace.open(name)
        volumes = volumes_of(name)
        rate = None if volumes is None else volumes.per_second
        if timed and rate is None:
            raise InputError(
                "its volumes are not times; record the program, compiled as its users compile it, "
                "with --counter time",
                file=str(name),
            )
        if not timed and rate is not None:
            raise InputError(
                "its volumes are times; record the program with a counter of instructions, such "
                "as --counter register (see 'tisim cc') or --counter qemu",
                file=str(name),
            )
        #: Units of its volumes in a second, if they are times.
        self.per_second = rate or math.nan
        self._is_cold = volumes is not None and volumes.is_cold
        self._folder = folder / "text"
        self._names: dict[str, str] = {}
        unpack(name, self._folder)

    def check_caches(self, *, cold: bool) -> None:
        """Refuse times from cold caches in place of others, and the other way round."""
        if self._is_cold == cold:
            return
        raise InputError(
            "its times are not from cold caches; record it with --counter cold"
            if cold
            else "its times are from cold caches; --times needs those of --counter time, and "
            "--cold takes this one",
            file=self.trace.name,
        )

    def file(self, rank: int) -> Path:
        """The lines of a rank, as the recorder names them."""
        found = self._folder / f"rank-{rank}.txt"
        if not found.is_file():
            raise InputError("is not a trace of 'tisim record'", file=self.trace.name)
        return found

    def computations(self, rank: int) -> list[_Computation]:
        """What a rank computes before each of its calls, and behind the last one."""
        paths = dict(recorded_paths(self.trace, rank))
        unnamed = {path for path in paths.values() if path not in self._names}
        if unnamed:
            self._names.update(names_of_paths(self.trace, unnamed))
        found: list[_Computation] = []
        before, volume, number = _BEGINNING, 0.0, 0
        with self.file(rank).open() as lines:
            for line in lines:
                if line.startswith(_BESIDE):
                    continue
                number += 1
                if line.startswith("#"):
                    continue
                words = line.split(maxsplit=3)
                if words[1] == _COMPUTE:
                    if len(words) > 3:
                        raise InputError(
                            "a computation of several threads has no rate of its own",
                            file=self.trace.name,
                            line=number,
                        )
                    volume += float(words[2])
                    continue
                path = paths.get(number)
                after = words[1] if path is None else self._names[path]
                found.append(_Computation(Region(before, after), volume, words[1]))
                before, volume = after, 0.0
        found.append(_Computation(Region(before, _END), volume, _END))
        return found

    def seconds(self, rank: int, counted: Sequence[_Computation]) -> dict[Region, float]:
        """The seconds that a rank computes in each region of the counted trace.

        Where its calls are the same, the regions are. Otherwise, as where messages are taken as
        they come, regions are found by their call paths, and have their mean time a visit; what
        is left over belongs to those that are not found, by their volumes.
        """
        own = self.computations(rank)
        found: dict[Region, float] = {}
        different = next(
            (
                place
                for place, (one, other) in enumerate(zip_longest(own, counted))
                if one is None or other is None or one.call != other.call
            ),
            None,
        )
        visits = Counter(one.region for one in counted)
        visits_here = visits if different is None else Counter(one.region for one in own)
        known = everything = 0.0
        for place, one in enumerate(own):
            region = counted[place].region if different is None else one.region
            seconds = one.volume / self.per_second
            everything += seconds
            if region in visits:
                known += seconds
                mean = seconds * visits[region] / visits_here[region]
                found[region] = found.get(region, 0.0) + mean
        if different is not None and (not self._names or known < _ALIKE * everything):
            here, there = (
                _END if different >= len(calls) else calls[different].call
                for calls in (own, counted)
            )
            raise InputError(
                f"call {different + 1} of rank {rank} is {here}, and {there} in the counted trace: "
                "both must be of one program, with one input and on as many ranks; where it takes "
                "messages as they come, compile both with -g and record both with --call-sites",
                file=self.trace.name,
            )
        missed: dict[Region, float] = {}
        for one in counted:
            if one.region not in found:
                missed[one.region] = missed.get(one.region, 0.0) + one.volume
        volume = sum(missed.values())
        for region, of_region in missed.items() if volume else ():
            found[region] = (everything - known) * of_region / volume
        return found


@contextmanager
def _opened(name: _Name, *, timed: bool) -> Iterator[_Text]:
    with tempfile.TemporaryDirectory() as folder:
        yield _Text(name, Path(folder), timed=timed)


def largest(rates: RegionRates, most: int) -> list[tuple[Region, RegionRate]]:
    """The regions that take most of the time, the longest first."""
    ordered = sorted(rates.regions.items(), key=lambda item: -item[1].seconds)
    return [(region, rate) for region, rate in ordered[:most] if rate.seconds > 0]
