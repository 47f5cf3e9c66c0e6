"""Reads run files: tables of records by blocks, and lists by rank or lane."""

from __future__ import annotations

import json
import math
import mmap
import os
import threading
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from tisim.analysis.timeline.columns import field_of
from tisim.analysis.timeline.run_file.schema import (
    COLUMNS,
    FORMAT,
    INFO,
    PATH_COLUMNS,
    PLATFORM,
    VERSION,
    RunInfo,
)
from tisim.analysis.timeline.run_file.writer import row_types
from tisim.errors import InputError
from tisim.support.json_types import type_mismatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    #: Starts and offsets by rank, ends and keys of the states.
    StateColumns = tuple[
        NDArray[np.float64], NDArray[np.int32], NDArray[np.float64], NDArray[np.uint16]
    ]
    #: Offsets by lane; part, key, seconds, longest and count of the cells.
    CellColumns = tuple[
        NDArray[np.int32],
        NDArray[np.uint32],
        NDArray[np.uint16],
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.uint32],
    ]


class BatchTable:
    """Record batches of a memory-mapped file, whose columns are read in place."""

    def __init__(self, source: pa.NativeFile) -> None:
        import pyarrow as pa

        self._file = pa.ipc.open_file(source)
        self._known: dict[int, tuple[NDArray[np.generic], ...]] = {}
        # A viewer answers on several threads.
        self._lock = threading.Lock()

    def states(self, number: int) -> StateColumns:
        """Return a batch of states by rank."""
        return cast("StateColumns", self._columns(number))

    def cells(self, number: int) -> CellColumns:
        """Return a batch of cells by lane."""
        return cast("CellColumns", self._columns(number))

    def _columns(self, number: int) -> tuple[NDArray[np.generic], ...]:
        """Return the columns of a batch in order; for lists the offsets, then the fields."""
        with self._lock:
            if number not in self._known:
                batch = self._file.get_batch(number)
                self._known[number] = tuple(
                    column for field in batch.columns for column in _arrays(field)
                )
            return self._known[number]


def _arrays(column: pa.Array) -> Iterator[NDArray[np.generic]]:
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        yield _in_place(column.buffers()[1], column.type, len(column))
        return
    yield _in_place(column.buffers()[1], pa.int32(), len(column) + 1)
    elements = column.values
    for place in range(elements.type.num_fields):
        field = elements.field(place)
        yield _in_place(field.buffers()[1], field.type, len(field))


def _in_place(data: pa.Buffer, kind: pa.DataType, count: int) -> NDArray[np.generic]:
    import numpy as np

    values: NDArray[np.generic] = np.frombuffer(data, np.dtype(kind.to_pandas_dtype()), count)
    return np.require(values, requirements="A")


# Maximum bytes of blocks cached per table, most recently used first.
_KEPT = 96 << 20
# Columns needed to find the states of a window: they are read together, and so are the others
# when one of them is requested.
_OFTEN = frozenset({"rank", "start", "end", "state", "kind"})


