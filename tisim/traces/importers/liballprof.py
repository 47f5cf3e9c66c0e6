"""Traces of liballprof, the recorder of LogGOPSim's toolchain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import need_speed
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.importers.mpi_calls import (
    NULL,
    SELF_HANDLE,
    WORLD_HANDLE,
    CallReader,
    CallTrace,
    Datatypes,
    MpiCall,
)
from tisim.traces.importers.words import INITS, ISENDS, SENDS, is_query

# A field is NAME, or NAME/KIND: d is a datatype (number, size, extent), c a communicator (handle,
# rank, size), v an array with a size for each rank (its address, then the sizes), r the address of
# a request or of an array of requests. A dot is an unused field.
_MESSAGE = ". count datatype/d {0} tag comm/c"
_POST = _MESSAGE + " request/r"
_REDUCE = ". . count datatype/d . "
_SEND, _RECEIVE = "sendcount sendtype/d", "recvcount recvtype/d"
_SENDS, _RECEIVES = "sendcounts/v ./v sendtype/d", "recvcounts/v ./v recvtype/d"
_TEXT = {
    **dict.fromkeys(SENDS, _MESSAGE.format("dest")),
    **dict.fromkeys(ISENDS, _POST.format("dest")),
    **dict.fromkeys(INITS, _POST.format("dest")),
    **dict.fromkeys(("Irecv", "Recv_init"), _POST.format("source")),
    "Recv": _MESSAGE.format("source") + " .",
    "Probe": "source tag comm/c .",
    "Sendrecv": f". {_SEND} dest sendtag . {_RECEIVE} source recvtag comm/c .",
    "Sendrecv_replace": ". count datatype/d dest sendtag source recvtag comm/c .",
    "Wait": "request/r .",
    "Test": "request/r . .",
    "Start": "request/r",
    "Startall": "count requests/r",
    "Waitall": "count requests/r .",
    "Testall": "count requests/r . .",
    "Waitany": "count requests/r . .",
    "Testany": "count requests/r . . .",
    "Waitsome": "count requests/r . . .",
    "Testsome": "count requests/r . . .",
    "Barrier": "comm/c",
    "Bcast": ". count datatype/d root comm/c",
    "Reduce": _REDUCE + "root comm/c",
    **dict.fromkeys(("Allreduce", "Scan", "Exscan"), _REDUCE + "comm/c"),
    "Gather": f". {_SEND} . {_RECEIVE} root comm/c",
    "Scatter": f". {_SEND} . {_RECEIVE} root comm/c",
    **dict.fromkeys(("Allgather", "Alltoall"), f". {_SEND} . {_RECEIVE} comm/c"),
    "Gatherv": f". {_SEND} . {_RECEIVES} root comm/c",
    "Scatterv": f". {_SENDS} . {_RECEIVE} root comm/c",
    "Allgatherv": f". {_SEND} . {_RECEIVES} comm/c",
    "Alltoallv": f". {_SENDS} . {_RECEIVES} comm/c",
    "Reduce_scatter": ". . recvcounts/v datatype/d . comm/c",
    "Comm_split": "oldcomm/c color key .",
    "Comm_dup": "oldcomm/c .",
    "Comm_create": "oldcomm/c . .",
    "Cart_create": "oldcomm/c . . . . .",
    "Comm_rank": "comm/c .",
    "Comm_size": "comm/c .",
    "Init": ". .",
    "Init_thread": ". . . .",
    "Finalize": "",
}
#: For each function, its fields as pairs of a name (empty if unused) and a kind.
LAYOUTS: dict[str, tuple[tuple[str, str], ...]] = {
    function: tuple(
        (name.strip("."), kind)
        for name, _, kind in (field.partition("/") for field in fields.split())
    )
    for function, fields in _TEXT.items()
}
_NAME = re.compile(r"MPI_(\w+):")
# MPICH's handle of the world, and its numbers of any source and of no rank; in other libraries
# these are -1 and below.
_MPICH_WORLD, _MPICH_ANY_SOURCE, _MPICH_NULL = 0x44000000, -2, -1
_NO_RANK = -2
# Base of the handles given to communicators in the order in which the rank creates them.
_FIRST_MADE = 16
_POSTS = frozenset({*ISENDS, "Irecv", *INITS})
# The trace does not contain the requests that these calls completed.
_UNDECIDED = frozenset({"Test", "Testall", "Testany", "Testsome", "Waitany", "Waitsome"})
_MAKERS = frozenset({"Comm_split", "Comm_dup", "Comm_create", "Cart_create"})
# These arrays are significant only at the root.
_AT_ROOT = {"Gatherv": "recvcounts", "Scatterv": "sendcounts"}


class StatedSizes(Datatypes):
    """Datatypes whose numbers are their sizes: each call states the size of its type."""

    def size(self, number: int) -> int | None:
        """Return the size, which equals the number."""
        return number


class TraceFile:
    """The trace of one rank."""

    def __init__(self, path: Path, rank: int, ranks: int, notes: Notes) -> None:
        self.path = path
        self._rank = rank
        self._ranks = ranks
        self._notes = notes
        self._line = 0
        # DUMPI's communicator numbers by liballprof's handles, and the numbers that no call of the
        # trace has used yet.
        self._handles: dict[int, int] = {}
        self._unused: list[int] = []
        self._made = 0
        self._is_mpich = False
        # Addresses of pending and of persistent requests.
        self._posted: set[int] = set()
        self._persistent: set[int] = set()

    def calls(self) -> Iterator[MpiCall]:
        """Yield the calls in order. Raises InputError if a line is not in liballprof's format, or
        is truncated.
        """
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                self._line += 1
                if line.startswith("#") or not line.strip():
                    continue
                named = _NAME.match(line)
                if named is None or not line.endswith("\n"):
                    raise self._error("is truncated here, or not a liballprof trace")
                call = self._call(named[1], line.rstrip("\n").split(":")[1:])
                if call is not None:
                    yield call

    def _error(self, message: str) -> InputError:
        return InputError(message, file=self.path, line=self._line)

    def _call(self, function: str, words: list[str]) -> MpiCall | None:
        """Parse a call; None if it is not needed."""
        place = f"line {self._line}"
        layout = LAYOUTS.get(function)
        if layout is None:
            if is_query(function) and function != "Iprobe":
                return None
            self._notes.add(f"MPI_{function} is left out", f"rank {self._rank}, {place}")
            return None
        if len(words) < 2:
            raise self._error(f"MPI_{function} has no times")
        start, end = self._nanoseconds(words[0]), self._nanoseconds(words[-1])
        if function == "Finalize":
            end = start
        call = MpiCall(function, place, start, end)
        try:
            self._read(call, layout, words[1:-1])
        except (IndexError, ValueError):
            raise self._error(f"MPI_{function} has unexpected fields") from None
        self._complete(call)
        return None if function in ("Comm_rank", "Comm_size") else call

    def _nanoseconds(self, text: str) -> int:
        if text == "-":
            return 0
        whole, _, part = text.partition(".")
        try:
            # A clock may start at 0, which marks a call without times.
            return 1 + int(whole) * 1000 + int(f"{part:0<3}"[:3])
        except ValueError:
            raise self._error(f"{text!r} is not a time in microseconds") from None

    def _read(self, call: MpiCall, layout: tuple[tuple[str, str], ...], words: list[str]) -> None:
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
        """Return DUMPI's number of a communicator, from its handle, the rank in it and its size."""
        known = self._handles.get(handle)
        if known is not None:
            return known
        if not self._made and size == self._ranks:
            known = WORLD_HANDLE
            if rank != self._rank:
                self._notes.add(
                    "the rank in a file differs from the one in its name",
                    f"rank {self._rank}, line {self._line}",
                )
            self._is_mpich = handle == _MPICH_WORLD
        elif self._unused:
            if len(self._unused) > 1:
                self._notes.add(
                    "handles are assigned to several new communicators in their order",
                    f"rank {self._rank}, line {self._line}",
                )
            known = self._unused.pop(0)
        elif size == 1:
            known = SELF_HANDLE
        else:
            raise self._error(
                f"the communicator {handle} of {size} ranks was not created by any call in the "
                "trace"
            )
        self._handles[handle] = known
        return known

    def _complete(self, call: MpiCall) -> None:
        """Convert the fields to DUMPI's."""
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

    def _make(self, call: MpiCall) -> None:
        numbers = call.numbers
        self._made += 1
        if numbers.get("color", 0) < 0:
            numbers["newcomm"] = NULL
            return
        numbers["newcomm"] = _FIRST_MADE + self._made
        self._unused.append(numbers["newcomm"])

    def _array(self, address: int, count: int) -> list[int]:
        """Return the addresses of the requests in an array of 8-byte or 4-byte elements."""
        if count > 1 << 24 or count < 0:
            raise ValueError(count)
        known = self._posted | self._persistent if self._persistent else self._posted
        wide, narrow = (range(address, address + count * step, step) for step in (8, 4))
        hits = [sum(request in known for request in requests) for requests in (wide, narrow)]
        return list(narrow if hits[1] > hits[0] else wide)

    def _finish(self, call: MpiCall) -> None:
        requests = call.lists.get("requests", [call.numbers.get("request", 0)])
        missing = sum(request not in self._posted for request in requests)
        if missing:
            self._notes.add(
                "a wait for or test of a request that no call created at its address (a null "
                "request, or a copy) is left out",
                f"rank {self._rank}, line {self._line}",
                missing,
            )
        if call.function in _UNDECIDED:
            call.outcome_known = False
        else:
            self._posted.difference_update(requests)


