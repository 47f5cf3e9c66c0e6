"""Recorder traces, as written by recorder2text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError
from tisim.traces.importers.file_calls import FileCalls
from tisim.traces.importers.format import FormatTrace, RankConverter, need_speed
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes

_ROW = re.compile(r"(-?\d+\.\d+) (-?\d+\.\d+) (\S+) (\d+) (\d+) \( ?(.*)\)$")
#: The first bytes of a file.
ROW_BYTES = re.compile(rb"-?\d+\.\d+ -?\d+\.\d+ [A-Za-z_]\w* \d+ \d+ \(")


class RecordedCall(NamedTuple):
    """A call."""

    #: Seconds.
    begin: float
    end: float
    line: int
    function: str
    #: In Recorder's spelling, with file names instead of descriptors.
    arguments: Sequence[str]


def read_calls(path: Path) -> list[RecordedCall]:
    """Return the calls of one rank, ordered by start: a call precedes those inside it. Raises
    InputError if the file is something else, or truncated.
    """
    calls = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                text = line.rstrip("\n")
                if not text:
                    continue
                row = _ROW.match(text)
                if row is None:
                    raise InputError(
                        "is not a call in the format of recorder2text; is the file truncated?",
                        file=path,
                        line=number,
                    )
                begin, end = float(row[1]), float(row[2])
                calls.append(RecordedCall(begin, end, number, row[3], row[6].split()))
    except UnicodeDecodeError:
        raise InputError("is not output of recorder2text", file=path) from None
    return sorted(calls, key=lambda call: (call.begin, -call.end, call.line))


_WORLD = "MPI_COMM_WORLD"
_ORIGINS = ("set", "cur", "end")  # SEEK_SET, SEEK_CUR, SEEK_END
# Trace flags for the modes of standard I/O.
_MODES = {"r": "r", "r+": "rw", "w": "wct", "w+": "rwct", "a": "wca", "a+": "rwca"}
# Index of the file argument, and of the arguments whose product is the number of bytes.
_READS = {"read": (0, (2,)), "readv": (0, (1,)), "fread": (3, (1, 2))}
_WRITES = {
    "write": (0, (2,)),
    "writev": (0, (1,)),
    "fwrite": (3, (1, 2)),
    "fprintf": (0, (1,)),
    "vfprintf": (0, (1,)),
}
_POSITIONED = {"pread": False, "pwrite": True}
_SEEKS = frozenset({"lseek", "fseek", "fseeko"})
_NAMES = {
    "__xstat": ("stat", 1),
    "__lxstat": ("stat", 1),
    "stat": ("stat", 0),
    "lstat": ("stat", 0),
    "unlink": ("unlink", 0),
    "remove": ("unlink", 0),
    "mkdir": ("mkdir", 0),
}
# Calls that can be left out without loss.
_SILENT = frozenset(
    {"access", "faccessat", "ftell", "ftello", "getcwd", "umask", "fileno", "fflush", "__fxstat"}
    | {"fcntl", "opendir", "readdir", "closedir", "readlink", "utime", "chmod", "chown"}
)
# Such calls of MPI: name prefixes.
_MPI_QUERIES = ("Init", "Finalize", "Comm_rank", "Comm_size", "Get_", "Wtime", "Type_commit")


class RecordedRank(RankConverter):
    """Converts the calls of one rank in order."""

    def __init__(self, rank: int, trace: RecorderTrace, text: Path) -> None:
        super().__init__(rank, trace)
        self._text = text
        self._files = FileCalls(rank, self._calls)
        self._ended: float | None = None

    def lines(self, recorded: Iterable[RecordedCall]) -> Iterator[str]:
        """Yield the lines of the rank."""
        calls = self._calls
        calls.action("init")
        for call in recorded:
            if self._ended is not None:
                if call.begin < self._ended:
                    self._notes.add(
                        "a call that begins before the previous one ends is placed after it",
                        self._place(call),
                    )
                calls.compute(self._options.volume_of(max(call.begin - self._ended, 0.0)))
            try:
                self._write(call)
            except (ValueError, IndexError, KeyError):
                raise InputError(
                    f"{call.function} has unexpected arguments",
                    file=self._text,
                    line=call.line,
                ) from None
            begin, end = round(call.begin * 1e9), round(call.end * 1e9)
            self._keep_times(call.function.removeprefix("MPI_"), begin, end)
            self._ended = max(call.end, self._ended or call.end)
            yield from calls.ready()
        self._files.close_all()
        calls.action("finalize")
        yield from calls.ready()

    def _write(self, call: RecordedCall) -> None:
        name, arguments = call.function.removesuffix("64"), call.arguments
        if name.startswith("MPI_"):
            self._write_mpi(name.removeprefix("MPI_"), call)
        elif name in ("open", "creat", "fopen", "fdopen"):
            self._files.open(arguments[0], arguments[0], _flags(name, arguments[1]))
        elif name in ("close", "fclose"):
            self._files.close(arguments[0])
        elif name in _NAMES:
            word, place = _NAMES[name]
            self._files.name(word, arguments[place])
        elif name in _READS or name in _WRITES:
            place, factors = (_READS | _WRITES)[name]
            nbytes = 1
            for factor in factors:
                nbytes *= int(arguments[factor])
            if self._is_known(arguments[place], call):
                self._files.transfer(arguments[place], nbytes, writes=name in _WRITES)
        elif name in _POSITIONED:
            nbytes, offset = int(arguments[2]), int(arguments[3])
            if self._is_known(arguments[0], call):
                writes = _POSITIONED[name]
                self._files.transfer(arguments[0], nbytes, writes=writes, offset=offset)
        elif name in _SEEKS:
            origin = _ORIGINS[int(arguments[2])]
            if self._is_known(arguments[0], call):
                self._files.seek(arguments[0], int(arguments[1]), origin)
        elif name in ("fsync", "fdatasync"):
            if self._is_known(arguments[0], call):
                self._files.sync(arguments[0])
        elif name not in _SILENT:
            self._notes.add(f"{call.function} is left out", self._place(call))

    def _write_mpi(self, name: str, call: RecordedCall) -> None:
        if name == "Barrier" and call.arguments[0] == _WORLD:
            self._calls.action("barrier")
        elif name.startswith("File_"):
            self._notes.add(
                "an MPI-IO call is left out: the underlying POSIX calls are in the trace",
                self._place(call),
            )
        elif not name.startswith(_MPI_QUERIES):
            self._notes.add(f"{call.function} is left out", self._place(call))

    def _is_known(self, file: str, call: RecordedCall) -> bool:
        if not self._files.is_open(file):
            self._notes.add(
                "an access to a file that is not opened in the trace is left out",
                self._place(call),
            )
        return self._files.is_open(file)

    def _place(self, call: RecordedCall) -> str:
        return f"{self._text.name}, line {call.line}"


def _flags(function: str, text: str) -> str:
    """Convert the flags of `open`, or the mode of `fopen`, to the flags of a trace."""
    if function == "creat":
        return "wct"
    if function != "open":
        return _MODES[text.replace("b", "").replace("e", "").replace("t", "")]
    bits = int(text, 0)
    access = {os.O_RDONLY: "r", os.O_WRONLY: "w", os.O_RDWR: "rw"}[bits & os.O_ACCMODE]
    for letter, bit in (("c", os.O_CREAT), ("t", os.O_TRUNC), ("a", os.O_APPEND)):
        access += letter if bits & bit else ""
    return access


# The directory that recorder2text creates in that of the trace.
_FOLDER = "_text"


class RecorderImporter(Importer):
    """Reads the output of recorder2text."""

    name = "recorder"
    title = "Recorder's traces, written as text by recorder2text"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return ROW_BYTES.match(head) is not None or (
            files[0].is_dir() and bool(_texts(files[0]) or _is_binary(files[0]))
        )

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        need_speed(options, files[0], "Recorder has")
        texts = list(files)
        if files[0].is_dir():
            texts = _texts(files[0])
            if not texts:
                raise InputError(
                    "contains no output of recorder2text; run: recorder2text DIRECTORY",
                    file=files[0],
                )
        elif len(files) == 1:
            texts = _beside(files[0])
        return RecorderTrace(texts, options, notes)


class RecorderTrace(FormatTrace):
    """The texts of all ranks."""

    def __init__(self, texts: Sequence[Path], options: ImportOptions, notes: Notes) -> None:
        super().__init__(texts[0], options, notes)
        self._texts = texts
        self.ranks = len(texts)

    def lines(self, rank: int) -> Iterator[str]:
        text = self._texts[rank]
        return RecordedRank(rank, self, text).lines(read_calls(text))


def _texts(folder: Path) -> list[Path]:
    """Return the texts of all ranks in order; empty if there are none. Raises InputError if one is
    missing.
    """
    inner = folder / _FOLDER
    numbered = {
        int(path.stem): path
        for path in (inner if inner.is_dir() else folder).glob("*.txt")
        if path.stem.isdecimal()
    }
    missing = next((rank for rank in range(len(numbered)) if rank not in numbered), None)
    if missing is not None:
        raise InputError(
            f"contains no text of rank {missing}, but one of rank {max(numbered)}", file=folder
        )
    return [numbered[rank] for rank in range(len(numbered))]


def _beside(file: Path) -> list[Path]:
    """Return the texts of all ranks, given one of them."""
    found = _texts(file.parent) if file.stem.isdecimal() else []
    return found if file in found else [file]


def _is_binary(folder: Path) -> bool:
    """Return whether the directory contains a binary Recorder trace."""
    return (folder / "recorder.mt").exists()
