"""The table of call signatures, ``funcs.dat``."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.calls import Call
from tisim.traces.importers.pilgrim.layouts import functions, layouts

#: Pilgrim's numbers for what is no number of a rank, a tag or a request.
ANY_SOURCE, ANY_TAG, PROC_NULL, NULL_REQUEST = -99999, -99998, -99997, -1
_HEADER = struct.Struct("<iiiI")
_SIZES = {"i32": 4, "peer": 4, "comm": 4, "request": 4, "i64": 8, "status": 8, "pointer": 32}


@dataclass(frozen=True, slots=True)
class Signature:
    """A call with its arguments, which ranks may make.

    Attributes
    ----------
    function
        Its name without ``MPI_``.
    thread
        The number of the thread that makes it.
    numbers, lists
        The fields of one value, and those that are arrays, by their names in MPI. Peers are the
        rank's own number less theirs.
    """

    function: str
    thread: int
    numbers: dict[str, int]
    lists: dict[str, list[int]]

    def call(self, place: str) -> Call:
        """The call as its rank made it, with fields that may be changed."""
        lists = {name: list(values) for name, values in self.lists.items()}
        return Call(self.function, place, 0, 0, numbers=dict(self.numbers), lists=lists)


def read_signatures(file: Path) -> list[Signature]:
    """The signatures by their numbers.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    data = file.read_bytes()
    try:
        (count,) = struct.unpack_from("<i", data)
        # An entry takes 22 bytes at least.
        if not 0 < count <= len(data) // 22:
            raise ValueError
        found: dict[int, Signature] = {}
        place = 4
        for _ in range(count):
            number, _, size, _ = _HEADER.unpack_from(data, place)
            place += _HEADER.size
            if not 0 <= number < count or size < 6 or place + size > len(data):
                raise ValueError
            found[number] = _signature(data[place : place + size])
            place += size
        if place != len(data) or len(found) != count:
            raise ValueError
    except (ValueError, struct.error):
        raise InputError("is no table of calls of Pilgrim's, or is cut", file=file) from None
    return [found[number] for number in range(count)]


def _signature(key: bytes) -> Signature:
    number, thread = struct.unpack_from("<hi", key)
    if not 0 <= number < len(functions()):
        raise ValueError
    function = functions()[number]
    numbers: dict[str, int] = {}
    lists: dict[str, list[int]] = {}
    place = 6
    for field in layouts().get(function, ()):
        if field.kind == "rest":
            place = len(key)
            break
        size = _SIZES[field.kind]
        times = numbers[field.length] if field.length else 1
        if times < 0 or place + times * size > len(key):
            raise ValueError
        if field.name:
            values = struct.unpack_from(
                f"<{times}{'q' if field.kind == 'i64' else 'i'}", key, place
            )
            if field.length:
                lists[field.name] = list(values)
            else:
                numbers[field.name] = values[0]
        place += times * size
    if function in layouts() and place != len(key):
        raise ValueError
    return Signature(function, thread, numbers, lists)
