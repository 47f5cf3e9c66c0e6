"""Reads DUMPI's binary files, one for each rank."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tisim.errors import InputError
from tisim.traces.importers.calls.call import Call
from tisim.traces.importers.dumpi.layouts import END_OF_STREAM, Layout, layouts

#: The first bytes of a file, and of its last record.
MAGIC = b"\xff\xaa\xddDUMPI"
_INDEX_SIZE = 64
# What a call's mask says of its record.
_STATUS, _CPU_TIME, _WALL_TIME, _THREAD, _COUNTERS = 0x03, 0x04, 0x08, 0x40, 0x80
# Longer arrays and texts than this are not believed.
_MOST = 1 << 24
_OLDEST = (0, 6, 9)
_NANOSECONDS = 1_000_000_000
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}


class BinaryFile:
    """The trace of one rank.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If it is no DUMPI file, is cut, or of a version that wrote other records.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _Bytes(path)
        try:
            self._read_index()
        except BaseException:
            self.close()
            raise

    def _read_index(self) -> None:
        path = self.path
        index = self._file.tail(_INDEX_SIZE)
        if index[:8] != MAGIC:
            raise InputError(
                "does not end with the index of a DUMPI file: it is cut, or older than version "
                f"{'.'.join(map(str, _OLDEST))}",
                file=path,
            )
        sizes, _, labels, header, self._body, *_ = struct.unpack(">7Q", index[8:])
        self._file.seek(header)
        self.version = tuple(self._file.number(1) for _ in range(3))
        if self.version < _OLDEST:
            raise InputError(
                f"is of DUMPI version {'.'.join(map(str, self.version))}, whose records differ; "
                f"the oldest that can be read is {'.'.join(map(str, _OLDEST))}",
                file=path,
            )
        self.type_sizes = self._listed(sizes)
        self.counters = self._labels(labels)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def calls(self) -> Iterator[Call]:
        """Yield the calls in their order."""
        file = self._file
        file.seek(self._body)
        cpu_base, wall_base = file.number(4), file.number(4)
        known = layouts()
        while True:
            place = f"byte {file.position}"
            number = file.number(2)
            if number == END_OF_STREAM:
                return
            layout = known.get(number)
            if layout is None:
                raise InputError(
                    f"{place}: a call of the unknown function {number}; the file is damaged, or "
                    "newer than what can be read",
                    file=self.path,
                )
            yield self._call(layout, place, cpu_base, wall_base)

    def _call(self, layout: Layout, place: str, cpu_base: int, wall_base: int) -> Call:
        file = self._file
        mask = file.number(1)
        if mask & _THREAD:
            file.number(2)
        call = Call(layout.function, place, 0, 0)
        if mask & _CPU_TIME:
            call.start, call.end = self._times(cpu_base)
        if mask & _WALL_TIME:
            call.start, call.end = self._times(wall_base)
        if mask & _COUNTERS:
            call.counters = tuple((file.number(8), file.number(8)) for _ in range(file.number(1)))
        for field in layout.fields:
            numbers = call.numbers
            rank = numbers.get("commrank", numbers.get("oldcommrank"))
            if field.at_root_only and rank != numbers.get("root"):
                continue
            self._field(call, field.name, field.kind, mask)
        return call

    def _times(self, base: int) -> tuple[int, int]:
        start = (base + self._file.number(2)) * _NANOSECONDS + self._file.number(4)
        return start, (base + self._file.number(2)) * _NANOSECONDS + self._file.number(4)

    def _field(self, call: Call, name: str, kind: str, mask: int) -> None:
        file = self._file
        if kind in _SIZES:
            call.numbers[name] = file.signed(_SIZES[kind])
        elif kind == "status":
            if mask & _STATUS:
                for _ in range(file.count()):
                    file.number(4)  # bytes, which MPI_Wait of a send leaves undefined
                    call.sources.append(file.signed(4))
                    file.skip(2 + 4)
        elif kind == "text":
            file.skip(file.count())
        elif kind == "text[]":
            for _ in range(file.count()):
                file.skip(file.count())
        elif kind in ("text[][]", "i32[][]"):
            size = 1 if kind.startswith("text") else 4
            for _ in range(file.count()):
                inner = file.count()
                if kind.startswith("text"):
                    for _ in range(inner):
                        file.skip(file.count())
                else:
                    file.skip(inner * size)
        else:
            size = _SIZES[kind.removesuffix("[]")]
            call.lists[name] = [file.signed(size) for _ in range(file.count())]

    def _listed(self, offset: int) -> list[int]:
        if not offset:
            return []
        self._file.seek(offset)
        return [self._file.signed(4) for _ in range(self._file.count())]

    def _labels(self, offset: int) -> list[str]:
        if not offset:
            return []
        self._file.seek(offset)
        return [self._file.text() for _ in range(self._file.count())]


class _Bytes:
    """Numbers of a file, most significant byte first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None

    def close(self) -> None:
        self._file.close()

    @property
    def position(self) -> int:
        return self._file.tell()

    def seek(self, offset: int) -> None:
        try:
            self._file.seek(offset)
        except (OSError, ValueError, OverflowError):
            raise self._damaged() from None

    def tail(self, size: int) -> bytes:
        try:
            self._file.seek(-size, 2)
        except OSError:
            raise self._damaged() from None
        return self._file.read(size)

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def signed(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def count(self) -> int:
        count = self.signed(4)
        if not 0 <= count <= _MOST:
            raise self._damaged()
        return count

    def text(self) -> str:
        return self._take(self.number(2)).decode(errors="replace")

    def skip(self, size: int) -> None:
        self._take(size)

    def _take(self, size: int) -> bytes:
        taken = self._file.read(size)
        if len(taken) < size:
            raise self._damaged()
        return taken

    def _damaged(self) -> InputError:
        return InputError(f"is cut or damaged near byte {self._file.tell()}", file=self._path)