_BEGINS = re.compile(rb"^(?:#[^\n]*\n|\s)*MPI_Init(?:ialized|_thread)?:", re.MULTILINE)
# Names end in -RANK.SUFFIX, with or without leading zeros.
_RANK = re.compile(r"(.*-)(\d+)(\.\w+)")


class LiballprofImporter(Importer):
    """Reads liballprof's text files, one per rank."""

    name = "liballprof"
    title = "liballprof, whose traces LogGOPSim's schedgen reads"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if files[0].is_dir():
            return _first_in(files[0]) is not None
        return _BEGINS.match(head) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        need_speed(options, files[0], "liballprof records")
        first = _first_in(files[0]) if files[0].is_dir() else files[0]
        if first is None:
            raise InputError("is a directory without a liballprof trace", file=files[0])
        return LiballprofTrace(list(files) if len(files) > 1 else _beside(first), options, notes)


class LiballprofTrace(CallTrace):
    """The files of all ranks."""

    def lines(self, rank: int) -> Iterator[str]:
        path = self.files[rank]
        calls = TraceFile(path, rank, self.ranks, self.notes).calls()
        yield from CallReader(rank, self, path, StatedSizes({}), self.numbers).lines(calls)


def _first_in(directory: Path) -> Path | None:
    """Return the file of rank 0 in a directory that contains exactly one such trace."""
    paths = []
    for path in sorted(directory.iterdir()):
        named = _RANK.fullmatch(path.name)
        if named is not None and path.is_file() and int(named[2]) == 0:
            with path.open("rb") as stream:
                if _BEGINS.match(stream.read(1 << 12)) is not None:
                    paths.append(path)
    return paths[0] if len(paths) == 1 else None


def _beside(first: Path) -> list[Path]:
    """Return the files of all ranks, given one of them."""
    named = _RANK.fullmatch(first.name)
    if named is None:
        return [first]
    ranks: dict[int, Path] = {}
    for path in first.parent.iterdir():
        other = _RANK.fullmatch(path.name)
        if other is not None and (other[1], other[3]) == (named[1], named[3]):
            ranks[int(other[2])] = path
    for rank in range(len(ranks)):
        if rank not in ranks:
            raise InputError(
                f"the file of rank {rank} is missing, but there is one of rank {max(ranks)}",
                file=first,
            )
    return [ranks[rank] for rank in range(len(ranks))]
