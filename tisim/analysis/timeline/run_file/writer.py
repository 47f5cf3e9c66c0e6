"""Writes run files: tables of records block by block, followed by their sums."""

from __future__ import annotations

import json
import mmap
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.analysis.timeline.columns import STATES
from tisim.analysis.timeline.run_file.schema import (
    FORMAT,
    INFO,
    PLATFORM,
    VERSION,
    LevelInfo,
    RunInfo,
)
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.support.files import OutputFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run import Run

# Sums of states at all resolutions. A level is a grid: lanes of equally many ranks, and the time in
# equal parts. For each state and kind of action, its cells contain the seconds, the longest state
# that touches the cell, and the number of states that end in it. The finest level of each group
# size has one cell for at most `_STATES_PER_CELL` states, so that levels are small compared with
# the records, and a window too narrow for them contains few records.
_STATES_PER_CELL = 32
# Ratios of consecutive levels: ranks per lane, and length of the time parts.
_RANKS_FACTOR = 4
_TIME_FACTOR = 2
# Levels with fewer lanes or parts are not needed: pictures are larger.
_MIN_LANES = 32
_MIN_PARTS = 256
_MAX_PARTS = 1 << 22
# Maximum number of cells summed in memory at once (12 bytes each).
_CELLS_AT_ONCE = 4_000_000


