"""Call sites: source locations of a program's calls and time."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.errors import InputError
from tisim.traces import Kind, Trace
from tisim.traces.call_paths import names_of_paths, recorded_paths
from tisim.traces.call_sites import BETWEEN, short_path
from tisim.traces.samples import Samples, read_samples
from tisim.traces.sources import Part

if TYPE_CHECKING:
    # Call paths such as ``main (a.c:9) > solve (a.c:20)`` with their shares of a computation.
    Shares = list[tuple[str, float]]
    Row = dict[str, object]


class FullNames(dict[str, str]):
    """The full names of functions shown with short names in call paths."""

    def shorten(self, path: str) -> str:
        """Return a call path with short names and record the full ones."""
        short = short_path(path)
        for name, whole in zip(short.split(BETWEEN), path.split(BETWEEN), strict=True):
            if name != whole:
                self.setdefault(name, whole)
        return short


class SampledPaths:
    """The call paths of the computations of a trace recorded with ``--sample``."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._calls: dict[int, Mapping[int, int]] = {}
        self._ranks: dict[int, Mapping[int, Shares]] = {}
        self.full_names = FullNames()

    @property
    def are_known(self) -> bool:
        """True if the trace has samples."""
        return self._samples is not None

    def of_rank(self, rank: int) -> Mapping[int, Shares]:
        """Return the paths of each sampled computation of a rank, by line of the trace.

        The shares of a computation add up to 1; the largest comes first. A computation with
        several lines before one call has the same shares in all of them.
        """
        if rank not in self._ranks:
            samples = self._samples
            shares = [] if samples is None or rank not in samples.ranks else samples.fractions(rank)
            paths = {call: self._named(nodes) for call, nodes in shares}
            self._ranks[rank] = {line: paths[call] for line, call in self._sampled(rank).items()}
        return self._ranks[rank]

    def in_order(self, rank: int, line: int) -> list[tuple[str, int]]:
        """Return the paths of a line's computation over time, with their consecutive samples."""
        call = self._sampled(rank).get(line)
        if self._samples is None or call is None:
            return []
        runs = dict(self._samples.ranks[rank].computations)[call]
        return [(self._names[node], count) for node, count in runs]

    def _sampled(self, rank: int) -> Mapping[int, int]:
        """Return the lines of a rank's sampled computations, and the number of the next call."""
        if rank not in self._calls:
            self._calls[rank] = dict(self._read(rank))
        return self._calls[rank]

    def _read(self, rank: int) -> Iterator[tuple[int, int]]:
        samples = self._samples
        if samples is None or rank not in samples.ranks:
            return
        sampled = {call for call, _ in samples.ranks[rank].computations}
        calls = 0
        for batch in self._trace.operations(rank, custom_actions=["unsupported"]):
            is_computation = batch["kind"] == Kind.COMPUTE
            before = calls + np.cumsum(~is_computation)
            calls = int(before[-1])
            lines = batch["line"][is_computation].tolist()
            for line, call in zip(lines, before[is_computation].tolist(), strict=True):
                if call in sampled:
                    yield line, call

    def _named(self, shares: Mapping[int, float]) -> Shares:
        """Return the shares of named paths; addresses on the same source line are one path."""
        sums: defaultdict[str, float] = defaultdict(float)
        for node, share in shares.items():
            sums[self._names[node]] += share
        return sorted(sums.items(), key=lambda item: (-item[1], item[0]))

    @cached_property
    def _samples(self) -> Samples | None:
        source = self._trace.source
        return read_samples(Part(source, source)) if isinstance(source, str) else None

    @cached_property
    def _names(self) -> Mapping[int, str]:
        """The call path of each node that has samples."""
        if self._samples is None:
            return {}
        paths = {node: self._samples.path(node) for node in self._samples.totals()}
        names = names_of_paths(self._trace, {*paths.values()})
        return {node: self.full_names.shorten(names[path]) for node, path in paths.items()}


# Maximum number of lines with call sites cached, over all ranks.
_KEPT = 10_000_000


