"""The same patterns on clusters, fat trees, tori and dragonflies: cost per action."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import loggopsim, traces
from benchmarks.answers import WrongAnswerError
from benchmarks.replays import replay_in_simgrid
from benchmarks.scale import timed_replay
from benchmarks.traces import TraceSource, files_of, generated, new_platform

#: Kinds of platforms in ``tisim platform new``; others are compared with the first.
KINDS = ("cluster", "fat-tree", "torus", "dragonfly")
# SimGrid prints six digits.
_AGREES = 1e-5
# Replays that take more than the first number of seconds are not repeated; the second is a limit.
_LONG, _TOO_LONG = 20.0, 900.0


@dataclass(frozen=True)
class Pattern:
    """A trace of any number of ranks, and the platforms of its replays.

    Parameters
    ----------
    name
        Name in the table.
    make
        Returns its trace for a number of ranks.
    sizes
        Numbers of ranks.
    most_of_simgrid
        Maximum number of ranks for SimGrid.
    work
        Divisor of the time: the actions of the trace, or the messages as a function of the number
        of ranks.
    kinds
        Kinds of platforms.
    """

    name: str
    make: Callable[[int], TraceSource]
    sizes: Sequence[int]
    most_of_simgrid: int
    work: Callable[[int], int] | None = None
    kinds: Sequence[str] = KINDS


@dataclass(frozen=True)
class Case:
    """One pattern on a kind of platform, with one rank per host."""

    pattern: Pattern
    ranks: int
    kind: str

    @property
    def name(self) -> str:
        """The name that ``--only`` matches."""
        return f"{self.pattern.name} of {self.ranks} on {self.kind}"

    @property
    def is_smallest(self) -> bool:
        """True if the pattern has no smaller size."""
        return self.ranks == min(self.pattern.sizes)

    @property
    def is_large(self) -> bool:
        """True if the case takes minutes and gigabytes."""
        return self.ranks >= 1_000_000

    @property
    def suits_simgrid(self) -> bool:
        """True if SimGrid replays it in minutes."""
        return self.ranks <= self.pattern.most_of_simgrid


@dataclass
class Cost:
    """Measurements of a case; processor seconds of each run, of whole processes."""

    case: Case
    start_up: float = 0.0
    actions: int = 0
    simulated: float = 0.0
    cpu: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    simgrid_cpu: float | None = None
    simgrid_simulated: float | None = None
    bound_cpu: float | None = None  # LogGOPSim's

    @property
    def per_action(self) -> float:
        """Processor seconds per action or message, without the start-up."""
        return max(statistics.median(self.cpu) - self.start_up, 1e-4) / self.work

    @property
    def work(self) -> int:
        """Actions, or messages if they are more meaningful."""
        work = self.case.pattern.work
        return self.actions if work is None else work(self.case.ranks)

    @property
    def speedup(self) -> float | None:
        """SimGrid's processor time divided by tisim's, both including start-up."""
        return None if self.simgrid_cpu is None else self.simgrid_cpu / statistics.median(self.cpu)

    @property
    def difference(self) -> float | None:
        """Relative difference of the simulated time from SimGrid's."""
        theirs = self.simgrid_simulated
        return None if theirs is None else abs(self.simulated / theirs - 1)


def _generated(pattern: str, options: str) -> Callable[[int], TraceSource]:
    return lambda ranks: generated(f"{pattern}.{ranks}.100G", pattern, ranks, options)


#: The pattern that is hardest on networks with few links.
SPARSE = Pattern(
    "sparse",
    _generated("sparse", "--iterations 3 --degree 4 --bytes 64KiB --imbalance 0.1"),
    (64, 1024, 16384),
    1024,
)


def patterns() -> list[Pattern]:
    """Return all patterns, in the order of the table."""
    return [
        SPARSE,
        Pattern(
            "transpose",
            _generated("transpose", "--iterations 1 --bytes 64KiB"),
            (64, 256, 1024),
            256,
            lambda ranks: ranks * (ranks - 1),
        ),
        Pattern(
            "halo3d",
            _generated("halo3d", "--iterations 3 --allreduce 8 --imbalance 0.1"),
            (64, 1024, 16384),
            1024,
        ),
        Pattern("incast", _incast, (1000, 10_000), 1000, kinds=("cluster",)),
        Pattern(
            "halo3d, one iteration",
            _packed("halo3d", "--iterations 1 --allreduce 8"),
            (1000, 10_000, 100_000, 1_000_000),
            0,
            kinds=("cluster",),
        ),
        Pattern(
            "ring, one iteration",
            _packed("ring", "--iterations 1"),
            (1000, 10_000, 100_000, 1_000_000),
            0,
            kinds=("cluster",),
        ),
    ]