def grids(ranks: int, states: int) -> list[list[LevelInfo]]:
    """Return the levels of a run, grouped by group size, the finest first."""
    levels = []
    group = 1
    while True:
        lanes = -(-ranks // group)
        wanted = max(states // (_STATES_PER_CELL * lanes), 1)
        parts = min(1 << (wanted - 1).bit_length(), _MAX_PARTS)
        of_group: list[LevelInfo] = []
        while parts >= _MIN_PARTS:
            of_group.append({"group": group, "parts": parts, "batches": []})
            parts //= _TIME_FACTOR
        if of_group:
            levels.append(of_group)
        if lanes < _MIN_LANES * _RANKS_FACTOR:
            return levels
        group *= _RANKS_FACTOR


def write_levels(
    file: OutputFile, spans: _core.SpanFile, states: mmap.mmap, ranks: int, end: float
) -> list[LevelInfo]:
    """Write the sums of the states of a run that ends at `end` s; return the levels written.

    `states` is the complete file written by `spans`, memory-mapped.
    """
    count = sum(states for _, _, states in spans.batches())
    groups = grids(ranks, count) if end > 0.0 else []
    sums, content = _core.LevelFile(), cast("NDArray[np.uint8]", states)  # any buffer
    for levels in groups:
        group, parts = levels[0]["group"], levels[0]["parts"]
        strip = max(_CELLS_AT_ONCE // (-(-ranks // group) * len(spans.keys())), 1)
        strip = min(1 << (strip.bit_length() - 1), parts)  # a power of two divides the parts
        for first in range(0, parts, strip):
            sums.sum(spans, content, group, parts, first, strip, end)
            for halvings, level in enumerate(levels):
                if halvings > 0:
                    sums.halve()
                last = (first + strip - 1) >> halvings
                level["batches"].append((sums.write(), first >> halvings, last))
            file.write(sums.take(False))
    file.write(sums.take(True))
    return [level for levels in groups for level in levels]


#: Minimum number of states per batch.
BLOCK = 1 << 17
# Number of states per rank in a batch: few ranks over all time, and all ranks over a short time,
# then occupy few pages of the file. Larger batches take too much memory while they are written.
_STATES_PER_RANK = 32
_MAX_BLOCK = 1 << 22


# The date of every member: the same run gives identical bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
# Size of a member's header before its name and the extra bytes: the fixed part, and the sizes of
# large members (APPNOTE 4.3.7, 4.5.3). The ID of the extra bytes is unassigned.
_HEADER = 30 + 20
_EXTRA = b"\x15\x07"
_ALIGNED = 64
_COPIED_AT_ONCE = 1 << 20
_SPANS = "spans.arrow"
_LEVELS = "levels.arrow"
_Table = _core.StateTable | _core.ActionTable | _core.MessageTable


@dataclass(frozen=True)
class RunDescription:
    """The facts in a run file about its run; see `RunInfo`."""

    title: str
    ranks: int
    end: float
    hosts: Sequence[str]
    host_of: Sequence[int]
    trace: str | None
    changes: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    is_measured: bool = False
    platform_xml: str | None = None
    lanes: Sequence[str] | None = None  # names of lanes that are not ranks
    findings: Sequence[str] = ()  # sentences that the viewer shows instead of its own


def row_types() -> dict[str, np.dtype[np.void]]:
    """Return the type of the rows of each table of records."""
    types = {
        "states": _core.state_type(),
        "actions": _core.action_type(),
        "messages": _core.message_type(),
    }
    return {name: cast("np.dtype[np.void]", dtype) for name, dtype in types.items()}


class RunFileWriter:
    """Writes the records of a run in blocks, followed by their sums.

    The core creates the tables: loading the Parquet and Arrow library takes longer than writing
    most of them. Each is written next to the file, under a hidden name, until `finish` adds it. The
    file appears when it is committed. Rows come from the `listeners` and `sinks` of a simulation,
    or from `add`.
    """

    def __init__(self, path: Path, ranks: int) -> None:
        states, actions = _core.StateTable(ranks), _core.ActionTable(ranks)
        messages = _core.MessageTable(ranks)
        self._records: dict[str, _Table] = {
            "states": states,
            "actions": actions,
            "messages": messages,
        }
        self._spans = _core.SpanFile(ranks, min(max(BLOCK, _STATES_PER_RANK * ranks), _MAX_BLOCK))
        self._listeners: list[_core.Listener] = [actions, messages]
        self.sinks: list[_core.StateSink] = [states, self._spans]
        self._writers: dict[str, _Table | _core.SpanFile] = {
            **{f"{name}.parquet": table for name, table in self._records.items()},
            _SPANS: self._spans,
        }
        self._tables: dict[str, OutputFile] = {}
        self._file = OutputFile(path)
        try:
            for member in (*self._writers, _LEVELS):
                self._tables[member] = OutputFile(path)
        except BaseException:
            self.discard()
            raise

    def listeners(self) -> list[_core.Listener]:
        return self._listeners

    def add(self, name: str, rows: bytes) -> None:
        """Add all rows of a table, of its type in `row_types`."""
        self._writers[f"{name}.parquet"].add(rows)
        if name == "states":
            self._spans.add(rows)

    def drain(self, last: bool) -> None:
        """Store the completed output of the tables; `last`: there are no more rows."""
        for member, table in self._writers.items():
            if piece := table.take(last):
                self._tables[member].write(piece)

    def finish(self, run: RunDescription) -> None:
        """Write the sums and assemble the file; all tables are complete."""
        with (
            self._tables[_SPANS].reader() as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as states,
        ):
            levels = write_levels(self._tables[_LEVELS], self._spans, states, run.ranks, run.end)
        with (
            self._file.writing(),
            zipfile.ZipFile(self._file.stream, "w", zipfile.ZIP_STORED) as archive,
        ):
            for name in self._tables:
                self._store(archive, name)
            info = json.dumps(self._info(run, levels), indent=1)
            archive.writestr(zipfile.ZipInfo(INFO, _DATE), info)
            if run.platform_xml is not None:
                member = zipfile.ZipInfo(PLATFORM, _DATE)
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, run.platform_xml)
        self._file.complete()
        self._discard_tables()

    def _store(self, archive: zipfile.ZipFile, name: str) -> None:
        """Copy a complete table into the archive."""
        member = zipfile.ZipInfo(name, _DATE)
        # Extra bytes in the header align the content to `_ALIGNED`, so that columns of numbers can
        # be read in place.
        rest = self._file.stream.tell() + _HEADER + len(name.encode()) + len(_EXTRA) + 2
        size = -rest % _ALIGNED
        member.extra = _EXTRA + size.to_bytes(2, "little") + bytes(size)
        with (
            self._tables[name].reader() as source,
            archive.open(member, "w", force_zip64=True) as target,
        ):
            shutil.copyfileobj(source, target, _COPIED_AT_ONCE)
        # Large runs would otherwise need twice the space.
        self._tables[name].discard()

    def commit(self) -> None:
        """Make the file appear."""
        self._file.commit()
        self._discard_tables()

    def discard(self) -> None:
        """Remove all files."""
        self._file.discard()
        self._discard_tables()

    def _discard_tables(self) -> None:
        for table in self._tables.values():
            table.discard()

    def _info(self, run: RunDescription, levels: list[LevelInfo]) -> RunInfo:
        from tisim import __version__

        keys = self._spans.keys()
        info: RunInfo = {
            "format": FORMAT,
            "version": VERSION,
            "tisim": __version__,
            "title": run.title,
            "measured": run.is_measured,
            "ranks": run.ranks,
            "end": run.end,
            "hosts": [*run.hosts],
            "host_of": [*run.host_of],
            "states": list(STATES),
            "kinds": _core.kind_names(),
            "keys": [[key >> 8, key & 255] for key in keys],
            "spans": [
                {"begin": begin, "end": end, "states": states}
                for begin, end, states in self._spans.batches()
            ],
            "levels": levels,
            "records": {name: len(table) for name, table in self._records.items()},
            "trace": run.trace,
            "changes": dict(run.changes),
            "config": dict(run.config),
        }
        if run.lanes is not None:
            info["lanes"] = [*run.lanes]
        if run.findings:
            info["findings"] = [*run.findings]
        return info


class RunFileOutput(RunFileWriter):
    """The run file of a simulation."""

    def __init__(self, path: Path, run: Run) -> None:
        super().__init__(path, run.ranks + len(run.lanes))
        self._run = run
        run.wants_lanes |= bool(run.lanes)
        for sink in self.sinks:
            run.send_states_to(sink)
        self._xml: str | None = None
        self._has_begun = False

    def drain(self, last: bool) -> None:
        if not self._has_begun:
            # On the writing thread, concurrently with the simulation.
            self._xml = _xml_of(self._run.settings.platform)
            self._has_begun = True
        if last and self._run.lanes:
            assert self._run.streams is not None
            self.add("states", self._run.streams.states)
        super().drain(last)
        if last:
            self.finish(self._description())

    def _description(self) -> RunDescription:
        run = self._run
        used = list(dict.fromkeys(int(host) for host in run.hosts))
        place = {host: number for number, host in enumerate(used)}
        ranks = [*range(run.ranks), *(rank for rank, _ in run.lanes)]
        names = [*map(str, range(run.ranks)), *(f"{rank} {name}" for rank, name in run.lanes)]
        return RunDescription(
            title=run.title,
            ranks=len(ranks),
            end=run.end,
            hosts=[run.settings.host_name(host) for host in used],
            host_of=[place[int(run.hosts[rank])] for rank in ranks],
            lanes=names if run.lanes else None,
            trace=run.trace,
            changes=run.changes,
            config=run.settings.config.as_dict(),
            platform_xml=self._xml,
        )


def _xml_of(platform: Platform) -> str | None:
    """Return the platform as a file; None if the format cannot express it."""
    try:
        return platform.to_xml()
    except InputError:
        return None
