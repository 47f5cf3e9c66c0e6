"""Reads what ``dumpi2ascii`` prints of one rank."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.calls.call import Call

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

    def calls(self) -> Iterator[Call]:
        """Yield the calls in their order.

        Raises
        ------
        InputError
            If the text is something else, or ends within a call.
        """
        call: Call | None = None
        number = 0
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if (entering := _ENTERING.match(line)) is not None:
                    if call is not None:
                        raise self._error(f"MPI_{call.function} has not returned", number)
                    call = Call(entering[1], f"line {number}", _nanoseconds(entering[2]), 0)
                elif (returning := _RETURNING.match(line)) is not None:
                    if call is None or returning[1] != call.function:
                        raise self._error(f"MPI_{returning[1]} returns without entering", number)
                    call.end = _nanoseconds(returning[2])
                    yield call
                    call = None
                elif call is not None and (found := _FIELD.match(line)) is not None:
                    _set(call, found[1], found[2])
        if call is not None:
            raise self._error(f"ends within MPI_{call.function}", number)

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, file=self.path, line=line)


def _nanoseconds(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole or 0) * 1_000_000_000 + int(f"{part:0<9}"[:9])


def _set(call: Call, name: str, text: str) -> None:
    if name.startswith("status"):
        call.sources += map(int, _SOURCE.findall(text))
    elif text.startswith("[") and name != "request":
        call.lists[name] = [int(value) for value in _NUMBER.findall(text.partition("(")[0])]
    elif (found := _NUMBER.search(text)) is not None:
        call.numbers[name] = int(found[0])
