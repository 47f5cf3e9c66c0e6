"""Conversion of calls in Pilgrim's table of signatures to lines of a rank."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import NoReturn

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace
from tisim.traces.importers.importer import Notes
from tisim.traces.importers.mpi_calls import (
    NULL,
    SELF_HANDLE,
    WORLD_HANDLE,
    CallReader,
    CreationNumbers,
    Datatypes,
    MpiCall,
)
from tisim.traces.importers.pilgrim import topologies, windows
from tisim.traces.importers.pilgrim.files import (
    ANY_SOURCE,
    ANY_TAG,
    NULL_REQUEST,
    PROC_NULL,
    Signature,
    layouts,
)
from tisim.traces.importers.rank_calls import RequestNumbers
from tisim.traces.importers.words import COLLECTIVES

# Sizes of the built-in datatypes on 64-bit machines; they are numbered downwards from -1.
_SIZES = (
    *(0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 4, 8, 16, 1, 4, 1, 0, 0, 8, 16, 32, 8, 1, 1, 1, 4, 4, 4, 8),
    *(8, 8, 16, 4, 8, 8, 16, 16, 32, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 8, 8, 12, 12, 6, 20, 8),
)
_COMMUNICATORS = {-9989: NULL, -9988: WORLD_HANDLE, -9987: SELF_HANDLE}
# First handles of other communicators and of requests, after the predefined ones.
_FIRST_COMMUNICATOR, _FIRST_REQUEST = 4, 2
_NO_REQUEST = 1
# The trace does not contain the requests that these calls create, start or cancel.
_UNNAMED_REQUESTS = {
    *("Start", "Startall", "Cancel", "Ibsend", "Issend", "Irsend", "Imrecv", "Mrecv", "Comm_idup"),
    *("Rput", "Rget", "Raccumulate", "Rget_accumulate"),
    *(f"I{name}" for name in COLLECTIVES),
    *(f"I{name.lower()}" for name in (*topologies.CALLS, "Neighbor_alltoallw")),
}
# Constructors of communicators whose members are not in the trace.
_UNKNOWN_MEMBERS = {"Comm_split", "Comm_split_type", "Comm_create", "Comm_create_group", "Cart_sub"}
_VAGUE = frozenset({"Waitany", "Waitsome", "Testany", "Testsome"})
# Calls that are treated like others.
_SAME = {
    "Type_create_resized": "Type_dup",
    "Comm_dup_with_info": "Comm_dup",
    "Mprobe": "Probe",
}


class _PreassignedNumbers(RequestNumbers):
    """Keeps Pilgrim's request numbers, which recur in loops."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self._first_free = free
        self._halves: dict[Hashable, int] = {}

    def give(self, request: Hashable) -> int:
        return self._number(request)

    def release(self, request: Hashable) -> int | None:
        return self.number(request)

    def number(self, request: Hashable) -> int | None:
        return None if request == _NO_REQUEST else self._number(request)

    def _number(self, request: Hashable) -> int:
        if isinstance(request, int):
            return request - _FIRST_REQUEST
        # The halves of an exchange, which is written as two calls and a wait.
        return self._first_free + self._halves.setdefault(request, len(self._halves))