class Block:
    """Rows of a table by column, with columns loaded on demand.

    `load` returns the column of a name, and possibly further columns.
    """

    def __init__(
        self, names: Iterable[str], load: Callable[[str], Mapping[str, NDArray[np.generic]]]
    ) -> None:
        #: Names of the columns.
        self.names = tuple(names)
        self._load = load
        self._known: dict[str, NDArray[np.generic]] = {}

    def __len__(self) -> int:
        return len(self._column(self.names[0]))

    def _column(self, name: str) -> NDArray[np.generic]:
        if name not in self._known:
            self._known.update(self._load(name))
        return self._known[name]

    def numbers(self, name: str) -> NDArray[np.int64]:
        """Return a column of integers."""
        import numpy as np

        return self._column(name).astype(np.int64, copy=False)

    def reals(self, name: str) -> NDArray[np.float64]:
        """Return a column of times, volumes or sums; NaN for missing values."""
        import numpy as np

        return self._column(name).astype(np.float64, copy=False)

    def rows(self, chosen: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Block:
        """Return a selection of the rows."""
        return Block(self.names, lambda name: {name: self._column(name)[chosen]})

    def of_rank(self, rank: int) -> Block:
        """Return the rows of a rank; the rows must be sorted by rank."""
        import numpy as np

        low, high = np.searchsorted(self.numbers("rank"), [rank, rank + 1])
        return self.rows(slice(int(low), int(high)))

    def seconds(self, begin: float, end: float) -> NDArray[np.float64]:
        """Return the seconds of each row between two times; negative outside."""
        import numpy as np

        return np.minimum(self.reals("end"), end) - np.maximum(self.reals("start"), begin)

    @staticmethod
    def joined(blocks: Iterable[Block]) -> Block:
        """Concatenate the rows of several blocks; at least one is required."""
        import numpy as np

        every = [*blocks]
        columns = {
            name: np.concatenate([block._column(name) for block in every])
            for name in every[0].names
        }
        return Block(columns, lambda name: columns)


class BlockTable:
    """A Parquet table whose row groups are its blocks.

    `columns` are the columns to read, by default all of them.
    """

    def __init__(self, source: IO[bytes] | pa.NativeFile, columns: Iterable[str] = ()) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(source)
        names = self._file.schema_arrow.names
        self.columns: tuple[str, ...] = tuple(columns) or tuple(names)
        self._place = {name: names.index(name) for name in names}
        self.blocks: int = self._file.metadata.num_row_groups
        self.rows: int = self._file.metadata.num_rows
        self._ranges: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._kept: OrderedDict[int, Block] = OrderedDict()
        self._size = 0
        # A viewer answers on several threads.
        self._lock = threading.Lock()
        # Columns are loaded on demand, possibly by several threads of a viewer.
        self._loading = threading.Lock()

    def range_of(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the minimum and maximum of a column in each block."""
        if column not in self._ranges:
            import numpy as np

            metadata, place = self._file.metadata, self._place[column]
            pairs = []
            for block in range(self.blocks):
                statistics = metadata.row_group(block).column(place).statistics
                known = statistics is not None and statistics.has_min_max
                pairs.append((statistics.min, statistics.max) if known else (-np.inf, np.inf))
            self._ranges[column] = (
                np.array([least for least, _ in pairs], np.float64),
                np.array([most for _, most in pairs], np.float64),
            )
        return self._ranges[column]

    def overlapping(
        self, begin: float, end: float, start: str = "start", stop: str = "end"
    ) -> list[int]:
        """Return the blocks with records that may overlap an interval, in seconds.

        `start` and `stop` are the columns with the start and end of a record.
        """
        import numpy as np

        overlaps = (self.range_of(stop)[1] >= begin) & (self.range_of(start)[0] <= end)
        blocks: list[int] = np.flatnonzero(overlaps).tolist()
        return blocks

    def read(self, block: int) -> Block:
        """Return the rows of a block."""
        with self._lock:
            return self._read(block)

    def _read(self, block: int) -> Block:
        if block in self._kept:
            self._kept.move_to_end(block)
            return self._kept[block]
        rows = Block(self.columns, lambda name: self._load(block, name))
        self._kept[block] = rows
        self._size += self._room(block)
        while self._size > _KEPT and len(self._kept) > 1:
            oldest, _ = self._kept.popitem(last=False)
            self._size -= self._room(oldest)
        return rows

    def rows_of(self, block: int) -> int:
        """Return the number of rows of a block."""
        return int(self._file.metadata.row_group(block).num_rows)

    def _room(self, block: int) -> int:
        """Return an upper bound on a block's bytes in memory."""
        return self.rows_of(block) * 8 * len(self.columns)

    def _load(self, block: int, name: str) -> dict[str, NDArray[np.generic]]:
        """Read a column of a block, together with those of its group."""
        often = name in _OFTEN
        names = [name for name in self.columns if (name in _OFTEN) == often]
        with self._loading:
            table = self._file.read_row_group(block, columns=names, use_threads=False)
        arrays = {name: numpy_array(table.column(name)) for name in names}
        if {"rank", "start", "end"} <= arrays.keys():
            arrays["start"] = _complete(arrays["start"], arrays["end"])
        return arrays

    def empty(self) -> Block:
        """Return an empty block with the columns of the table."""
        import numpy as np

        return Block(self.columns, lambda name: {name: np.zeros(0)})


def numpy_array(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """Return a column of numbers or booleans, shape (rows,); NaN for missing values.

    This does not import pandas, unlike Arrow's own function.
    """
    import numpy as np

    parts = [_numpy_part(chunk) for chunk in column.chunks]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, column.type.to_pandas_dtype())


def _numpy_part(chunk: pa.Array) -> NDArray[np.generic]:
    import numpy as np
    import pyarrow as pa

    known, data = chunk.buffers()
    start, count = chunk.offset, len(chunk)
    if pa.types.is_boolean(chunk.type):
        values: NDArray[np.generic] = _truths(data, start, count)
    else:
        kind = np.dtype(chunk.type.to_pandas_dtype())
        values = np.frombuffer(data, kind, count, start * kind.itemsize)
    if chunk.null_count == 0 or known is None:
        return values
    return np.where(_truths(known, start, count), values.astype(np.float64), np.nan)


def _truths(bits: pa.Buffer, start: int, count: int) -> NDArray[np.bool_]:
    import numpy as np

    every = np.unpackbits(np.frombuffer(bits, np.uint8), count=start + count, bitorder="little")
    return every[start:].astype(np.bool_)


def _complete(start: NDArray[np.generic], end: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the starts of rows; missing ones are the previous row's end, shape (rows,)."""
    import numpy as np

    missing = np.isnan(start.astype(np.float64, copy=False))
    return np.where(missing, np.append(np.nan, end[:-1])[: len(end)], start)


# Size of an archive member's fixed header, before its name (APPNOTE 4.3.7).
_LOCAL_HEADER = 30
# Columns of states that are shown unchanged.
_WHOLE = ("rank", "line", "cause", "peer", "bytes")


class RunFile:
    """All events of a run, read from its file on demand.

    `info`: the contents of ``run.json``. `states`, `actions`, `messages`: the tables of records.
    `spans`, `levels`: the states by rank and their sums. `platform_xml`: the text of a platform
    file, or None. Raises an `InputError` if the file is not a run file, or pyarrow is missing.
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
            if isinstance(error, pa.ArrowException) or error.errno is None:  # raised by Arrow
                raise _damaged(self.path, error) from None
            raise InputError(f"cannot be read: {error.strerror or error}", file=self.path) from None
        except (
            zipfile.BadZipFile,
            KeyError,
            ValueError,
            NotImplementedError,
            RecursionError,
            zlib.error,
            EOFError,
            pa.ArrowException,
        ) as error:
            raise _damaged(self.path, error) from None
        self.states, self.actions, self.messages = tables

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise an `InputError` if lists exceed their table, or blocks cannot be decoded.

        The contents of tables are validated only when they are read.
        """
        import pyarrow as pa

        try:
            yield
        except (LookupError, ValueError, ArithmeticError, pa.ArrowException, OSError) as error:
            raise _damaged(self.path, error) from None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.info["ranks"]

    @property
    def end(self) -> float:
        """Simulated seconds at the end of the run."""
        return self.info["end"]

    @cached_property
    def path_states(self) -> BlockTable | None:
        """The states with the columns for paths and causes; None if the file lacks these."""
        whole = BlockTable(self._member(self._states_member))
        return whole if {*PATH_COLUMNS} <= {*whole.columns} else None

    def states_of(self, rows: Block) -> list[dict[str, object]]:
        """Return states with names: a dict for each row of the table of states."""
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
        """Return an uncompressed member as a slice of the memory-mapped file."""
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
        raise ValueError(f"{INFO} does not contain {FORMAT!r}")
    if info.get("version") != VERSION:
        raise InputError(
            f"is a run file of version {info.get('version')}, this tisim reads version {VERSION}; "
            "write it again, or use the tisim that wrote it",
            file=path,
        )
    why = type_mismatch(info, RunInfo) or _impossible(cast(RunInfo, info))
    if why is not None:
        raise ValueError(f"{INFO}: {why}")
    return cast(RunInfo, info)


def _impossible(info: RunInfo) -> str | None:
    """Return an error if numbers of a run file are inconsistent; else None."""
    states, kinds = len(info["states"]), len(info["kinds"])
    if info["ranks"] < 1 or len(info["host_of"]) != info["ranks"]:
        return "it lacks a host for each rank"
    if not all(0 <= host < len(info["hosts"]) for host in info["host_of"]):
        return "a rank is on no host"
    if any(len(key) != 2 or min(key) < 0 for key in info["keys"]):
        return "a key is not a pair of a state and a kind"
    if any(state >= states or kind >= kinds for state, kind in info["keys"]):
        return "a key is of no state or kind"
    return None if 0 <= info["end"] < math.inf else "it has no end time"


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"is not a run file, or damaged ({error}); "
        "write one with 'tisim replay --timeline run.tir'",
        file=path,
    )


def rows_in_order(
    table: BlockTable, name: str, blocks: Sequence[int] | None = None
) -> NDArray[np.void]:
    """Return rows of `states` or `actions` in the core's format, ordered by end time.

    All of them, or those of some blocks. Blocks are consecutive in that order, but sorted by rank
    inside.
    """
    import numpy as np

    chosen = range(table.blocks) if blocks is None else blocks
    every, first = np.zeros(sum(map(table.rows_of, chosen)), row_types()[name]), 0
    for block in chosen:
        columns = table.read(block)
        end = columns.reals("end")
        order = np.argsort(end, kind="stable")
        rows = every[first : first + len(end)]
        first += len(end)
        for column in columns.names:
            real = column in ("start", "end", "started", "volume")
            values = columns.reals(column) if real else columns.numbers(column)
            rows[field_of(column)] = np.nan_to_num(values[order], nan=-1.0)
    return every