def cases() -> Iterator[Case]:
    """Yield all cases, with the sizes of a pattern on one platform in a row."""
    for pattern in patterns():
        for kind in pattern.kinds:
            for ranks in pattern.sizes:
                yield Case(pattern, ranks, kind)


def check_times(progress: Callable[[float], None]) -> int:
    """Compare the smallest case of each pattern on each platform with SimGrid; return their number.

    Raises
    ------
    WrongAnswerError
        If the simulated times differ.
    """
    chosen = [case for case in cases() if case.is_smallest and case.suits_simgrid]
    for number, case in enumerate(chosen):
        trace, platform = case.pattern.make(case.ranks), new_platform(case.kind, case.ranks)
        result, _ = timed_replay(trace.get(), platform)
        ours, (_, theirs) = result["simulated_time"], replay_in_simgrid(trace, platform)
        if theirs is None or abs(ours / theirs - 1) > _AGREES:
            raise WrongAnswerError(f"{case.name}: tisim {ours!r} s, SimGrid {theirs!r} s")
        progress((number + 1) / len(chosen))
    return len(chosen)


def measure(case: Case, repeats: int, start_up: float, with_simgrid: bool) -> Cost:
    """Replay a case several times, or once if it takes long, and in SimGrid and LogGOPSim.

    Parameters
    ----------
    case
        The case.
    repeats
        Number of replays.
    start_up
        Processor seconds of an almost empty replay.
    with_simgrid
        Whether SimGrid replays suitable cases.
    """
    cost = Cost(case, start_up)
    trace, platform = case.pattern.make(case.ranks), new_platform(case.kind, case.ranks)
    files = trace.get()
    while len(cost.cpu) < repeats and (not cost.cpu or cost.cpu[0] < _LONG):
        result, ran = timed_replay(files, platform, timeout=_TOO_LONG)
        cost.actions, cost.simulated = result["actions"], result["simulated_time"]
        cost.cpu.append(ran.cpu_seconds)
        cost.peak_bytes = max(cost.peak_bytes, ran.peak_bytes)
    if with_simgrid and case.suits_simgrid:
        theirs, cost.simgrid_simulated = replay_in_simgrid(trace, platform, _TOO_LONG)
        cost.simgrid_cpu = theirs.cpu_seconds
    if files.is_dir() and case.kind == KINDS[0] and loggopsim.missing() is None:
        cost.bound_cpu = loggopsim.cpu_seconds(files_of(files))
    return cost


def growth(costs: Sequence[Cost], cost: Cost) -> float | None:
    """Return the exponent of the growth of the cost per action from the next smaller size.

    0: the cost per action is independent of the number of ranks. None: no smaller size was
    measured.
    """
    same = [
        other
        for other in costs
        if (other.case.pattern.name, other.case.kind) == (cost.case.pattern.name, cost.case.kind)
        and other.case.ranks < cost.case.ranks
    ]
    if not same:
        return None
    before = max(same, key=lambda other: other.case.ranks)
    ratio = cost.per_action / before.per_action
    return math.log(ratio) / math.log(cost.case.ranks / before.case.ranks)


@dataclass(frozen=True)
class _PackedTrace(TraceSource):
    """A trace of more ranks than files are practical for."""

    def get(self) -> Path:
        target = traces.CACHE / f"{self.name}.tit"
        if not target.is_file():
            traces.CACHE.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=traces.CACHE) as unfinished:
                self.make(Path(unfinished) / target.name)
                (Path(unfinished) / target.name).replace(target)
        return target


def _packed(pattern: str, options: str) -> Callable[[int], TraceSource]:
    def of(ranks: int) -> TraceSource:
        source = generated(f"{pattern}.{ranks}.packed", pattern, ranks, options)
        return _PackedTrace(source.name, ranks, source.make)

    return of


def _incast(ranks: int) -> TraceSource:
    """Return a trace in which all ranks send 64 KiB to the first one, with receives posted."""

    def make(target: Path) -> None:
        receives = "".join(f"0 irecv {rank} 0 65536\n" for rank in range(1, ranks))
        (target / "rank-0.txt").write_text(f"0 init\n{receives}0 waitall {ranks - 1}\n0 finalize\n")
        for rank in range(1, ranks):
            text = f"{rank} init\n{rank} send 0 0 65536\n{rank} finalize\n"
            (target / f"rank-{rank}.txt").write_text(text)

    return TraceSource(f"incast.{ranks}", ranks, make)
