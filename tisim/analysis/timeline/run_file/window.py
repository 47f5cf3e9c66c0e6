"""Windows of time and ranks of a run: the data needed for a picture of a given size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.run_file.reader import Block
from tisim.analysis.timeline.run_file.schema import LevelInfo, SpanInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run_file.reader import RunFile

# Maximum number of blocks read to determine whether a window has few records.
_MAX_BLOCKS = 64
# Sums over a window use a level with this number of parts in the window, or records.
_PARTS_OF_SUMS = 1000
# A picture of more records than these may use parts of a level up to `_MAX_PART_WIDTH` columns
# wide: there are too many records to read for one picture.
_MANY_RECORDS = 1_500_000
_MAX_PART_WIDTH = 8


@dataclass(frozen=True)
class Tile:
    """The non-empty cells of a picture, sorted by column and lane.

    `key`: the class of states, which determines the colour. `seconds`: time in states of the class,
    summed over the ranks of the lane. `longest`: full duration of the longest of these states.
    `count`: number of states that end in the cell (in sums: that touch it).
    """

    column: NDArray[np.uint32]
    lane: NDArray[np.uint32]
    key: NDArray[np.uint32]
    seconds: NDArray[np.float32]
    longest: NDArray[np.float32]
    count: NDArray[np.uint32]


@dataclass(frozen=True)
class RecordClasses:
    """Classes that can be computed only from records, not from sums.

    `of` returns the class of each row of a part of the table of states, from 0 to below `count`. It
    is called once for each block of the window, in order.
    """

    count: int
    of: Callable[[Block], NDArray[np.int32]]


class Window:
    """An interval of time, in seconds, and of ranks of a run, including `last`.

    `order`: the rank at each position; `first` and `last` are then positions in it.
    """

    def __init__(
        self,
        run: RunFile,
        begin: float,
        end: float,
        first: int,
        last: int,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        self.run = run
        self.begin, self.end = max(begin, 0.0), min(end, run.end)
        self.first, self.last = max(first, 0), min(last, run.ranks - 1)
        self._order = order

    @cached_property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.last - self.first + 1

    @cached_property
    def _positions(self) -> NDArray[np.int64] | None:
        """The position of each rank; None if it is the rank's number."""
        import numpy as np

        if self._order is None:
            return None
        positions = np.empty(len(self._order), np.int64)
        positions[self._order] = np.arange(len(self._order))
        return positions

    def positions(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of ranks, in the numbering of `first` and `last`."""
        return ranks if self._positions is None else self._positions[ranks]

    def holds(self, ranks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the ranks in the window."""
        positions = self.positions(ranks)
        inside: NDArray[np.bool_] = (positions >= self.first) & (positions <= self.last)
        return inside

    def tile(self, columns: int, lanes: int, classes: NDArray[np.int32] | RecordClasses) -> Tile:
        """Return the window as a picture.

        No state longer than a column of the picture is lost: each cell that it touches contains it
        in `Tile.longest`. With wide lanes, a lane may show the ranks of a level's groups whose
        middles are in it; with too many records, several columns may be merged. Lanes are as equal
        as possible. `classes` is the class of each key of the run (`RunInfo.keys`), from 0; -1
        omits the key. `RecordClasses` require reading all records of the window.
        """
        if isinstance(classes, RecordClasses):
            return self._summed(columns, lanes, classes, None)
        return self._summed(columns, lanes, classes, self.level(columns, lanes, is_exact=False))

    def sums(self, lanes: int, classes: NDArray[np.int32]) -> Tile:
        """Return sums over the time of the window, by lane: a picture of one column.

        At the borders of a window that is not narrow, time within a thousandth of its length is
        divided evenly. States that end after the window count too.
        """
        tile = self._summed(1, lanes, classes, self.level(_PARTS_OF_SUMS, lanes))
        self._count_unfinished(tile, lanes, classes)
        return tile

    def _count_unfinished(self, tile: Tile, lanes: int, classes: NDArray[np.int32]) -> None:
        """Count the states that begin in or span the window, and end after it."""
        import numpy as np

        ranks = self._ranks_shown()
        lane = np.arange(self.ranks) * lanes // self.ranks
        of_keys = np.full(1 << 16, -1, np.int64)
        pairs = np.array(self.run.info["keys"], np.int64).reshape(-1, 2)
        of_keys[pairs[:, 0] << 8 | pairs[:, 1]] = classes
        # The cells of a one-column tile are sorted by lane and class.
        cells = tile.lane.astype(np.int64) << 32 | tile.key
        for number in overlapping(self.run.info["spans"], self.end, self.end):
            with self.run.reading():
                begins, offsets, ends, keys = self.run.spans.states(number)
                ended = np.append(0, np.cumsum(ends <= self.end))
                first, stop = offsets[ranks], offsets[ranks + 1]
                at = first + ended[stop] - ended[first]
                left = at < stop
                before = ends[np.maximum(at - 1, 0)]
                left &= np.where(at > first, before, begins[ranks]) < self.end
                found = lane[left] << 32 | of_keys[keys[at[left]]]
            if len(cells):
                place = np.minimum(np.searchsorted(cells, found), len(cells) - 1)
                np.add.at(tile.count, place[cells[place] == found], 1)

    def _summed(
        self,
        columns: int,
        lanes: int,
        classes: NDArray[np.int32] | RecordClasses,
        level: LevelInfo | None,
    ) -> Tile:
        import numpy as np

        if isinstance(classes, RecordClasses):
            sums = _core.SpanSums(self.begin, self.end, lanes, columns, max(classes.count, 1))
            self._add_records(sums, lanes, classes.of)
            return Tile(*sums.cells())
        used = np.unique(classes[classes >= 0])
        place = np.where(classes >= 0, np.searchsorted(used, classes), -1).astype(np.int32)
        sums = _core.SpanSums(self.begin, self.end, lanes, columns, len(used))
        pairs = np.array(self.run.info["keys"], np.int64).reshape(-1, 2)
        of_keys = np.full(1 << 16, -1, np.int32)  # for each possible key number
        of_keys[pairs[:, 0] << 8 | pairs[:, 1]] = place
        if level is None:
            self._add_states(sums, lanes, of_keys)
        else:
            self._add_cells(sums, lanes, of_keys, level)
        column, lane, key, seconds, longest, count = sums.cells()
        return Tile(column, lane, used.astype(np.uint32)[key], seconds, longest, count)

    def records(self, most: int) -> Block | None:
        """Return the states of the window, by rank and time; None if possibly more than `most`."""
        import numpy as np

        table = self.run.states
        blocks = table.overlapping(self.begin, self.end)
        if len(blocks) > _MAX_BLOCKS:
            return None
        parts = [table.empty()]
        size = 0
        for block in blocks:
            part = self.rows_of(table.read(block))
            size += len(part)
            if size > most:
                return None
            parts.append(part)
        rows = Block.joined(parts)
        return rows.rows(np.lexsort((rows.reals("end"), rows.numbers("rank"))))

    def rows_of(self, block: Block) -> Block:
        """Return the rows in the window of a block of states or actions, sorted by rank."""
        import numpy as np

        if self._order is not None:
            inside = self.holds(block.numbers("rank")) & (block.reals("end") >= self.begin)
            return block.rows(inside & (block.reals("start") <= self.end))
        low, high = np.searchsorted(block.numbers("rank"), [self.first, self.last + 1])
        cut = block.rows(slice(int(low), int(high)))
        return cut.rows((cut.reals("end") >= self.begin) & (cut.reals("start") <= self.end))

    def level(self, columns: int, lanes: int, *, is_exact: bool = True) -> LevelInfo | None:
        """Return the coarsest level that is fine enough; None if only the records are.

        `is_exact`: require groups that are far smaller than the lanes, or aligned with them.
        """
        width = (self.end - self.begin) / columns
        possible = [
            level
            for level in self.run.info["levels"]
            if level["group"] <= (max(self.ranks // lanes, 1) if self._order is None else 1)
            and (level["group"] == 1 or not is_exact or self._on_borders(level["group"], lanes))
        ]
        fine = [level for level in possible if self.run.end / level["parts"] <= width]
        if fine or is_exact or self._records() <= _MANY_RECORDS:
            return min(fine, key=lambda level: (-level["group"], level["parts"]), default=None)
        wide = [
            level for level in possible if self.run.end / level["parts"] <= _MAX_PART_WIDTH * width
        ]
        return min(wide, key=lambda level: (-level["group"], -level["parts"]), default=None)

    def _records(self) -> float:
        """Estimate the number of states in the window."""
        batches = self.run.info["spans"]
        states = 0.0
        for batch in map(batches.__getitem__, overlapping(batches, self.begin, self.end)):
            whole = batch["end"] - batch["begin"]
            inside = min(batch["end"], self.end) - max(batch["begin"], self.begin)
            states += batch["states"] * (inside / whole if whole > 0.0 else 1.0)
        return states * self.ranks / self.run.ranks

    def _on_borders(self, group: int, lanes: int) -> bool:
        """Return True if a level's lanes are far smaller than the picture's, or fit them."""
        per_lane = self.ranks / lanes
        return per_lane >= 4 * group or (self.first % group == 0 and per_lane % group == 0)

    def _add_records(
        self, sums: _core.SpanSums, lanes: int, of: Callable[[Block], NDArray[np.int32]]
    ) -> None:
        import numpy as np

        table = self.run.states
        for block in table.overlapping(self.begin, self.end):
            with self.run.reading():
                rows = self.rows_of(table.read(block))
            start, end = rows.reals("start"), rows.reals("end")
            seconds = end - start
            lane = (self.positions(rows.numbers("rank")) - self.first) * lanes // self.ranks
            sums.add(
                start,
                end,
                lane.astype(np.int32),
                np.ascontiguousarray(of(rows), np.int32),
                seconds,
                seconds,
                np.ones(len(seconds), np.int64),
            )

    def _add_states(self, sums: _core.SpanSums, lanes: int, classes: NDArray[np.int32]) -> None:
        import numpy as np

        ranks, table = self._ranks_shown(), self.run.spans
        lane = (np.arange(self.ranks) * lanes // self.ranks).astype(np.int32)
        for number in overlapping(self.run.info["spans"], self.begin, self.end):
            with self.run.reading():
                sums.add_states(*table.states(number), ranks, lane, classes)

    def _add_cells(
        self, sums: _core.SpanSums, lanes: int, classes: NDArray[np.int32], level: LevelInfo
    ) -> None:
        import numpy as np

        group, parts = level["group"], level["parts"]
        scale = np.ones(lanes)
        if self._order is None:
            shown = np.arange(self.first // group, self.last // group + 1, dtype=np.int32)
            # A lane of the level belongs to the picture's lane that contains its middle.
            middle = np.clip(shown.astype(np.int64) * group + group // 2, self.first, self.last)
            lane = ((middle - self.first) * lanes // self.ranks).astype(np.int32)
            if group > 1 and not self._on_borders(group, lanes):
                scale = self._scale(group, lanes)
        else:  # levels whose lanes are ranks
            shown = self._ranks_shown()
            lane = (np.arange(self.ranks) * lanes // self.ranks).astype(np.int32)
        low = int(self.begin / self.run.end * parts)
        high = int(self.end / self.run.end * parts)
        for number, first, last in level["batches"]:
            if first <= high and last >= low:
                with self.run.reading():
                    columns = self.run.levels.cells(number)
                    sums.add_cells(*columns, parts, self.run.end, shown, lane, classes, scale)

    def _ranks_shown(self) -> NDArray[np.int32]:
        """Return the ranks at the positions of the window."""
        import numpy as np

        if self._order is None:
            return np.arange(self.first, self.last + 1, dtype=np.int32)
        return self._order[self.first : self.last + 1].astype(np.int32)

    def _scale(self, group: int, lanes: int) -> NDArray[np.float64]:
        """Return, per lane, its ranks divided by those of the groups whose middles it contains."""
        import numpy as np

        starts = np.arange(self.first // group, self.last // group + 1) * group
        middles = np.clip(starts + group // 2, self.first, self.last)
        sizes = np.minimum(starts + group, self.run.ranks) - starts
        shown = np.bincount((middles - self.first) * lanes // self.ranks, sizes, lanes)
        ranks = np.bincount(np.arange(self.ranks) * lanes // self.ranks, minlength=lanes)
        scale: NDArray[np.float64] = ranks / np.maximum(shown, 1)
        return scale


def longest_of_cells(cell: NDArray[np.int64], seconds: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices, ascending, of the longest row per cell; the first one wins ties."""
    import numpy as np

    order = np.lexsort((-seconds, cell))
    first = np.append(True, np.diff(cell[order]) != 0)
    chosen: NDArray[np.intp] = np.sort(order[first])
    return chosen


def overlapping(batches: list[SpanInfo], begin: float, end: float) -> list[int]:
    """Return the indices of batches with states that may overlap an interval, in seconds."""
    return [i for i, span in enumerate(batches) if span["end"] >= begin and span["begin"] <= end]
