"""DUMPI traces, which SST, CODES and TraceR replay."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from tisim.errors import InputError
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.importers.mpi_calls import CallReader, CallTrace, Datatypes, MpiCall

# From MPI_CHAR on, in DUMPI's order, on 64-bit machines: used if a file lists no sizes.
_FIRST = 2
_TYPE_SIZES = (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)


def datatypes_of(listed: list[int]) -> Datatypes:
    """Return the datatypes of a rank."""
    return Datatypes(dict(enumerate(listed)) or dict(enumerate(_TYPE_SIZES, _FIRST)))


# MPI_Send entering at walltime 1.5, cputime 0.5 seconds in thread 0.
_ENTERING = re.compile(r"MPI_(\w+) entering at walltime (\d+(?:\.\d*)?), cputime [0-9.]+ seconds")
_RETURNING = re.compile(r"MPI_(\w+) returning at walltime (\d+(?:\.\d*)?)")
# int count=1, MPI_Comm comm=2 (MPI_COMM_WORLD), MPI_Request request=[2], int dims[2]=[2, 2]
_FIELD = re.compile(r"\w+ (\w+)(?:\[\d*\])?=(.*)")
_NUMBER = re.compile(r"-?\d+")
_SOURCE = re.compile(r"source=(-?\d+)")


class TextFile:
    """The printed trace of one rank."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.type_sizes: list[int] = []
        self.counters: list[str] = []

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def calls(self) -> Iterator[MpiCall]:
        """Yield the calls in order. Raises InputError if the text is not a trace, or ends within a
        call.
        """
        call: MpiCall | None = None
        number, calls = 0, 0
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if (entering := _ENTERING.match(line)) is not None:
                    if call is not None:
                        raise self._error(f"MPI_{call.function} does not return", number)
                    call = MpiCall(entering[1], f"line {number}", _nanoseconds(entering[2]), 0)
                elif (returning := _RETURNING.match(line)) is not None:
                    if call is None or returning[1] != call.function:
                        raise self._error(f"MPI_{returning[1]} returns without entering", number)
                    call.end = _nanoseconds(returning[2])
                    calls += 1
                    yield call
                    call = None
                elif call is not None and (found := _FIELD.match(line)) is not None:
                    _set(call, found[1], found[2])
        if call is not None:
            raise self._error(f"ends within MPI_{call.function}", number)
        if not calls:
            raise InputError("contains no MPI calls in the format of dumpi2ascii", file=self.path)

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, file=self.path, line=line)


def _nanoseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole or 0) * 1_000_000_000 + int(f"{part:0<9}"[:9])


def _set(call: MpiCall, name: str, text: str) -> None:
    if name.startswith("status"):
        call.sources += map(int, _SOURCE.findall(text))
    elif text.startswith("[") and name != "request":
        call.lists[name] = [int(value) for value in _NUMBER.findall(text.partition("(")[0])]
    elif (found := _NUMBER.search(text)) is not None:
        call.numbers[name] = int(found[0])


