"""Writes run files: tables of records block by block, then their sums."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.errors import InputError
from tisim.files import OutputFile
from tisim.timeline.names import STATES
from tisim.timeline.run_file.batches import BatchFile
from tisim.timeline.run_file.levels import write_levels
from tisim.timeline.run_file.schema import FORMAT, INFO, PLATFORM, VERSION, LevelInfo, RunInfo
from tisim.timeline.run_file.spans import SpanWriter
from tisim.timeline.run_file.tables import RecordTable, TableFile

if TYPE_CHECKING:
    import numpy as np

# The date of every member: the same run gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
# Of a member's header, before its name and the extra bytes: the fixed part, and the sizes of large
# members (APPNOTE 4.3.7, 4.5.3). The extra bytes have a number that no program gives a meaning.
_HEADER = 30 + 20
_EXTRA = b"\x15\x07\0\0"
_ALIGNED = 64


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

    Parameters
    ----------
    path
        The file, which appears when it is committed.
    ranks
        Number of ranks.

    Raises
    ------
    InputError
        When pyarrow is not installed, or a file cannot be made.
    """

    def __init__(self, path: Path, ranks: int) -> None:
        # It is imported by the thread that writes: that takes as long as a small simulation.
        if importlib.util.find_spec("pyarrow") is None:
            raise InputError("a run file needs pyarrow: pip install 'tisim[view]'", file=path)
        self._path = path
        self._tables: dict[str, RecordTable] = {}
        self._spans: SpanWriter | None = None
        self._levels: BatchFile | None = None
        self._file = OutputFile(path)
        try:
            for name, row_type in row_types().items():
                self._tables[name] = RecordTable(name, path, row_type, ranks)
            self._spans = SpanWriter(path, ranks)
        except BaseException:
            self.discard()
            raise

    def add(self, name: str, rows: bytes, *, last: bool) -> None:
        """Take rows of a table, of its type in `row_types`; `last`: there are no more."""
        self._tables[name].add(rows, last)
        if name == "states":
            assert self._spans is not None
            self._spans.add(rows, last=last)

    def finish(self, run: RunDescription) -> None:
        """Write the sums, and put the file together; all tables have had their last rows."""
        assert self._spans is not None
        keys, batches = self._spans.keys, self._spans.batches
        self._levels = BatchFile(self._path)
        with self._spans.file.mapped() as states:
            levels = write_levels(self._levels, states, batches, keys, run.ranks, run.end)
        members: dict[str, TableFile | BatchFile] = {
            f"{name}.parquet": table.file for name, table in self._tables.items()
        }
        members |= {"spans.arrow": self._spans.file, "levels.arrow": self._levels}
        info = self._info(run, keys, levels)
        with (
            self._file.writing(),
            zipfile.ZipFile(self._file.stream, "w", zipfile.ZIP_STORED) as archive,
        ):
            archive.writestr(zipfile.ZipInfo(INFO, _DATE), json.dumps(info, indent=1))
            if run.platform_xml is not None:
                member = zipfile.ZipInfo(PLATFORM, _DATE)
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, run.platform_xml)
            for name, table in members.items():
                member = zipfile.ZipInfo(name, _DATE)
                member.extra = _padding(self._file.stream.tell(), name)
                with (
                    table.reader() as source,
                    archive.open(member, "w", force_zip64=True) as target,
                ):
                    shutil.copyfileobj(source, target, 1 << 20)
                # Large runs would need the room twice.
                table.discard()
        self._file.complete()
        self._discard_tables()

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
            table.file.discard()
        for file in (self._spans.file if self._spans else None, self._levels):
            if file is not None:
                file.discard()

    def _info(self, run: RunDescription, keys: list[int], levels: list[LevelInfo]) -> RunInfo:
        from tisim import __version__

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
            "spans": [] if self._spans is None else self._spans.batches,
            "levels": levels,
            "records": {name: table.file.rows for name, table in self._tables.items()},
            "trace": run.trace,
            "config": dict(run.config),
        }
