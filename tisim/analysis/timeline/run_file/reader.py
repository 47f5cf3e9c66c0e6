"""Reads run files."""

from __future__ import annotations

import json
import mmap
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim.analysis.timeline.run_file.batches import BatchTable
from tisim.analysis.timeline.run_file.blocks import Block, BlockTable
from tisim.analysis.timeline.run_file.schema import (
    COLUMNS,
    FORMAT,
    INFO,
    PATH_COLUMNS,
    PLATFORM,
    VERSION,
    RunInfo,
)
from tisim.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

# The first bytes of a member of an archive, before its name (APPNOTE 4.3.7).
_LOCAL_HEADER = 30
# Columns of states that are shown as they are.
_WHOLE = ("rank", "line", "cause", "peer", "bytes")


class RunFile:
    """Everything that happened in a run, read from its file as far as it is needed.

    Parameters
    ----------
    path
        The file that ``tisim replay --timeline run.tir`` wrote.

    Attributes
    ----------
    info
        What ``run.json`` says.
    states, actions, messages
        The tables of records.
    spans, levels
        The states by rank, and their sums.
    platform_xml
        The platform, as the text of a platform file; None where it is not known.

    Raises
    ------
    InputError
        When it is no run file, or pyarrow is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            import pyarrow as pa
        except ImportError:
            raise InputError(
                "a run file needs pyarrow: pip install 'tisim[view]'", file=path
            ) from None
        self.path = Path(path)
        try:
            with self.path.open("rb") as file, zipfile.ZipFile(file) as archive:
                self.info = _info(archive, self.path)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                tables = [
                    BlockTable(self._member(archive.getinfo(f"{name}.parquet")), columns)
                    for name, columns in COLUMNS.items()
                ]
                self.spans, self.levels = (
                    BatchTable(self._member(archive.getinfo(f"{name}.arrow")))
                    for name in ("spans", "levels")
                )
                self._states_member = archive.getinfo("states.parquet")
                names = archive.namelist()
                xml = archive.read(PLATFORM).decode() if PLATFORM in names else None
                self.platform_xml: str | None = xml
        except OSError as error:
            if isinstance(error, pa.ArrowException) or error.errno is None:  # of Arrow
                raise _damaged(self.path, error) from None
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.path) from None
        except (zipfile.BadZipFile, KeyError, ValueError, pa.ArrowException) as error:
            raise _damaged(self.path, error) from None
        self.states, self.actions, self.messages = tables

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Tables are read meanwhile, whose contents are only now seen to be damaged.

        Raises
        ------
        InputError
            When lists reach out of their table, or blocks cannot be decoded.
        """
        import pyarrow as pa

        try:
            yield
        except (IndexError, ValueError, pa.ArrowException, OSError) as error:
            raise _damaged(self.path, error) from None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.info["ranks"]

    @property
    def end(self) -> float:
        """Simulated seconds."""
        return self.info["end"]

    @cached_property
    def path_states(self) -> BlockTable | None:
        """The states with what the critical path needs; None where the file lacks that."""
        whole = BlockTable(self._member(self._states_member))
        return whole if {*PATH_COLUMNS} <= {*whole.columns} else None

    def states_of(self, rows: Block) -> list[dict[str, object]]:
        """States in words: a dict for each row of the table of states."""
        columns = {name: rows.numbers(name).tolist() for name in _WHOLE}
        columns |= {name: rows.reals(name).tolist() for name in ("start", "end")}
        states, kinds = rows.numbers("state").tolist(), rows.numbers("kind").tolist()
        return [
            {
                "state": self.info["states"][states[i]],
                "kind": self.info["kinds"][kinds[i]],
                **{name: column[i] for name, column in columns.items()},
            }
            for i in range(len(rows))
        ]

    def _member(self, member: zipfile.ZipInfo) -> pa.NativeFile:
        """A member, which is stored as it is: a part of the file in memory."""
        import pyarrow as pa

        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member.filename} is compressed")
        at = member.header_offset
        header = self._map[at : at + _LOCAL_HEADER]
        at += _LOCAL_HEADER + int.from_bytes(header[26:28], "little")
        at += int.from_bytes(header[28:30], "little")
        if at + member.file_size > len(self._map):
            raise ValueError(f"{member.filename} is not complete")
        return pa.BufferReader(pa.py_buffer(memoryview(self._map)[at : at + member.file_size]))


def _info(archive: zipfile.ZipFile, path: Path) -> RunInfo:
    info = json.loads(archive.read(INFO))
    if not isinstance(info, dict) or info.get("format") != FORMAT:
        raise ValueError(f"{INFO} does not say {FORMAT!r}")
    if info.get("version") != VERSION:
        raise InputError(
            f"is a run file of version {info.get('version')}, this tisim reads version {VERSION}; "
            "write it again, or use the tisim that wrote it",
            file=path,
        )
    return cast(RunInfo, info)


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"is no run file, or damaged ({error}); write one with 'tisim replay --timeline run.tir'",
        file=path,
    )