#: The function number that ends the stream of calls.
END_OF_STREAM = 293


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a call."""

    #: As in MPI; empty if unused.
    name: str
    #: ``i32``, ``i16[]``, ``text``, ``status`` and so on.
    kind: str
    #: True if only the root's record contains it.
    at_root_only: bool


#: The name of a function and the fields of its calls.
Layout = tuple[str, tuple[Field, ...]]


@cache
def layouts() -> dict[int, Layout]:
    """Return the layout of each function, by number."""
    text = resources.files(__package__).joinpath("dumpi_layouts.txt").read_text()
    found: dict[int, Layout] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            number, function, *fields = line.split()
            found[int(number)] = function, tuple(map(_field, fields))
    return found


def _field(text: str) -> Field:
    name, _, kind = text.rpartition(":")
    return Field(name, kind.removesuffix("?"), kind.endswith("?"))


#: The first bytes of a file, and of its last record.
MAGIC = b"\xff\xaa\xddDUMPI"
_INDEX_SIZE = 64
# Bits of a call's mask that select parts of its record.
_STATUS, _CPU_TIME, _WALL_TIME, _THREAD, _COUNTERS = 0x03, 0x04, 0x08, 0x40, 0x80
# Maximum plausible length of arrays and texts.
_MOST = 1 << 24
_OLDEST = (0, 6, 9)
_NANOSECONDS = 1_000_000_000
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}


class BinaryFile:
    """The trace of one rank. Raises InputError if it is not a DUMPI file, is truncated, or of a
    version with a different record format.
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
                "does not end with the index of a DUMPI file: it is truncated, or older than "
                f"version {'.'.join(map(str, _OLDEST))}",
                file=path,
            )
        sizes, _, labels, header, self._body, *_ = struct.unpack(">7Q", index[8:])
        self._file.seek(header)
        self.version = tuple(self._file.number(1) for _ in range(3))
        if self.version < _OLDEST:
            raise InputError(
                f"has DUMPI version {'.'.join(map(str, self.version))}, whose records differ; the "
                f"oldest supported version is {'.'.join(map(str, _OLDEST))}",
                file=path,
            )
        self.type_sizes = self._listed(sizes)
        self.counters = self._labels(labels)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def calls(self) -> Iterator[MpiCall]:
        """Yield the calls in order."""
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
                    "too new",
                    file=self.path,
                )
            yield self._call(layout, place, cpu_base, wall_base)

    def _call(self, layout: Layout, place: str, cpu_base: int, wall_base: int) -> MpiCall:
        file = self._file
        mask = file.number(1)
        if mask & _THREAD:
            file.number(2)
        function, fields = layout
        call = MpiCall(function, place, 0, 0)
        if mask & _CPU_TIME:
            call.start, call.end = self._times(cpu_base)
        if mask & _WALL_TIME:
            call.start, call.end = self._times(wall_base)
        if mask & _COUNTERS:
            call.counters = tuple((file.number(8), file.number(8)) for _ in range(file.number(1)))
        for field in fields:
            numbers = call.numbers
            rank = numbers.get("commrank", numbers.get("oldcommrank"))
            if field.at_root_only and rank != numbers.get("root"):
                continue
            self._field(call, field.name, field.kind, mask)
        return call

    def _times(self, base: int) -> tuple[int, int]:
        start = (base + self._file.number(2)) * _NANOSECONDS + self._file.number(4)
        return start, (base + self._file.number(2)) * _NANOSECONDS + self._file.number(4)

    def _field(self, call: MpiCall, name: str, kind: str, mask: int) -> None:
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
    """Big-endian numbers of a file."""

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
        return InputError(f"is truncated or damaged near byte {self._file.tell()}", file=self._path)


# The beginning of a .meta file, which contains the name prefix of the ranks' files.
_META = b"hostname="
_DIGITS = 4


class DumpiImporter(Importer):
    """Reads DUMPI's binary files, and the output of ``dumpi2ascii``."""

    name = "dumpi"
    title = "DUMPI, which SST, CODES and TraceR replay"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if head.startswith(MAGIC) or _meta_in(files[0]) is not None:
            return True
        is_meta = head.startswith(_META) and b"\nfileprefix=" in head
        return is_meta or (b" entering at walltime " in head and b", cputime " in head)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        first = _meta_in(files[0]) or files[0]
        with first.open("rb") as stream:
            is_meta = stream.read(len(_META)) == _META
        return DumpiTrace(_of_meta(first) if is_meta else files, options, notes)


class DumpiTrace(CallTrace):
    """The files of all ranks."""

    def __init__(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> None:
        super().__init__(files, options, notes)
        first = _opened(files[0])
        try:
            if options.counter is None:
                options.volume_of(0.0)  # refuses a trace without --speed
            elif options.counter not in first.counters:
                there = ", ".join(first.counters) or "none"
                raise InputError(
                    f"has no hardware counter {options.counter}: it has {there}", file=files[0]
                )
        finally:
            first.close()

    def lines(self, rank: int) -> Iterator[str]:
        path, wanted = self.files[rank], self.options.counter
        file = _opened(path)
        try:
            types = datatypes_of(file.type_sizes)
            counter = None if wanted is None else file.counters.index(wanted)
            reader = CallReader(rank, self, path, types, self.numbers, counter=counter)
            yield from reader.lines(file.calls())
        finally:
            file.close()


def _opened(path: Path) -> BinaryFile | TextFile:
    try:
        with path.open("rb") as stream:
            is_binary = stream.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    return BinaryFile(path) if is_binary else TextFile(path)


def _meta_in(path: Path) -> Path | None:
    """Return the .meta file of a directory, if it has exactly one."""
    if not path.is_dir():
        return None
    found = sorted(path.glob("*.meta"))
    return found[0] if len(found) == 1 else None


def _of_meta(meta: Path) -> list[Path]:
    """Return the files of the ranks named by a .meta file."""
    pairs = dict(
        line.split("=", 1) for line in meta.read_text(errors="replace").splitlines() if "=" in line
    )
    try:
        ranks, prefix = int(pairs["numprocs"]), pairs["fileprefix"]
    except (KeyError, ValueError):
        raise InputError(
            "lacks the numprocs= and fileprefix= of DUMPI .meta files", file=meta
        ) from None
    files = []
    for rank in range(ranks):
        file = meta.parent / f"{prefix}-{rank:0{_DIGITS}d}.bin"
        if not file.exists():
            raise InputError(f"the file {file.name} of rank {rank} is missing", file=meta)
        files.append(file)
    if not files:
        raise InputError("names no ranks (numprocs=0)", file=meta)
    return files
