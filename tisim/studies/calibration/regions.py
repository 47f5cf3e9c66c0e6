"""Speed of each region of a program, and the time of the regions in another run of it.

A region is the computation of a rank between two calls; it is identified by their call paths, or by
their kinds in a trace without call sites. A run that counts instructions gives the volume of each
region, and the same program as its users run it gives the time.
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
# Lines in which the recorder notes information other than calls; they have no numbers.
_BESIDE = "# @"
_COMPUTE = "compute"
# Minimum fraction of a rank's time in regions of both traces if their calls differ.
_ALIKE = 0.7
# Fraction of the total time below which a region's measurement is too short for larger volumes.
_BRIEF = 1e-3
# Visits above this multiple of the measured volume may have data that exceed a cache.
_LARGER = 2.0
_BEGINNING, _END = "beginning", "end"


class Region(NamedTuple):
    """A computation between two calls, identified by their call paths or kinds."""

    before: str
    after: str

    def text(self) -> str:
        """Return the two paths, with only the last of their common callers."""
        before, after = (short_path(path).split(BETWEEN) for path in self)
        alike = takewhile(
            lambda pair: pair[0] == pair[1], zip(before[:-1], after[:-1], strict=False)
        )
        shared = sum(1 for _ in alike)
        within = f"{before[shared - 1]}: " if shared else ""
        return f"{within}{BETWEEN.join(before[shared:])} .. {BETWEEN.join(after[shared:])}"


class _Computation(NamedTuple):
    """Computation of a rank between two calls."""

    region: Region
    volume: float
    #: Name of the following call, by which two recordings of a program are compared.
    call: str


@dataclass
class RegionRate:
    """Volume and time of a region over all ranks.

    Attributes
    ----------
    volume
        Instructions, or another counted unit.
    seconds
        Processor time; for several timed runs, the median.
    visits
        Number of visits by ranks.
    """

    volume: float = 0.0
    seconds: float = 0.0
    visits: int = 0

    @property
    def mean_volume(self) -> float:
        """Volume per visit."""
        return self.volume / self.visits


@dataclass(frozen=True)
class RegionRates:
    """The rates of a program's regions on one machine.

    Attributes
    ----------
    regions
        Rates by region.
    counted_seconds
        Total seconds in the counting run, if its trace has them.
    slowdowns
        Slowdown of regions that find no data in the caches, if measured.
    """

    regions: dict[Region, RegionRate]
    counted_seconds: float | None
    slowdowns: Mapping[Region, float] = field(default_factory=dict)

    @cached_property
    def seconds(self) -> float:
        """Total seconds of all regions."""
        return sum(rate.seconds for rate in self.regions.values())

    @cached_property
    def per_second(self) -> float:
        """Instructions/s over all regions."""
        return sum(rate.volume for rate in self.regions.values()) / self.seconds

    def seconds_of(self, region: Region, volume: float) -> float:
        """Return the seconds of a volume in a region; an unmeasured region has the overall rate.

        If nothing was counted in a region, which then computes only in libraries, each visit takes
        its mean time. In a region that was measured briefly, volume beyond the measured mean has
        the overall rate.
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
    """Return, for each visited region, the rates of the most similar of several inputs.

    Inputs are compared by the mean volume of a visit: a similar volume means a similar working set.
    """
    return {
        region: min(inputs, key=lambda rates: _distance(rates.regions.get(region), rate))
        for region, rate in visited.items()
    }


def hit_rate(held: float) -> float:
    """Return the cache hit rate if the cache contains a fraction `held` of all data.

    The data are swept over repeatedly, and the cache replaces a random line. Of `C` lines, one
    survives a sweep over `W` with the probability ``(1 - 1 / C) ** ((1 - h) W)``, since each miss
    replaces one: ``h = exp(-(1 - h) / held)``. The hit rate is 20 % for twice the cache, 6 % for
    three times.
    """
    if held >= 1:
        return 1.0
    rate, following = 0.0, math.exp(-1 / held) if held else 0.0
    while following - rate > 1e-6:
        rate, following = following, math.exp(-(1 - following) / held)
    return following


def _is_like(measured: RegionRate | None, cold: RegionRate) -> bool:
    """Return whether visits have no more data than those with the slowdown of cold caches."""
    return measured is not None and measured.mean_volume <= _LARGER * cold.mean_volume


