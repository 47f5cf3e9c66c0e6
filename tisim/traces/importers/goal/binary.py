"""Reads GOAL schedules as LogGOPSim's ``txt2bin`` writes them."""

from __future__ import annotations

import struct
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.goal.operations import (
    COMPUTE,
    RECEIVE,
    SEND,
    Operation,
    depend,
)

#: The first bytes: a number of eight bytes.
MAGIC = struct.pack("<Q", 4223)
# Ranks, processors and network interfaces; then where each rank begins and ends, from after the
# magic number.
_HEADER = struct.Struct("<IBB")
_SPAN = struct.Struct("<QQ")
_COUNTS = struct.Struct("<II")
# Dependencies, kind, peer, size, tag, processor, interface; how many operations wait for its end
# and where they stand in the list behind the operations, and the same for its beginning.
_NODE = struct.Struct("<IbIQIBBIIII")
_NUMBER = struct.Struct("<I")


class BinarySchedule:
    """A schedule in a binary file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If it is none, or cut.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(len(MAGIC) + _HEADER.size)
            if len(head) < len(MAGIC) + _HEADER.size or not head.startswith(MAGIC):
                raise InputError("is no binary GOAL schedule", file=path)
            self.ranks, _, _ = _HEADER.unpack_from(head, len(MAGIC))
            if not self.ranks or self.ranks * _SPAN.size > self._size:
                raise InputError(f"is cut: its {self.ranks} ranks are not there", file=path)
            table = file.read(self.ranks * _SPAN.size)
        if len(table) < self.ranks * _SPAN.size:
            raise InputError("is cut within the table of its ranks", file=path)
        self._spans = list(_SPAN.iter_unpack(table))

    def operations(self, rank: int) -> list[Operation]:
        """The operations of a rank in the order of the schedule.

        Raises
        ------
        InputError
            If they do not have the sizes that the file says.
        """
        data = self._bytes(rank)
        if len(data) < _COUNTS.size:
            raise self._error(rank)
        count, roots = _COUNTS.unpack_from(data)
        first = _COUNTS.size + roots * _NUMBER.size
        behind = first + count * _NODE.size
        if behind > len(data) or (len(data) - behind) % _NUMBER.size:
            raise self._error(rank)
        listed = memoryview(data)[behind:].cast("I")
        made: list[Operation] = []
        lists: list[tuple[int, int, int, int]] = []
        for node in _NODE.iter_unpack(data[first:behind]):
            _, kind, peer, size, tag, cpu, _, *rest = node
            if kind not in (SEND, RECEIVE, COMPUTE):
                raise self._error(rank)
            made.append(Operation(kind, size, peer, tag, cpu, f"operation {len(made)}"))
            lists.append((rest[0], rest[1], rest[2], rest[3]))
        if sum(ends + starts for ends, _, starts, _ in lists) != len(listed):
            raise self._error(rank)
        for earlier, (ends, at_ends, starts, at_starts) in enumerate(lists):
            for number, at, on_start in ((ends, at_ends, False), (starts, at_starts, True)):
                for later in listed[at : at + number]:
                    if later >= count:
                        raise self._error(rank)
                    depend(made, later, earlier, on_start=on_start)
        return made

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def _bytes(self, rank: int) -> bytes:
        begin, end = self._spans[rank]
        if not begin <= end <= self._size - len(MAGIC):
            raise InputError(f"is cut: rank {rank} is not all there", file=self.path)
        with self.path.open("rb") as file:
            file.seek(len(MAGIC) + begin)
            return file.read(end - begin)

    def _error(self, rank: int) -> InputError:
        return InputError(
            f"rank {rank} has other contents than LogGOPSim's txt2bin writes; schedules of "
            "LogGOPSim 2 (put, append and so on) are not read",
            file=self.path,
        )
