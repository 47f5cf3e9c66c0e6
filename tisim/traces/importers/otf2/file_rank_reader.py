"""Turns the events of one rank that works on files into the lines of its trace."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.importers.files import FileCalls
from tisim.traces.importers.otf2.opened_trace import OpenedTrace
from tisim.traces.importers.otf2.rank_reader import RankReader

# OTF2_IO_ACCESS_MODE_*: reads, writes, both; others are of directories and programs.
_ACCESS = {0: "r", 1: "w", 2: "rw"}
# Bits of OTF2_IO_CREATION_FLAG_*, OTF2_IO_STATUS_FLAG_* and OTF2_IO_OPERATION_FLAG_*.
_CREATE, _TRUNCATE, _EXCLUSIVE = 1 << 0, 1 << 1, 1 << 3
_APPEND = 1 << 1
_NON_BLOCKING, _COLLECTIVE = 1 << 0, 1 << 1
# OTF2_IO_OPERATION_MODE_*
_WRITE, _FLUSH = 1, 2
_UNKNOWN_SIZE = 2**64 - 1


@dataclass
class _Operation:
    """A read, a write or a flush that has begun."""

    handle: int
    mode: int
    flags: int
    nbytes: int
    began: int


class FileRankReader(RankReader):
    """Reads the events of one rank in their order, those of I/O too.

    An operation inside another one, as the writes of POSIX by which one of MPI-IO is made, is part
    of that.

    Parameters
    ----------
    rank
        The rank.
    trace
        Its trace.
    """

    def __init__(self, rank: int, trace: OpenedTrace) -> None:
        super().__init__(rank, trace)
        self._known_files = trace.definitions.files
        self._files = FileCalls(rank, self._calls)
        # By handle and matching number.
        self._under_way: dict[tuple[int, int], _Operation] = {}

    def _on_io_create(self, time: int, numbers: tuple[int, ...]) -> None:
        handle, mode, creation, status = numbers
        file = self._known_files.handles.get(handle)
        if file is None or mode not in _ACCESS:
            return
        flags = _ACCESS[mode]
        for letter, is_set in (
            ("c", creation & _CREATE),
            ("t", creation & _TRUNCATE and "w" in flags),
            ("a", status & _APPEND and "w" in flags),
        ):
            flags += letter if is_set else ""
        self._compute_until(time)
        self._files.open(handle, self._known_files.names[file], flags)

    def _on_io_destroy(self, time: int, numbers: tuple[int, ...]) -> None:
        if self._files.is_open(numbers[0]):
            self._compute_until(time)
            self._files.close(numbers[0])

    def _on_io_duplicate(self, _time: int, _numbers: tuple[int, ...]) -> None:
        self._notes.add("a copy of a handle is left out, with its accesses", self._place())

    def _on_io_delete(self, time: int, numbers: tuple[int, ...]) -> None:
        name = self._known_files.names.get(numbers[1])
        if name is not None:
            self._compute_until(time)
            self._files.name("unlink", name)

    def _on_io_seek(self, time: int, numbers: tuple[int, ...]) -> None:
        handle, _, _, result = numbers
        if self._files.is_open(handle) and not self._under_way:
            self._compute_until(time)
            self._files.seek(handle, result, "set")

    def _on_io(self, time: int, numbers: tuple[int, ...]) -> None:
        handle, mode, flags, nbytes, number = numbers
        if not self._under_way:
            self._compute_until(time)
        self._under_way[handle, number] = _Operation(handle, mode, flags, nbytes, time)

    def _on_io_complete(self, time: int, numbers: tuple[int, ...]) -> None:
        handle, nbytes, number = numbers
        operation = self._under_way.pop((handle, number), None)
        if operation is None or self._under_way:
            return  # part of another one
        if nbytes == _UNKNOWN_SIZE:
            nbytes = operation.nbytes
        self._write_operation(operation, nbytes)
        if not self._open:
            self._restart(time)
            word = ("read", "write", "fsync")[min(operation.mode, _FLUSH)]
            self._entered = operation.began
            self._keep_times(word, time)

    def _on_io_cancelled(self, time: int, numbers: tuple[int, ...]) -> None:
        if self._under_way.pop((numbers[0], numbers[1]), None) is not None:
            self._notes.add("a cancelled access of a file is left out", self._place())
            if not self._under_way and not self._open:
                self._restart(time)

    def _write_operation(self, operation: _Operation, nbytes: int) -> None:
        if operation.handle in self._known_files.standard:
            return
        if not self._files.is_open(operation.handle):
            self._notes.add(
                "an access of a file that was not opened in the trace is left out", self._place()
            )
            return
        if operation.mode == _FLUSH:
            self._files.sync(operation.handle)
            return
        if operation.flags & _NON_BLOCKING:
            self._notes.add(
                "an access of a file that does not block stands where it ends", self._place()
            )
        if operation.flags & _COLLECTIVE:
            self._notes.add(
                "a collective access of a file is each rank's own, which waits for nobody",
                self._place(),
            )
        self._notes.add(
            "OTF2 has no offsets of accesses: they are at the positions of their handles",
            self._place(),
        )
        self._files.transfer(operation.handle, nbytes, writes=operation.mode == _WRITE)

    def _compute_until(self, time: int) -> None:
        """What the rank has computed up to here, outside of calls of MPI."""
        if self._began is not None and not self._open:
            self._calls.compute(self._volume(time))
            self._restart(time)

    def _restart(self, time: int) -> None:
        if self._began is not None:
            self._began = time
            self._started_count = self._counted
            self._flushed = 0
