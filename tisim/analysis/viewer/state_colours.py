"""Colours of states beyond the classes stored in the levels of a run file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RecordClasses, RunFile, Window
from tisim.analysis.viewer.call_path import common_functions, functions_of
from tisim.analysis.viewer.call_sites import Sites

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import Block

#: Colour schemes supported by `StateColours`.
RECORD_COLOURS = ("procedure", "distance", "cause")

# Maximum number of blocks of states examined individually for a picture.
_MAX_BLOCKS = 32
_MAX_RANKS = 4096
# In order of assignment: Okabe and Ito's colours, and others that differ from them.
_PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8A7A00",
    "#7A3B9A",
    "#A6761D",
)
_OTHER = "#8C8C8C"
_NONE = "#D8DADD"
# From near to far.
_DISTANCES = (
    "#F2E51D",
    "#9BD93C",
    "#4AC16D",
    "#1FA187",
    "#277F8E",
    "#365C8D",
    "#46327E",
    "#30123B",
)


@dataclass(frozen=True)
class ColourClass:
    """A colour and its meaning."""

    name: str
    colour: str


class StateColours:
    """Classes of states computed from their records."""

    def __init__(self, run: RunFile, sites: Sites) -> None:
        self._run = run
        self._sites = sites

    def classes(
        self, window: Window, by: str, depth: int
    ) -> tuple[list[ColourClass], RecordClasses] | str:
        """Return the classes of a window, or a sentence if it has none.

        `by` is one of `RECORD_COLOURS`: the calling function, or the one with most samples of a
        computation; the distance to the other rank, in ranks; the rank that is waited for. `depth`
        is the depth of the functions, from 1; 0: the innermost.
        """
        blocks = len(self._run.states.overlapping(window.begin, window.end))
        if blocks > _MAX_BLOCKS or window.ranks > _MAX_RANKS:
            return f"Coloured by state: too many states in this window to colour by {by}. Zoom in."
        if by == "distance":
            return self._by_distance(window)
        if by == "cause":
            return self._by_cause(window)
        if not self._sites.are_known and self._sites.sampled is None:
            return "Coloured by state: the trace of this run has neither call sites nor samples."
        return self._by_procedure(window, depth)

    def _by_distance(self, window: Window) -> tuple[list[ColourClass], RecordClasses]:
        run = self._run
        places, peers = self._peers(window)
        steps = max(1, math.ceil(math.log2(max(run.ranks, 2))))
        names = ["no other rank", "1"]
        names += [f"{1 << step} to {(2 << step) - 1}" for step in range(1, steps)]

        def of(rows: Block) -> NDArray[np.int32]:
            rank = rows.numbers("rank")
            found = _lookup(places, peers, rank << 32 | rows.numbers("line"))
            for name in ("cause", "peer"):
                own = rows.numbers(name)
                found = np.where(own >= 0, own, found)
            distance = np.abs(found - rank)
            step = np.floor(np.log2(np.maximum(distance, 1))).astype(np.int32) + 1
            classes: NDArray[np.int32] = np.where((found >= 0) & (distance > 0), step, 0)
            return classes.astype(np.int32)

        colours = [_NONE]
        for step in range(len(names) - 1):
            at = step * (len(_DISTANCES) - 1) / max(len(names) - 2, 1)
            colours.append(_DISTANCES[round(at)])
        made = [ColourClass(*pair) for pair in zip(names, colours, strict=True)]
        return made, RecordClasses(len(made), of)

    def _peers(self, window: Window) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the peers of the calls of a window, keyed by rank and line in one number."""
        table = self._run.actions
        places, peers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for block in table.overlapping(window.begin, window.end):
            rows = window.rows_of(table.read(block))
            rows = rows.rows(rows.numbers("peer") >= 0)
            places.append(rows.numbers("rank") << 32 | rows.numbers("line"))
            peers.append(rows.numbers("peer"))
        every, first = np.unique(np.concatenate(places), return_index=True)
        return every, np.concatenate(peers)[first]

    def _by_cause(self, window: Window) -> tuple[list[ColourClass], RecordClasses]:
        waits = [self._run.info["states"].index(name) for name in WAITS]
        sums = np.zeros(self._run.ranks)
        table = self._run.states
        for block in table.overlapping(window.begin, window.end):
            rows = window.rows_of(table.read(block))
            rows = rows.rows((rows.numbers("cause") >= 0) & np.isin(rows.numbers("state"), waits))
            seconds = rows.seconds(window.begin, window.end)
            sums += np.bincount(rows.numbers("cause"), weights=seconds, minlength=len(sums))
        chosen = [int(rank) for rank in np.argsort(-sums, kind="stable")[: len(_PALETTE)]]
        chosen = [rank for rank in chosen if sums[rank] > 0]
        class_of = np.ones(len(sums), np.int32)
        class_of[chosen] = np.arange(2, len(chosen) + 2)

        def of(rows: Block) -> NDArray[np.int32]:
            cause = rows.numbers("cause")
            late = (cause >= 0) & np.isin(rows.numbers("state"), waits)
            found: NDArray[np.int32] = np.where(late, class_of[np.maximum(cause, 0)], 0)
            return found.astype(np.int32)

        made = [ColourClass("no wait", _NONE), ColourClass("for others", _OTHER)]
        colours = _assign_colours([rank % len(_PALETTE) for rank in chosen])
        made += [ColourClass(f"for rank {rank}", colours[i]) for i, rank in enumerate(chosen)]
        return made, RecordClasses(len(made), of)

    def _by_procedure(self, window: Window, depth: int) -> tuple[list[ColourClass], RecordClasses]:
        names: dict[str, int] = {}
        sums: list[float] = []
        classes: dict[int, NDArray[np.int32]] = {}
        table = self._run.states
        for block in table.overlapping(window.begin, window.end):
            rows = window.rows_of(table.read(block))
            found = self._procedures(rows, depth, names)
            classes[block] = found
            seconds = rows.seconds(window.begin, window.end)
            more = np.bincount(found, weights=seconds, minlength=len(names))
            sums += [0.0] * (len(more) - len(sums))
            sums = [one + other for one, other in zip(sums, more.tolist(), strict=True)]
        order = sorted(range(len(names)), key=lambda place: -sums[place])[: len(_PALETTE)]
        known = list(names)
        class_of = np.zeros(max(len(names), 1), np.int32)
        class_of[order] = np.arange(1, len(order) + 1)
        # The blocks are requested in the same order again.
        waiting = iter(list(classes.values()))

        def of(rows: Block) -> NDArray[np.int32]:
            found: NDArray[np.int32] = class_of[next(waiting)]
            return found

        made = [ColourClass("others", _OTHER)]
        colours = _assign_colours([sum(map(ord, known[place])) % len(_PALETTE) for place in order])
        made += [
            ColourClass(known[place] or "no function", colours[i]) for i, place in enumerate(order)
        ]
        return made, RecordClasses(len(made), of)

    def _procedures(self, rows: Block, depth: int, names: dict[str, int]) -> NDArray[np.int32]:
        """Return the function of each state at a depth, as indices in `names`, which grows."""
        rank, line = rows.numbers("rank"), rows.numbers("line")
        found = np.zeros(len(rows), np.int32)
        borders = np.flatnonzero(np.diff(rank, prepend=-1, append=-1))
        for low, high in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            sites = self._sites.of_rank(int(rank[low]))
            lines = line[low:high]
            if not len(sites.line):
                found[low:high] = names.setdefault("", len(names))
                self._add_sampled(int(rank[low]), lines, depth, names, found[low:high])
                continue
            at = np.searchsorted(sites.line, lines)
            last = len(sites.line) - 1
            after = sites.path[np.minimum(at, last)]
            is_call = sites.line[np.minimum(at, last)] == lines
            before = np.where(is_call, after, sites.path[np.clip(at - 1, 0, last)])
            pairs, place = np.unique(before.astype(np.int64) << 32 | after, return_inverse=True)
            functions = [
                self._function(pair >> 32, pair & 0xFFFFFFFF, depth) for pair in pairs.tolist()
            ]
            numbers = [names.setdefault(name, len(names)) for name in functions]
            found[low:high] = np.array(numbers, np.int32)[place]
            self._add_sampled(int(rank[low]), lines, depth, names, found[low:high])
        return found

    def _add_sampled(
        self,
        rank: int,
        lines: NDArray[np.int64],
        depth: int,
        names: dict[str, int],
        found: NDArray[np.int32],
    ) -> None:
        """Set the function with most samples for each sampled computation of a rank."""
        if self._sites.sampled is None:
            return
        shares = self._sites.sampled.of_rank(rank)
        for place in np.flatnonzero(np.isin(lines, [*shares])).tolist():
            functions = functions_of(shares[int(lines[place])][0][0])
            name = functions[min(depth, len(functions)) - 1] if depth else functions[-1]
            found[place] = names.setdefault(name, len(names))

    def _function(self, before: int, after: int, depth: int) -> str:
        """Return the function at a depth, or the innermost one, common to two call paths."""
        shared = common_functions(
            *map(functions_of, (self._sites.names[i] for i in (before, after)))
        )
        if not shared:
            return ""
        return shared[min(depth, len(shared)) - 1] if depth else shared[-1]


def _lookup(
    places: NDArray[np.int64], values: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the value of each wanted key; -1 if absent."""
    if not len(places):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    found: NDArray[np.int64] = np.where(places[at] == wanted, values[at], -1)
    return found


def _assign_colours(wanted: Sequence[int]) -> list[str]:
    """Return distinct colours of the palette, the wanted ones where they are free."""
    free = dict.fromkeys(range(len(_PALETTE)))
    colours = []
    for place in wanted:
        chosen = place if place in free else next(iter(free))
        del free[chosen]
        colours.append(_PALETTE[chosen])
    return colours
