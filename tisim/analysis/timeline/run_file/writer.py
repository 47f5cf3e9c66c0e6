"""Writes run files: tables of records block by block, then their sums."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.analysis.timeline.names import STATES
from tisim.analysis.timeline.run_file.aside import Aside
from tisim.analysis.timeline.run_file.levels import write_levels
from tisim.analysis.timeline.run_file.schema import (
    FORMAT,
    INFO,
    PLATFORM,
    VERSION,
    LevelInfo,
    RunInfo,
)
from tisim.analysis.timeline.run_file.spans import span_batches, span_file
from tisim.analysis.timeline.run_file.tables import TableFile
from tisim.support.files import OutputFile

if TYPE_CHECKING:
    import mmap

    import numpy as np

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
