"""Writes run files: tables of records block by block, then their sums."""

from __future__ import annotations

import json
import mmap
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

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
    from io import BufferedReader

    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run import Run
    from tisim.analysis.timeline.run_file.schema import SpanInfo
    from tisim.config.platform_like import PlatformLike

_Result = TypeVar("_Result")


class Aside(Generic[_Result]):
    """Carries out a function on a thread of its own, at the latest until the context is left.

    The executors of the standard library take longer to load than the sums of a small run.

    Parameters
    ----------
    work
        The function.
    """

    def __init__(self, work: Callable[[], _Result]) -> None:
        self._work = work
        self._results: list[_Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tisim sums", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join()

    def result(self) -> _Result:
        """What the function returns; raises what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._error = error


# Sums of states at all resolutions. A level is a grid: lanes of as many ranks each, and the time in
# equal parts. Its cells hold for each state and kind of action the seconds, the longest state that
# touches the cell, and how many end in it. The finest level of each group size has one cell for at
# most `_STATES_OF_A_CELL` states, so that levels are small beside the records, and a window that is
# too narrow for them holds few records.
_STATES_OF_A_CELL = 32
# Lanes of a level hold this many times the ranks of those of the next finer one, and parts of the
# time of a level are this many times as long as those of the next finer one.
_RANKS_FACTOR = 4
_TIME_FACTOR = 2
# Levels of fewer lanes or parts are not needed: pictures are larger.
_FEWEST_LANES = 32
_FEWEST_PARTS = 256
_MOST_PARTS = 1 << 22
# Cells that are summed in memory at once (12 bytes each).
_CELLS_AT_ONCE = 4_000_000


def grids(ranks: int, states: int) -> list[list[LevelInfo]]:
    """The levels of a run, those of one group size together, the finest first."""
    found = []
    group = 1
    while True:
        lanes = -(-ranks // group)
        wanted = max(states // (_STATES_OF_A_CELL * lanes), 1)
        parts = min(1 << (wanted - 1).bit_length(), _MOST_PARTS)
        of_group: list[LevelInfo] = []
        while parts >= _FEWEST_PARTS:
            of_group.append({"group": group, "parts": parts, "batches": []})
            parts //= _TIME_FACTOR
        if of_group:
            found.append(of_group)
        if lanes < _FEWEST_LANES * _RANKS_FACTOR:
            return found
        group *= _RANKS_FACTOR


def write_levels(
    file: TableFile, spans: _core.SpanFile, states: mmap.mmap, ranks: int, end: float
) -> list[LevelInfo]:
    """Write the sums of the states of a run.

    Parameters
    ----------
    file
        What they are written to.
    spans
        The states by rank, complete.
    states
        The file that has them, in memory.
    ranks
        Number of ranks.
    end
        Seconds at which the run ends.

    Returns
    -------
    list
        The levels that were written.
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
            file.write(sums.take(last=False))
    file.write(sums.take(last=True))
    return [level for levels in groups for level in levels]


#: States of a batch at least.
BLOCK = 1 << 17
# States of a rank in a batch: few ranks of all the time are then in few pages of the file, as are
# all ranks of a short time. Batches of more states take too much memory while they are written.
_OF_A_RANK = 32
_MOST = 1 << 22


def span_file(ranks: int) -> _core.SpanFile:
    """What writes the states by rank of a run."""
    return _core.SpanFile(ranks, min(max(BLOCK, _OF_A_RANK * ranks), _MOST))


def span_batches(spans: _core.SpanFile) -> list[SpanInfo]:
    """What has been written."""
    return [
        {"begin": begin, "end": end, "states": states} for begin, end, states in spans.batches()
    ]


class TableFile:
    """A table that the core writes piece by piece, in a temporary file.

    Parameters
    ----------
    path
        Where the run file is going to be: the table is written beside it, under a hidden name.
    """

    def __init__(self, path: Path) -> None:
        self._file = OutputFile(path)

    def write(self, piece: bytes) -> None:
        """Append what the core has written."""
        if piece:
            self._file.write(piece)

    def reader(self) -> BufferedReader:
        """Open the table, which is complete."""
        return self._file.reader()

    @contextmanager
    def mapped(self) -> Iterator[mmap.mmap]:
        """The table, which is complete, in memory."""
        with (
            self.reader() as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield data

    def discard(self) -> None:
        """Remove it."""
        self._file.discard()


# The date of every member: the same run gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
# Of a member's header, before its name and the extra bytes: the fixed part, and the sizes of large
# members (APPNOTE 4.3.7, 4.5.3). The extra bytes have a number that no program gives a meaning.
_HEADER = 30 + 20
_EXTRA = b"\x15\x07\0\0"
_ALIGNED = 64
_COPIED_AT_ONCE = 1 << 20
_Table = _core.StateTable | _core.ActionTable | _core.MessageTable
_SPANS = "spans.arrow"
_LEVELS = "levels.arrow"


def _member_of(name: str) -> str:
    """The file of a table of records."""
    return f"{name}.parquet"


@dataclass(frozen=True)
class RunDescription:
    """What a run file says of its run as a whole; see `RunInfo`."""

    title: str
    ranks: int
    end: float
    hosts: Sequence[str]
    host_of: Sequence[int]
    trace: str | None
    config: Mapping[str, object] = field(default_factory=dict)
    is_measured: bool = False
    platform_xml: str | None = None


def _padding(at: int, name: str) -> bytes:
    """Extra bytes of a member's header, so that its content begins at a multiple of `_ALIGNED`.

    Columns of numbers can be read in place then.
    """
    rest = (at + _HEADER + len(name.encode()) + len(_EXTRA)) % _ALIGNED
    size = (_ALIGNED - rest) % _ALIGNED
    return _EXTRA[:2] + size.to_bytes(2, "little") + bytes(size)


def row_types() -> dict[str, np.dtype[np.void]]:
    """The type of the rows of each table of records."""
    types = {
        "states": _core.state_type(),
        "actions": _core.action_type(),
        "messages": _core.message_type(),
    }
    return {name: cast("np.dtype[np.void]", one) for name, one in types.items()}


class RunFileWriter:
    """Writes the records of a run in blocks, and their sums once all are there.

    The core makes the tables: Parquet's and Arrow's library takes longer to load than most of them.

    Parameters
    ----------
    path
        The file, which appears when it is committed.
    ranks
        Number of ranks.

    Attributes
    ----------
    listeners, sinks
        What takes the actions and messages, and the states, of a simulation; then `drain` is for
        what `add` does with rows.

    Raises
    ------
    InputError
        When a file cannot be made.
    """

    def __init__(self, path: Path, ranks: int) -> None:
        states, actions = _core.StateTable(ranks), _core.ActionTable(ranks)
        messages = _core.MessageTable(ranks)
        self._records: dict[str, _Table] = {
            "states": states,
            "actions": actions,
            "messages": messages,
        }
        self._spans = span_file(ranks)
        self.listeners: list[_core.Listener] = [actions, messages]
        self.sinks: list[_core.StateSink] = [states, self._spans]
        self._tables: dict[str, TableFile] = {}
        self._file = OutputFile(path)
        try:
            for member in (*map(_member_of, self._records), _SPANS, _LEVELS):
                self._tables[member] = TableFile(path)
        except BaseException:
            self.discard()
            raise

    def add(self, name: str, rows: bytes, *, last: bool) -> None:
        """Take rows of a table, of its type in `row_types`; `last`: there are no more."""
        table = self._records[name]
        table.add(rows)
        self._tables[_member_of(name)].write(table.take(last))
        if name == "states":
            self._spans.add(rows)
            self._tables[_SPANS].write(self._spans.take(last))

    def drain(self, last: bool) -> None:
        """Store what the tables have made; `last`: there are no more rows."""
        for name, table in self._records.items():
            self._tables[_member_of(name)].write(table.take(last))
        self._tables[_SPANS].write(self._spans.take(last))

    def finish(self, run: RunDescription) -> None:
        """Write the sums, and put the file together; all tables have had their last rows."""
        # Opened here: the states may have been stored, and removed, before the thread runs.
        with (
            self._tables[_SPANS].mapped() as states,
            Aside(lambda: self._write_levels(run, states)) as levels,
            self._file.writing(),
            zipfile.ZipFile(self._file.stream, "w", zipfile.ZIP_STORED) as archive,
        ):
            for name in self._tables:
                if name == _LEVELS:
                    info = self._info(run, levels.result())
                self._store(archive, name)
            archive.writestr(zipfile.ZipInfo(INFO, _DATE), json.dumps(info, indent=1))
            if run.platform_xml is not None:
                member = zipfile.ZipInfo(PLATFORM, _DATE)
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, run.platform_xml)
        self._file.complete()
        self._discard_tables()

    def _write_levels(self, run: RunDescription, states: mmap.mmap) -> list[LevelInfo]:
        return write_levels(self._tables[_LEVELS], self._spans, states, run.ranks, run.end)

    def _store(self, archive: zipfile.ZipFile, name: str) -> None:
        """Copy a table, which is complete, into the archive."""
        member = zipfile.ZipInfo(name, _DATE)
        member.extra = _padding(self._file.stream.tell(), name)
        with (
            self._tables[name].reader() as source,
            archive.open(member, "w", force_zip64=True) as target,
        ):
            part = memoryview(bytearray(_COPIED_AT_ONCE))
            while size := source.readinto(part):
                target.write(part[:size])
        # Large runs would need the room twice.
        self._tables[name].discard()

    def commit(self) -> None:
        """Let the file appear."""
        self._file.commit()
        self._discard_tables()

    def discard(self) -> None:
        """Remove everything."""
        self._file.discard()
        self._discard_tables()

    def _discard_tables(self) -> None:
        for table in self._tables.values():
            table.discard()

    def _info(self, run: RunDescription, levels: list[LevelInfo]) -> RunInfo:
        from tisim import __version__

        keys = self._spans.keys()
        return {
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
            "spans": span_batches(self._spans),
            "levels": levels,
            "records": {name: len(table) for name, table in self._records.items()},
            "trace": run.trace,
            "config": dict(run.config),
        }


class RunFileOutput:
    """Writes states, actions and messages in blocks, and their sums once the run is over.

    Parameters
    ----------
    path
        The file.
    run
        What is simulated.

    Raises
    ------
    InputError
        When a file cannot be made.
    """

    def __init__(self, path: Path, run: Run) -> None:
        self._run = run
        self._writer = RunFileWriter(path, run.ranks)
        for sink in self._writer.sinks:
            run.send_states_to(sink)
        self._xml: str | None = None
        self._has_begun = False

    def listeners(self) -> list[_core.Listener]:
        return self._writer.listeners

    def drain(self, last: bool) -> None:
        if not self._has_begun:
            # By the thread that writes, while the simulation goes on.
            self._xml = _xml_of(self._run.settings.platform)
            self._has_begun = True
        self._writer.drain(last)
        if last:
            self._writer.finish(self._description())

    def commit(self) -> None:
        self._writer.commit()

    def discard(self) -> None:
        self._writer.discard()

    def _description(self) -> RunDescription:
        run = self._run
        used = list(dict.fromkeys(int(host) for host in run.hosts))
        place = {host: number for number, host in enumerate(used)}
        return RunDescription(
            title=run.title,
            ranks=run.ranks,
            end=run.end,
            hosts=[run.settings.host_name(host) for host in used],
            host_of=[place[int(host)] for host in run.hosts],
            trace=run.trace,
            config=run.settings.config.as_dict(),
            platform_xml=self._xml,
        )


def _xml_of(platform: PlatformLike) -> str | None:
    """The platform as a file; None where the format cannot say it, or nothing describes it."""
    if not isinstance(platform, Platform):
        return None
    try:
        return platform.to_xml()
    except InputError:
        return None