class CallLines(CallReader):
    """Converts signatures to lines of one rank, in order of first use. `first_free` is greater than
    the numbers of all requests.
    """

    def __init__(
        self,
        rank: int,
        trace: FormatTrace,
        file: Path,
        numbers: CreationNumbers,
        first_free: int,
    ) -> None:
        types = Datatypes({-1 - i: size for i, size in enumerate(_SIZES)})
        super().__init__(
            rank, trace, file, types, numbers, requests=_PreassignedNumbers(first_free)
        )
        self._ranks = trace.ranks
        self._all_notes = trace.notes
        self._notes = Notes()
        self._derived: dict[int, int | None] = {}
        # Communicators with unknown ranks, and the calls that created them.
        self._unknown: dict[int, str] = {}
        self._neighbours: dict[int, topologies.Neighbours] = {}
        self._windows = windows.Windows(self._size, self._comm, self._refuse)

    def spelled(self, signature: Signature, number: int, times: int) -> list[str]:
        """Return the lines of a call, without newlines; none if it needs no line. Raises InputError
        if Pilgrim has not recorded the necessary data.
        """
        call = signature.call(f"signature {number}")
        function = call.function = _SAME.get(signature.function, signature.function)
        if function in _UNNAMED_REQUESTS:
            raise self._refused(call, "Pilgrim does not record which request that is")
        if function in ("Alltoallw", "Neighbor_alltoallw"):
            raise self._refused(call, "it is not described")
        if function in layouts():
            self._translate(call)
        made = [] if self._skips(call) else self.lines_of(call)
        if function.startswith("Type_") and "newtype" in call.numbers:
            self._note_type(call)
        for note in self._notes:
            self._all_notes.add(note.text, note.first, note.count * times)
        self._notes.clear()
        return [line.rstrip("\n") for line in made]

    def _write_call(self, call: MpiCall) -> None:
        if call.function in windows.CALLS:
            line = self._windows.line(call)
            if line is not None:
                self._calls.action(*line)
        elif call.function in topologies.CALLS:
            self._calls.action(self._among_neighbours(call), self._comm())
        else:
            super()._write_call(call)

    def _communicator(self) -> None:
        super()._communicator()
        call = self._call
        if "newcomm" in call.numbers:
            self._learn_neighbours(call)

    def _learn_neighbours(self, call: MpiCall) -> None:
        made = self._neighbours.get(call.numbers["oldcomm"])
        if call.function == "Cart_create":
            dims, periods = call.lists["dims"], call.lists["periods"]
            if min(dims, default=1) < 1:
                raise self._refused(call, f"no grid has the dimensions {dims}")
            made = topologies.of_grid(self._rank, dims, periods)
        elif call.function == "Dist_graph_create_adjacent":
            made = topologies.of_graph(call)
        number = call.numbers["newcomm"]
        if made is not None and self._neighbours.setdefault(number, made) != made:
            raise self._refused(
                call, "its communicator's number referred to one with other neighbours before"
            )

    def _among_neighbours(self, call: MpiCall) -> str:
        neighbours = self._neighbours.get(call.numbers["comm"])
        if neighbours is None:
            raise self._refused(call, "the neighbours of its communicator are not described")
        try:
            return topologies.words(call, neighbours, self._size)
        except ValueError:
            raise self._refused(
                call, "Pilgrim does not record the counts of more neighbours than ranks"
            ) from None

    def _refuse(self, message: str) -> NoReturn:
        raise self._refused(self._call, message)

    def _refused(self, call: MpiCall, message: str) -> InputError:
        return InputError(
            f"{call.place}, rank {self._rank}: MPI_{call.function}: {message}", file=self._file
        )

    def _translate(self, call: MpiCall) -> None:
        """Convert fields to the numbering of other call traces."""
        numbers = call.numbers
        for name in ("dest", "source"):
            if name in numbers:
                numbers[name] = self._peer_at(call, numbers[name])
        for name in ("tag", "recvtag"):
            if numbers.get(name) == ANY_TAG:
                numbers[name] = -1
        for name in ("comm", "oldcomm", "newcomm"):
            if name in numbers:
                number = numbers[name]
                numbers[name] = _COMMUNICATORS.get(number, number + _FIRST_COMMUNICATOR)
        if "request" in numbers:
            numbers["request"] = _request(numbers["request"])
        if "requests" in call.lists:
            call.lists["requests"] = [_request(number) for number in call.lists["requests"]]
        call.outcome_known = call.function not in _VAGUE
        if call.function == "Reduce_scatter_block":
            call.function = "Reduce_scatter"
            numbers["commsize"] = self._ranks
            call.lists["recvcounts"] = [numbers["recvcount"]] * self._ranks
        if call.function in ("Gatherv", "Scatterv") and numbers["root"] != self._rank:
            # MPI reads only the root's sizes; those of other ranks are arbitrary.
            call.lists.clear()

    def _peer_at(self, call: MpiCall, distance: int) -> int:
        if distance in (ANY_SOURCE, PROC_NULL):
            return -1 if distance == ANY_SOURCE else -2
        peer = self._rank - distance
        if not 0 <= peer < self._ranks:
            raise self._refused(call, f"no rank {peer}")
        return peer

    def _skips(self, call: MpiCall) -> bool:
        """Return whether nothing is written, given Pilgrim's data on the call."""
        numbers, function = call.numbers, call.function
        handle = numbers.get("comm", numbers.get("oldcomm", WORLD_HANDLE))
        if function in _UNKNOWN_MEMBERS:
            self._unknown[numbers["newcomm"]] = function
            self._note(
                "MPI_{} is left out: Pilgrim does not record the members of the communicator", call
            )
            return True
        if handle in self._unknown:
            if function == "Comm_free":
                return True
            raise self._refused(
                call,
                f"on a communicator that MPI_{self._unknown[handle]} created; Pilgrim does not "
                "record its members",
            )
        if handle == SELF_HANDLE:
            self._note("MPI_{} on MPI_COMM_SELF is left out", call)
            return True
        if function in _VAGUE:
            # No request is complete, or all were null; the index is then meaningless.
            return (
                numbers.get("flag", 1) == 0
                or numbers.get("outcount", 1) < 1
                or numbers.get("index", 0) < 0
            )
        return False

    def _note(self, text: str, call: MpiCall) -> None:
        self._notes.add(text.format(call.function), f"rank {self._rank}, {call.place}")

    def _note_type(self, call: MpiCall) -> None:
        """Refuse a number that stands for types of several sizes: only one would be right."""
        number = call.numbers["newtype"]
        size = self._types.size(number)
        if self._derived.setdefault(number, size) != size:
            raise self._refused(
                call,
                f"the number {number} refers to datatypes of {self._derived[number]} and later of "
                f"{size} bytes",
            )


def _request(number: int) -> int:
    return _NO_REQUEST if number <= NULL_REQUEST else number + _FIRST_REQUEST