def _distance(measured: RegionRate | None, other: RegionRate) -> float:
    """Return the absolute logarithm of the ratio of two mean volumes of a visit."""
    if measured is None:
        return math.inf
    if not measured.volume or not other.volume:
        return abs(measured.volume - other.volume)
    return abs(math.log(measured.mean_volume / other.mean_volume))


@dataclass(frozen=True)
class TimedTrace:
    """Predicted times of a trace's volumes.

    Attributes
    ----------
    seconds
        Total seconds of its computations.
    unknown
        Fraction of `seconds` in regions without a measured rate.
    larger
        Fraction in regions whose visits have more than twice the measured volume, and for which no
        slowdown of cold caches was measured; they may have more cache misses.
    warm
        `seconds`, if all regions were as fast as measured.
    """

    seconds: float
    unknown: float
    larger: float
    warm: float


def measure_regions(
    counted: _Name, timed: Sequence[_Name], cold: Sequence[_Name] = ()
) -> RegionRates:
    """Measure the rate of each region.

    `counted` is a trace whose volumes are instructions, `timed` are runs of the same program with
    the same input, as compiled by users, recorded with the counter ``time``, and `cold` with the
    counter ``cold``. Raises `InputError` if they are something else, or their calls differ.
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
                    f"has {run.trace.ranks} ranks, but {trace.trace.name} has {ranks}",
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

    Each region takes the time per instruction of the measured input whose visits have the most
    similar volume. If visits have more than twice the volume of that input, which is at most twice
    that of the first, and the slowdown of cold caches was measured with the first, it applies to
    the misses: ``1 - hit_rate(cached)``, where the last-level cache contains the fraction `cached`
    of the data. Other information of the recorder, such as call sites, is omitted. Raises
    `InputError` if a file cannot be read or written.
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
    """Yield the lines of a rank with times: a computation before each call, and one at the end."""
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
    """Text of a packed trace, in a temporary folder."""

    def __init__(self, name: _Name, folder: Path, *, timed: bool) -> None:
        from tisim.traces import Trace
        from tisim.traces.packed import unpack

        self.trace = Trace.open(name)
        volumes = volumes_of(name)
        rate = None if volumes is None else volumes.per_second
        if timed and rate is None:
            raise InputError(
                "its volumes are not times; record the program, compiled as for production, with "
                "--counter time",
                file=str(name),
            )
        if not timed and rate is not None:
            raise InputError(
                "its volumes are times; record the program with a counter of instructions, such "
                "as --counter register (see 'tisim cc') or --counter qemu",
                file=str(name),
            )
        #: Units of its volumes per second, if they are times.
        self.per_second = rate or math.nan
        self._is_cold = volumes is not None and volumes.is_cold
        self._folder = folder / "text"
        self._names: dict[str, str] = {}
        unpack(name, self._folder)

    def check_caches(self, *, cold: bool) -> None:
        """Reject times from cold caches in place of others, and vice versa."""
        if self._is_cold == cold:
            return
        raise InputError(
            "its times were not measured with cold caches; record it with --counter cold"
            if cold
            else "its times were measured with cold caches; --times needs a trace with --counter "
            "time, use this one for --cold",
            file=self.trace.name,
        )

    def file(self, rank: int) -> Path:
        """Return the file of a rank's lines, as the recorder names it."""
        found = self._folder / f"rank-{rank}.txt"
        if not found.is_file():
            raise InputError("is not a trace of 'tisim record'", file=self.trace.name)
        return found

    def computations(self, rank: int) -> list[_Computation]:
        """Return the computations of a rank before each of its calls, and after the last one."""
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
                            "a computation of several threads has no rate",
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
        """Return the seconds that a rank computes in each region of the counted trace.

        If its calls are the same, so are the regions. Otherwise, for example if messages are
        received in order of arrival, regions are found by their call paths, and have their mean
        time per visit; the remainder is assigned to missing regions by volume.
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
                "both must be of the same program, input and number of ranks; if the program "
                "receives messages in any order, compile both with -g and record both with "
                "--call-sites",
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
    """Return the regions that take most of the time, the longest first."""
    ordered = sorted(rates.regions.items(), key=lambda item: -item[1].seconds)
    return [(region, rate) for region, rate in ordered[:most] if rate.seconds > 0]
