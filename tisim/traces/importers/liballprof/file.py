"""Reads what liballprof has written of one rank."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.calls import Call
from tisim.traces.importers.calls.creations import NULL, SELF_HANDLE, WORLD_HANDLE
from tisim.traces.importers.liballprof.layouts import LAYOUTS, SILENT
from tisim.traces.importers.notes import Notes

_NAME = re.compile(r"MPI_(\w+):")
# MPICH's handle of the world, and its numbers of any source and of no rank; in others these are -1
# and less.
_MPICH_WORLD, _MPICH_ANY_SOURCE, _MPICH_NULL = 0x44000000, -2, -1
_NO_RANK = -2
# Handles that are given to communicators in the order in which the rank makes them.
_FIRST_MADE = 16
_POSTS = frozenset(
    {*("Isend", "Ibsend", "Issend", "Irsend", "Irecv")}
    | {*("Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init")}
)
# Which requests these have found complete is not in the trace.
_UNDECIDED = frozenset({"Test", "Testall", "Testany", "Testsome", "Waitany", "Waitsome"})
_MAKERS = frozenset({"Comm_split", "Comm_dup", "Comm_create", "Cart_create"})
# What a rank that is not the root has of its array is not meant for anybody.
_AT_ROOT = {"Gatherv": "recvcounts", "Scatterv": "sendcounts"}


class StatedSizes:
    """Datatypes whose numbers are their sizes: each call states the size of its type."""

    def size(self, number: int) -> int | None:
        """The size, which is the number."""
        return number

    def learn(self, call: Call) -> None:
        """Do nothing: there is nothing to learn."""


class TraceFile:
    """The trace of one rank.

    Parameters
    ----------
    path
        The file.
    rank, ranks
        The rank, and how many there are.
    notes
        Takes what is guessed.
    """

    def __init__(self, path: Path, rank: int, ranks: int, notes: Notes) -> None:
        self.path = path
        self.counters: list[str] = []
        self._rank = rank
        self._ranks = ranks
        self._notes = notes
        self._line = 0
        # DUMPI's numbers of communicators by liballprof's handles, and those that no call of the
        # trace has used yet.
        self._handles: dict[int, int] = {}
        self._unused: list[int] = []
        self._made = 0
        self._is_mpich = False
        # Addresses of requests: pending ones, and persistent ones.
        self._posted: set[int] = set()
        self._persistent: set[int] = set()

    def calls(self) -> Iterator[Call]:
        """Yield the calls in their order.

        Raises
        ------
        InputError
            If a line is none of liballprof's, or is cut.
        """
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                self._line += 1
                if line.startswith("#") or not line.strip():
                    continue
                named = _NAME.match(line)
                if named is None or not line.endswith("\n"):
                    raise self._error("is cut here, or is no trace of liballprof")
                call = self._call(named[1], line.rstrip("\n").split(":")[1:])
                if call is not None:
                    yield call

    def _error(self, message: str) -> InputError:
        return InputError(message, file=self.path, line=self._line)

    def _call(self, function: str, words: list[str]) -> Call | None:
        """A call; None if it says nothing."""
        place = f"line {self._line}"
        if function in SILENT or function.startswith("Type_"):
            return None
        layout = LAYOUTS.get(function)
        if function == "Iprobe" or layout is None:
            self._notes.add(f"MPI_{function} is left out", f"rank {self._rank}, {place}")
            return None
        if len(words) < 2:
            raise self._error(f"MPI_{function} has no times")
        start, end = self._nanoseconds(words[0]), self._nanoseconds(words[-1])
        if function == "Finalize":
            end = start
        call = Call(function, place, start, end)
        try:
            self._read(call, layout, words[1:-1])
        except (IndexError, ValueError):
            raise self._error(
                f"MPI_{function} has other fields than liballprof writes for it"
            ) from None
        self._complete(call)
        return None if function in ("Comm_rank", "Comm_size") else call

    def _nanoseconds(self, text: str) -> int:
        if text == "-":
            return 0
        whole, _, part = text.partition(".")
        try:
            # A clock may begin with 0, which stands for no time in a call.
            return 1 + int(whole) * 1000 + int(f"{part:0<3}"[:3])
        except ValueError:
            raise self._error(f"{text!r} is no time in microseconds") from None

    def _read(self, call: Call, layout: tuple[tuple[str, str], ...], words: list[str]) -> None:
        place = 0
        for name, kind in layout:
            word = words[place]
            place += 1
            if kind == "v":
                word = words[place]
                place += 1
                if name:
                    call.lists[name] = [int(count) for count in word.split(",")]
            elif kind == "d":
                call.numbers[name] = int(word.split(",")[1])
            elif kind == "c":
                handle, rank, size = map(int, word.split(","))
                call.numbers[name] = self._communicator(handle, rank, size)
                call.numbers["commsize"] = size
                call.numbers["commrank"] = rank
            elif name:
                call.numbers[name] = int(word)
        if place != len(words):
            raise ValueError(words)

    def _communicator(self, handle: int, rank: int, size: int) -> int:
        """DUMPI's number of a communicator, by its handle here, the rank in it and its size."""
        known = self._handles.get(handle)
        if known is not None:
            return known
        if not self._made and size == self._ranks:
            known = WORLD_HANDLE
            if rank != self._rank:
                self._notes.add(
                    "a rank calls itself another one than its file's name does",
                    f"rank {self._rank}, line {self._line}",
                )
            self._is_mpich = handle == _MPICH_WORLD
        elif self._unused:
            if len(self._unused) > 1:
                self._notes.add(
                    "which of several new communicators a handle means is taken from their order",
                    f"rank {self._rank}, line {self._line}",
                )
            known = self._unused.pop(0)
        elif size == 1:
            known = SELF_HANDLE
        else:
            raise self._error(
                f"the communicator {handle} of {size} ranks was made by no call of the trace"
            )
        self._handles[handle] = known
        return known

    def _complete(self, call: Call) -> None:
        """Make of the fields what DUMPI has of them."""
        numbers, function = call.numbers, call.function
        if self._is_mpich:
            for side in ("source", "dest"):
                peer = numbers.get(side, 0)
                if peer < 0:
                    is_any = side == "source" and peer == _MPICH_ANY_SOURCE
                    numbers[side] = -1 if is_any else _NO_RANK
        if function in _POSTS:
            kept = self._persistent if function.endswith("_init") else self._posted
            kept.add(numbers["request"])
        elif function in _MAKERS:
            self._make(call)
        elif function in _AT_ROOT and numbers["root"] != numbers["commrank"]:
            del call.lists[_AT_ROOT[function]]
        elif "requests" in numbers:
            call.lists["requests"] = self._array(numbers.pop("requests"), numbers["count"])
        if function.startswith(("Wait", "Test")):
            self._finish(call)
        elif function.startswith("Start"):
            self._posted.update(call.lists.get("requests", [numbers.get("request", 0)]))

    def _make(self, call: Call) -> None:
        numbers = call.numbers
        self._made += 1
        if numbers.get("color", 0) < 0:
            numbers["newcomm"] = NULL
            return
        numbers["newcomm"] = _FIRST_MADE + self._made
        self._unused.append(numbers["newcomm"])

    def _array(self, address: int, count: int) -> list[int]:
        """The addresses of the requests in an array; they take 8 bytes each, or 4."""
        if count > 1 << 24 or count < 0:
            raise ValueError(count)
        known = self._posted | self._persistent if self._persistent else self._posted
        wide, narrow = (range(address, address + count * step, step) for step in (8, 4))
        found = [sum(request in known for request in requests) for requests in (wide, narrow)]
        return list(narrow if found[1] > found[0] else wide)

    def _finish(self, call: Call) -> None:
        requests = call.lists.get("requests", [call.numbers.get("request", 0)])
        missing = sum(request not in self._posted for request in requests)
        if missing:
            self._notes.add(
                "a wait or a test of a request that no call has made at its address (a null "
                "request, or a copy) is left out",
                f"rank {self._rank}, line {self._line}",
                missing,
            )
        if call.function in _UNDECIDED:
            call.outcome_known = False
        else:
            self._posted.difference_update(requests)
