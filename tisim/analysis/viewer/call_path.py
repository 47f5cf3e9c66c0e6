"""The call path of a rank over time, with the messages within its collectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.columns import BETWEEN_CALLS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import Block
from tisim.analysis.timeline.run_file.window import longest_of_cells
from tisim.analysis.viewer.call_sites import Sites
from tisim.traces.call_sites import BETWEEN

if TYPE_CHECKING:
    Row = dict[str, object]

# Maximum number of calls drawn individually; of more, the longest in each of as many intervals.
_MAX_CALLS = 4000
_MAX_BLOCKS = 64
_MAX_MESSAGES = 500
_MESSAGE_ROWS = 6
_COMPUTE = "compute"


@dataclass
class _Span:
    start: float
    end: float
    name: str


class CallPathView:
    """The functions of a rank over time, their calls, and the messages of collectives."""

    def __init__(self, run: RunFile, sites: Sites) -> None:
        self._run = run
        self._sites = sites

    def within(self, window: Window, rank: int) -> Row:
        """Return the rows of a picture, from the outermost function to the call.

        `depths` are the spans of each depth: start and end in seconds, and a name. Consecutive
        calls from one function are one span, including the time between them. `messages` are those
        within collectives: `start`, `end`, `row`, the `other` rank, whether it `sends`, `bytes`. A
        sampled computation is divided among the functions in proportion to its samples, in
        descending order: their order in time is unknown.
        """
        depths: list[list[_Span]] = []
        before: list[str] = []
        for frames, kind, start, end in self._spans(window, rank):
            if start == end:
                continue
            names = [*frames, kind]
            same = len(common_functions(before, frames))
            for depth, name in enumerate(names):
                while len(depths) <= depth:
                    depths.append([])
                if depth < same and depths[depth]:
                    depths[depth][-1].end = end
                else:
                    depths[depth].append(_Span(start, end, name))
            before = frames
        return {
            "rank": rank,
            "known": self._sites.are_known,
            "sampled": self._sites.sampled is not None,
            "depths": [[[span.start, span.end, span.name] for span in row] for row in depths],
            "messages": self._messages(window, rank),
        }

    def _spans(self, window: Window, rank: int) -> Iterator[tuple[list[str], str, float, float]]:
        """Yield functions, kind, start and end of each action, or part of a sampled computation."""
        calls = self._calls(window, rank)
        kinds = self._run.info["kinds"]
        lines = calls.numbers("line").tolist()
        sampled = self._sampled(rank, {*lines})
        spans = zip(
            self._frames(calls, rank, sampled),
            lines,
            (kinds[kind] for kind in calls.numbers("kind").tolist()),
            calls.reals("start").tolist(),
            calls.reals("end").tolist(),
            strict=True,
        )
        for frames, line, kind, start, end in spans:
            if kind != _COMPUTE or line not in sampled:
                yield frames, kind, start, end
                continue
            done = 0.0
            for path, share in _grouped(sampled[line]):
                yield (
                    path,
                    kind,
                    start + done * (end - start),
                    start + min(done + share, 1.0) * (end - start),
                )
                done += share

    def _sampled(self, rank: int, lines: Set[int]) -> Mapping[int, list[tuple[list[str], float]]]:
        """Return the functions of the sampled computations on some lines, with their shares."""
        if self._sites.sampled is None:
            return {}
        of_rank = self._sites.sampled.of_rank(rank)
        return {
            line: [(functions_of(path), share) for path, share in of_rank[line]]
            for line in lines & of_rank.keys()
        }

    def _calls(self, window: Window, rank: int) -> Block:
        """Return the actions of a rank in a window; only the longest if there are many."""
        table = self._run.actions
        parts = [table.empty()]
        for block in table.overlapping(window.begin, window.end):
            cut = table.read(block).of_rank(rank)
            start, end = cut.reals("start"), cut.reals("end")
            inside = np.flatnonzero((end >= window.begin) & (start <= window.end))
            if len(inside):
                # Adjacent calls determine the functions of the first and last computation.
                around = slice(max(int(inside[0]) - 2, 0), int(inside[-1]) + 3)
                parts.append(_longest(cut.rows(around), window))
        return _longest(Block.joined(parts), window)

    def _frames(
        self, calls: Block, rank: int, sampled: Mapping[int, list[tuple[list[str], float]]]
    ) -> list[list[str]]:
        """Return the functions of each action, the outermost first.

        A computation is in those that all its samples have in common; if neither samples nor a call
        determine them, an action is in those common to the nearest ones before and after it.
        """
        sites = self._sites.of_rank(rank)
        kinds = self._run.info["kinds"]
        frames: list[list[str] | None] = []
        rows = zip(calls.numbers("line").tolist(), calls.numbers("kind").tolist(), strict=True)
        for line, kind in rows:
            if kinds[kind] == _COMPUTE and line in sampled:
                frames.append(reduce(common_functions, (path for path, _ in sampled[line])))
                continue
            path = -1 if kinds[kind] in BETWEEN_CALLS else sites.of(line)
            frames.append(None if path < 0 else functions_of(self._sites.names[path]))
        known = [place for place, path in enumerate(frames) if path is not None]
        filled = [path or [] for path in frames]
        for low, high in pairwise([-1, *known, len(frames)]):
            ends = [filled[place] for place in (low, high) if 0 <= place < len(frames)]
            shared = common_functions(*ends) if len(ends) == 2 else ends[0][:1] if ends else []
            for place in range(low + 1, high):
                filled[place] = shared
        return filled

    def _messages(self, window: Window, rank: int) -> list[Row]:
        """Return the messages of a rank within collectives, the longest of many, in rows."""
        table = self._run.messages
        blocks = table.overlapping(window.begin, window.end, "started", "arrived")
        parts = [table.empty()]
        for block in blocks if len(blocks) <= _MAX_BLOCKS else ():
            rows = table.read(block)
            ends = (rows.numbers("source"), rows.numbers("destination"))
            chosen = (ends[0] == rank) | (ends[1] == rank)
            start, end = rows.reals("started"), rows.reals("arrived")
            chosen &= (end >= window.begin) & (start <= window.end)
            parts.append(rows.rows(chosen & rows.numbers("collective").astype(bool)))
        rows = Block.joined(parts)
        length = rows.reals("arrived") - rows.reals("started")
        rows = rows.rows(np.argsort(-length, kind="stable")[:_MAX_MESSAGES])
        rows = rows.rows(np.argsort(rows.reals("started"), kind="stable"))
        return _in_rows(rows, rank)


def functions_of(path: str) -> list[str]:
    """Return the names of the functions of a call path, the outermost first."""
    return [frame.partition(" (")[0] for frame in path.split(BETWEEN)]


def _grouped(shares: list[tuple[list[str], float]]) -> list[tuple[list[str], float]]:
    """Group paths that share a function, the largest functions first."""
    sums: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for path, share in shares:
        for depth in range(1, len(path) + 1):
            sums[tuple(path[:depth])] += share

    def place(one: tuple[list[str], float]) -> list[tuple[float, str]]:
        path = one[0]
        return [(-sums[tuple(path[: depth + 1])], name) for depth, name in enumerate(path)]

    return sorted(shares, key=place)


def common_functions(one: list[str], other: list[str]) -> list[str]:
    """Return the longest common prefix of two lists of functions."""
    count = 0
    for pair in zip(one, other, strict=False):
        if pair[0] != pair[1]:
            break
        count += 1
    return one[:count]


def _longest(rows: Block, window: Window) -> Block:
    """Return rows in order of time; of many, only the longest in each part of a window."""
    if len(rows) <= _MAX_CALLS:
        return rows.rows(np.argsort(rows.reals("end"), kind="stable"))
    width = (window.end - window.begin) / _MAX_CALLS
    start, end = rows.reals("start"), rows.reals("end")
    cell = (np.maximum(start - window.begin, 0.0) / width).astype(np.int64)
    return rows.rows(longest_of_cells(cell, end - start))


def _in_rows(rows: Block, rank: int) -> list[Row]:
    """Arrange messages in rows such that those in flight concurrently do not overlap."""
    free = [float("-inf")] * _MESSAGE_ROWS
    found: list[Row] = []
    columns = zip(
        rows.reals("started").tolist(),
        rows.reals("arrived").tolist(),
        rows.numbers("source").tolist(),
        rows.numbers("destination").tolist(),
        rows.numbers("bytes").tolist(),
        strict=True,
    )
    for start, end, source, destination, size in columns:
        row = next((place for place, time in enumerate(free) if time <= start), None)
        if row is None:
            continue  # more messages are in flight than there are rows
        free[row] = end
        found.append(
            {
                "start": start,
                "end": end,
                "row": row,
                "other": destination if source == rank else source,
                "sends": source == rank,
                "bytes": size,
            }
        )
    return found
