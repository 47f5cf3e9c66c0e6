"""Turns the calls of one rank into the lines of its trace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.files import FileCalls
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_calls import RankCalls
from tisim.traces.importers.recorder.rows import RecordedCall

_WORLD = "MPI_COMM_WORLD"
_ORIGINS = ("set", "cur", "end")  # SEEK_SET, SEEK_CUR, SEEK_END
# Flags of a trace for the modes of standard I/O.
_MODES = {"r": "r", "r+": "rw", "w": "wct", "w+": "rwct", "a": "wca", "a+": "rwca"}
# Which argument is the file, and which are multiplied to the bytes.
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
# Calls of which a trace loses nothing.
_SILENT = frozenset(
    {"access", "faccessat", "ftell", "ftello", "getcwd", "umask", "fileno", "fflush", "__fxstat"}
    | {"fcntl", "opendir", "readdir", "closedir", "readlink", "utime", "chmod", "chown"}
)
# The same of MPI: parts of names.
_MPI_QUERIES = ("Init", "Finalize", "Comm_rank", "Comm_size", "Get_", "Wtime", "Type_commit")


class RecordedRank:
    """Reads the calls of one rank in their order.

    Parameters
    ----------
    rank
        The rank.
    path
        Its text, for messages.
    options, notes
        Of the import.
    """

    def __init__(self, rank: int, path: Path, options: ImportOptions, notes: Notes) -> None:
        self._rank = rank
        self._path = path
        self._options = options
        self._notes = notes
        self._calls = RankCalls(rank)
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
                        "a call that begins before the one before has ended comes after it",
                        self._place(call),
                    )
                calls.compute(self._options.volume_of(max(call.begin - self._ended, 0.0)))
            try:
                self._write(call)
            except (ValueError, IndexError, KeyError):
                raise InputError(
                    f"{call.function} has other arguments than Recorder writes",
                    file=self._path,
                    line=call.line,
                ) from None
            self._keep_times(call)
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
                "a call of MPI-IO is left out: those of POSIX that it made are in the trace",
                self._place(call),
            )
        elif not name.startswith(_MPI_QUERIES):
            self._notes.add(f"{call.function} is left out", self._place(call))

    def _is_known(self, file: str, call: RecordedCall) -> bool:
        if not self._files.is_open(file):
            self._notes.add(
                "an access of a file that was not opened in the trace is left out",
                self._place(call),
            )
        return self._files.is_open(file)

    def _keep_times(self, call: RecordedCall) -> None:
        times = self._options.times
        if times is not None:
            begin, end = round(call.begin * 1e9), round(call.end * 1e9)
            function = call.function.removeprefix("MPI_")
            times.add(self._rank, function, begin, end, self._calls.lines.count)

    def _place(self, call: RecordedCall) -> str:
        return f"{self._path.name}, line {call.line}"


def _flags(function: str, text: str) -> str:
    """The flags of a trace for those of `open`, or the mode of `fopen`."""
    if function == "creat":
        return "wct"
    if function != "open":
        return _MODES[text.replace("b", "").replace("e", "").replace("t", "")]
    bits = int(text, 0)
    access = {os.O_RDONLY: "r", os.O_WRONLY: "w", os.O_RDWR: "rw"}[bits & os.O_ACCMODE]
    for letter, bit in (("c", os.O_CREAT), ("t", os.O_TRUNC), ("a", os.O_APPEND)):
        access += letter if bits & bit else ""
    return access