@dataclass(frozen=True)
class RankSites:
    """Lines of a rank's calls with a call site, ascending, and indices in `Sites.names`."""

    line: NDArray[np.int64]
    path: NDArray[np.int32]

    def of_all(self, lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the call paths of lines; -1 if a line has none."""
        if not len(self.line):
            return np.full(len(lines), -1)
        place = np.minimum(np.searchsorted(self.line, lines), len(self.line) - 1)
        return np.where(self.line[place] == lines, self.path[place], -1).astype(np.int64)

    def of(self, line: int) -> int:
        """Return the call path of a line; -1 if it has none."""
        place = int(np.searchsorted(self.line, line))
        found = place < len(self.line) and int(self.line[place]) == line
        return int(self.path[place]) if found else -1


class Sites:
    """Call sites of a run, from its trace, at the recorded path or next to the run file.

    `names` are the call paths found so far, such as ``main (ring.c:12) > pass_on (ring.c:40)``.
    """

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self.names: list[str] = []
        self.full_names = FullNames()
        self._places: dict[str, int] = {}
        self._ranks: OrderedDict[int, RankSites] = OrderedDict()
        self._size = 0
        # Pictures are computed on different threads than other answers.
        self._lock = threading.Lock()

    @property
    def are_known(self) -> bool:
        """True if there is a trace with call sites."""
        return self._trace is not None and "call_site" in self._trace.attributes

    @cached_property
    def sampled(self) -> SampledPaths | None:
        """The call paths of computations; None if the trace has no samples."""
        found = None if self._trace is None else SampledPaths(self._trace)
        return found if found is not None and found.are_known else None

    def of_rank(self, rank: int) -> RankSites:
        """Return the call sites of a rank, which are read once."""
        with self._lock:
            return self._of_rank(rank)

    def _of_rank(self, rank: int) -> RankSites:
        if rank in self._ranks:
            self._ranks.move_to_end(rank)
            return self._ranks[rank]
        found = self._read(rank)
        self._ranks[rank] = found
        self._size += len(found.line)
        while self._size > _KEPT and len(self._ranks) > 1:
            _, oldest = self._ranks.popitem(last=False)
            self._size -= len(oldest.line)
        return found

    def path(self, rank: int, line: int) -> str | None:
        """Return the call path of a line of a rank's trace; None if unknown."""
        place = self.of_rank(rank).of(line)
        return None if place < 0 else self.names[place]

    def paths(self, wanted: Mapping[int, Set[int]]) -> dict[tuple[int, int], str]:
        """Return the known call paths of lines, by rank and line."""
        found = {(rank, line): self.path(rank, line) for rank in wanted for line in wanted[rank]}
        return {place: path for place, path in found.items() if path is not None}

    def _read(self, rank: int) -> RankSites:
        lines: list[int] = []
        raw: list[str] = []
        if self._trace is not None and self.are_known:
            for line, path in recorded_paths(self._trace, rank):
                lines.append(line)
                raw.append(path)
            new = {path for path in raw if path not in self._places}
            for path, name in names_of_paths(self._trace, new).items():
                self._places[path] = len(self.names)
                self.names.append(self.full_names.shorten(name))
        places = [self._places[path] for path in raw]
        return RankSites(np.array(lines, np.int64), np.array(places, np.int32))

    @cached_property
    def _trace(self) -> Trace | None:
        name = self._run.info["trace"]
        if name is None:
            return None
        for path in (Path(name), self._run.path.parent / Path(name).name):
            # Only packed traces have call sites, and opening an archive takes time.
            if path.suffix != ".tit" or not path.is_file():
                continue
            try:
                trace = Trace.open(path)
            except InputError:
                continue
            if trace.ranks == self._run.ranks:
                return trace
        return None


# Maximum number of records looked up in a window; the trace is read up to the last of them.
_MAX_RECORDS = 3_000_000
_MAX_ROWS = 1000


def site_sums(window: Window, sites: Sites) -> Row:
    """Return the seconds of a window by call path, kind of action and state.

    `rows` is None if the window has too many records; `known` tells whether the trace has call
    sites or samples; `whole` contains the full names of shortened functions. A sampled computation
    is divided among its call paths in proportion to the samples; other computations have an empty
    path.
    """
    if not sites.are_known and sites.sampled is None:
        return {"known": False, "rows": []}
    records = window.records(_MAX_RECORDS)
    if records is None:
        return {"known": True, "rows": None}
    rank, line = records.numbers("rank"), records.numbers("line")
    state, kind = records.numbers("state"), records.numbers("kind")
    seconds = np.maximum(records.seconds(window.begin, window.end), 0.0)
    sums: dict[tuple[str, int, int], list[float]] = {}

    def add(path: str, key: int, *numbers: float) -> None:
        found = sums.setdefault((path, key >> 8, key & 255), [0.0, 0.0, 0.0])
        found[0] += numbers[0]
        found[1] += numbers[1]
        found[2] = max(found[2], numbers[2])

    # The records are sorted by rank.
    key = kind << 8 | state
    borders = np.flatnonzero(np.diff(rank, prepend=-1, append=-1)).tolist()
    for low, high in pairwise(borders):
        path = sites.of_rank(int(rank[low])).of_all(line[low:high])
        shares = {} if sites.sampled is None else sites.sampled.of_rank(int(rank[low]))
        is_sampled = np.isin(line[low:high], [*shares])
        for place in (low + np.flatnonzero(is_sampled)).tolist():
            for name, share in shares[int(line[place])]:
                length = share * float(seconds[place])
                add(name, int(key[place]), length, 1.0, length)
        whole = np.where(is_sampled, -2, path) << 16 | key[low:high]
        every, group = np.unique(whole, return_inverse=True)
        longest = np.zeros(len(every))
        np.maximum.at(longest, group, seconds[low:high])
        columns = np.bincount(group, seconds[low:high]), np.bincount(group), longest
        for code, *numbers in zip(
            every.tolist(), *(column.tolist() for column in columns), strict=True
        ):
            if code >> 16 != -2:
                add(sites.names[code >> 16] if code >= 0 else "", code & 0xFFFF, *numbers)
    info = window.run.info
    longest_first = sorted(sums.items(), key=lambda item: -item[1][0])[:_MAX_ROWS]
    shown = {name for (path, _, _), _ in longest_first for name in path.split(BETWEEN)}
    known = {**sites.full_names, **({} if sites.sampled is None else sites.sampled.full_names)}
    return {
        "known": True,
        "whole": {name: known[name] for name in shown & known.keys()},
        "rows": [
            {
                "path": path,
                "kind": info["kinds"][of_kind],
                "state": info["states"][of_state],
                "seconds": total,
                "count": int(count),
                "longest": longest,
            }
            for (path, of_kind, of_state), (total, count, longest) in longest_first
        ],
    }
