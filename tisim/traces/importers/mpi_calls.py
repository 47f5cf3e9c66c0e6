"""MPI calls with all their arguments, as DUMPI, liballprof and Pilgrim record them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, RankConverter
from tisim.traces.importers.importer import NO_FINALIZE, ImportOptions, Notes
from tisim.traces.importers.rank_calls import (
    ANY_SOURCE,
    ANY_TAG,
    PROC_NULL,
    WORLD,
    RequestNumbers,
)
from tisim.traces.importers.words import INITS, ISENDS, SENDS, is_query, uniform_collective


@dataclass(slots=True)
class MpiCall:
    """One call of one rank."""

    #: Its name without ``MPI_``.
    function: str
    #: Its place in the file, for messages.
    place: str
    #: Nanoseconds; both are 0 if the trace has no times.
    start: int
    end: int
    #: The value of each hardware counter before and after the call.
    counters: tuple[tuple[int, int], ...] = ()
    #: Scalar fields, by their names in MPI.
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[int]] = field(default_factory=dict)
    #: The source of each status.
    sources: list[int] = field(default_factory=list)
    #: True if the trace contains the requests that a test or a wait for some completed.
    outcome_known: bool = True


class Datatypes:
    """The sizes of one rank's datatypes."""

    def __init__(self, known: Mapping[int, int]) -> None:
        self._size = dict(known)

    def size(self, number: int) -> int | None:
        """Return the bytes of one element; None if the type is unknown."""
        return self._size.get(number)

    def learn(self, call: MpiCall) -> None:
        """Record the size of a type that a call creates or queries."""
        numbers = call.numbers
        if call.function == "Type_size":
            self._size[numbers["datatype"]] = numbers["size"]
        elif "newtype" in numbers:
            size = self._made(call)
            if size is not None:
                self._size[numbers["newtype"]] = size

    def _made(self, call: MpiCall) -> int | None:
        numbers, lists = call.numbers, call.lists
        if call.function in ("Type_struct", "Type_create_struct"):
            lengths = lists.get("lengths", lists.get("blocklengths", []))
            sizes = [self.size(number) for number in lists.get("oldtypes", [])]
            if len(sizes) != len(lengths) or None in sizes:
                return None
            pairs = zip(lengths, sizes, strict=True)
            return sum(length * size for length, size in pairs if size is not None)
        size = self.size(numbers.get("oldtype", numbers.get("datatype", -1)))
        if size is None:
            return None
        elements = 1
        if call.function == "Type_contiguous":
            elements = numbers["count"]
        elif "blocklength" in numbers:
            elements = numbers["count"] * numbers["blocklength"]
        elif "lengths" in lists or "blocklengths" in lists:
            elements = sum(lists.get("lengths", lists.get("blocklengths", [])))
        elif call.function == "Type_create_subarray":
            for length in lists.get("subsizes", []):
                elements *= length
        return size * elements


#: The predefined handles, in DUMPI's numbering.
NULL, WORLD_HANDLE, SELF_HANDLE = 1, 2, 3
# The creations that led to a communicator: the third one derived from the world's first is (0, 2).
_Path = tuple[int, ...]


class CreationNumbers:
    """Numbers communicators by their history, consistently over all ranks.

    Handles are local to a rank. But the members of a communicator derive new ones from it in the
    same order, so the path of creations is the same on all of them.
    """

    def __init__(self) -> None:
        self._number: dict[_Path, int] = {(): WORLD}

    def number(self, path: _Path) -> int:
        """Return the number of a path; a new path gets the next number."""
        return self._number.setdefault(path, len(self._number))


class RankCommunicators:
    """The communicators of one rank, by handle."""

    def __init__(self, numbers: CreationNumbers) -> None:
        self._numbers = numbers
        self._path: dict[int, _Path] = {WORLD_HANDLE: ()}
        self._made: dict[_Path, int] = {}

    def number(self, handle: int) -> int | None:
        """Return the number of a communicator; None if the handle is unknown."""
        path = self._path.get(handle)
        return None if path is None else self._numbers.number(path)

    def make(self, parent: int, handle: int) -> tuple[int, int] | None:
        """Derive a communicator; return the numbers of the parent and of the new one, or None if
        the parent is unknown.
        """
        path = self._path.get(parent)
        if path is None:
            return None
        place = self._made.get(path, 0)
        self._made[path] = place + 1
        child = (*path, place)
        if handle != NULL:
            self._path[handle] = child
        return self._numbers.number(path), self._numbers.number(child)

    def free(self, handle: int) -> int | None:
        """Remove a communicator; return its number, or None if the handle is unknown."""
        path = self._path.pop(handle, None)
        return None if path is None else self._numbers.number(path)


class CallTrace(FormatTrace):
    """A trace with a file of calls for each rank."""

    def __init__(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> None:
        super().__init__(files[0], options, notes)
        self.files = files
        self.ranks = len(files)
        self.numbers = CreationNumbers()


_UNIFORM_CALLS = frozenset({"Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan"})
_CREATES = {"Cart_create", "Dist_graph_create_adjacent"}
_REFUSED = {"Comm_spawn", "Comm_spawn_multiple", "Intercomm_create", "Comm_accept", "Comm_connect"}
# The null request, and the numbers of any source and any tag.
_NULL_REQUEST, _ANY = 1, -1


class CallReader(RankConverter):
    """Converts the calls of one rank in order. Handles and special ranks use DUMPI's numbering;
    `counter` is the index of the selected counter among a call's.
    """

    def __init__(
        self,
        rank: int,
        trace: FormatTrace,
        file: Path,
        types: Datatypes,
        numbers: CreationNumbers,
        *,
        counter: int | None = None,
        requests: RequestNumbers | None = None,
    ) -> None:
        super().__init__(rank, trace, requests)
        self._file = file
        self._types = types
        self._comms = RankCommunicators(numbers)
        self._counter = counter
        # End of the previous call: nanoseconds, or the counter; None before MPI_Init.
        self._ended: int | None = None
        self._persistent: dict[int, tuple[str, int, int, int, int]] = {}
        self._call = MpiCall("", "", 0, 0)

    def lines(self, calls: Iterable[MpiCall]) -> Iterator[str]:
        """Yield the lines of the rank."""
        self._calls.action("init")
        for call in calls:
            self._call = call
            self._compute()
            if call.function == "Finalize":
                break
            self._write()
            self._keep_call()
            yield from self._calls.ready()
        else:
            self._notes.add(NO_FINALIZE, f"rank {self._rank}, at its end")
        self._calls.action("finalize")
        if self._call.function == "Finalize":
            self._keep_call()
        yield from self._calls.ready()

    def lines_of(self, call: MpiCall) -> list[str]:
        """Return the lines of a single call, each with its newline."""
        self._call = call
        self._write()
        return list(self._calls.ready())

    def _keep_call(self) -> None:
        call = self._call
        self._keep_times(call.function, call.start, max(call.end, call.start))

    def _place(self) -> str:
        return f"rank {self._rank}, {self._call.place}"

    def _error(self, message: str) -> InputError:
        return InputError(f"{self._call.place}: {message}", file=self._file)

    def _compute(self) -> None:
        """Write the rank's computation before this call."""
        call = self._call
        if self._counter is None:
            start, end = call.start, call.end
            if not start and not end:
                raise self._error("a call without times; DUMPI was configured to record none")
        else:
            if self._counter >= len(call.counters):
                raise self._error("a call without hardware counters")
            start, end = call.counters[self._counter]
        if self._ended is not None and start < self._ended:
            self._notes.add(
                "a call that begins before the previous one ends is placed right after it",
                self._place(),
            )
        if self._ended is not None and start > self._ended:
            amount = start - self._ended
            seconds = amount / 1e9
            is_time = self._counter is None
            self._calls.compute(self._options.volume_of(seconds) if is_time else amount)
        if self._ended is not None or call.function in ("Init", "Init_thread"):
            self._ended = end

    def _write(self) -> None:
        try:
            self._write_call(self._call)
        except KeyError as missing:
            function = self._call.function
            raise self._error(f"MPI_{function} lacks its argument {missing}") from None

    def _write_call(self, call: MpiCall) -> None:
        function = call.function
        if function in SENDS:
            self._calls.message(SENDS[function], *self._message("dest"))
        elif function == "Recv":
            self._calls.message("recv", *self._message("source"))
        elif function in ISENDS:
            self._post(ISENDS[function], "dest")
        elif function == "Irecv":
            self._post("irecv", "source")
        elif function in INITS:
            side = "source" if function == "Recv_init" else "dest"
            peer, tag, nbytes, comm = self._message(side)
            self._persistent[call.numbers["request"]] = (INITS[function], peer, tag, nbytes, comm)
        elif function in ("Start", "Startall"):
            self._start()
        elif function.startswith(("Wait", "Test")) and "status" not in function:
            self._complete()
        elif function.startswith("Sendrecv"):
            self._exchange()
        elif function == "Probe" or (function == "Iprobe" and call.numbers["flag"]):
            peer, tag = self._peer("source"), self._tag("tag")
            self._calls.action(f"probe {peer} {tag}", self._comm())
        elif function.startswith("Type_"):
            self._types.learn(call)
        elif function.startswith("Comm_") or function in _CREATES:
            self._communicator()
        elif function == "Cancel":
            self._calls.cancel(call.numbers["request"])
        elif function == "Request_free":
            self._calls.free(call.numbers["request"])
        elif function in _REFUSED or function in ("Cart_sub", "Intercomm_merge", "Graph_create"):
            raise self._error(
                f"MPI_{function}: the members of the new communicator are not in the trace"
            )
        else:
            self._collective()

    def _comm(self) -> int:
        number = self._comms.number(self._call.numbers["comm"])
        if number is None:
            raise self._error(
                f"MPI_{self._call.function} on a communicator that no call in the trace created"
            )
        return number

    def _size(self, field: str) -> int:
        number = self._call.numbers[field]
        size = self._types.size(number)
        if size is None:
            self._notes.add("a datatype of unknown size counts as one byte", self._place())
            return 1
        return size

    def _bytes(self, count: str = "count", datatype: str = "datatype") -> int:
        return max(self._call.numbers[count], 0) * self._size(datatype)

    def _peer(self, field: str) -> int:
        peer = self._call.numbers[field]
        if peer >= 0:
            return peer
        return ANY_SOURCE if field == "source" and peer == _ANY else PROC_NULL

    def _tag(self, field: str) -> int:
        tag = self._call.numbers[field]
        return ANY_TAG if tag == _ANY else tag

    def _message(self, side: str) -> tuple[int, int, int, int]:
        return self._peer(side), self._tag("tag"), self._bytes(), self._comm()

    def _post(self, word: str, side: str) -> None:
        peer, tag, nbytes, comm = self._message(side)
        self._calls.post(word, peer, tag, nbytes, self._call.numbers["request"], comm)

    def _start(self) -> None:
        requests = self._call.lists.get("requests") or [self._call.numbers["request"]]
        for request in requests:
            made = self._persistent.get(request)
            if made is None:
                raise self._error(f"starts the request {request}, which no call created")
            word, peer, tag, nbytes, comm = made
            self._calls.post(word, peer, tag, nbytes, request, comm)

    def _complete(self) -> None:
        """Complete the requests that a wait or test found complete; failed tests are left out."""
        call = self._call
        numbers, lists = call.numbers, call.lists
        function = call.function
        if function.startswith("Test") and not numbers.get("flag", 1):
            return
        if "request" in numbers:
            requests = [numbers["request"]]
        elif not call.outcome_known:
            requests = lists.get("requests", [])
        elif function.endswith("any"):
            index = numbers["index"]
            requests = lists["requests"][index : index + 1] if index >= 0 else []
        elif function.endswith("some"):
            requests = [
                lists["requests"][index]
                for index in lists.get("indices", [])
                if 0 <= index < len(lists["requests"])
            ]
        else:
            requests = lists.get("requests", [])
        if not call.outcome_known:
            self._notes.add(
                f"MPI_{function} lacks the completed requests: the replay decides",
                self._place(),
            )
            self._calls.attempt(function.lower(), requests)
            return
        self._calls.complete([request for request in requests if request != _NULL_REQUEST])

    def _exchange(self) -> None:
        replaces = self._call.function.endswith("replace")
        comm = self._comm()
        sent = self._bytes() if replaces else self._bytes("sendcount", "sendtype")
        received = sent if replaces else self._bytes("recvcount", "recvtype")
        self._calls.exchange(
            (self._peer("dest"), self._tag("sendtag"), sent, comm),
            (self._peer("source"), self._tag("recvtag"), received, comm),
        )

    def _communicator(self) -> None:
        call = self._call
        numbers = call.numbers
        if call.function == "Comm_free":
            number = self._comms.free(numbers["comm"])
            if number is not None:
                self._calls.action(f"comm_free {number}")
            return
        if "newcomm" not in numbers:
            return
        made = self._comms.make(numbers["oldcomm"], numbers["newcomm"])
        if made is None:
            raise self._error(f"MPI_{call.function} of a communicator that no call created")
        parent, number = made
        if call.function == "Comm_dup":
            self._calls.action(f"comm_dup {parent} {number}")
            return
        color, key = 0, 0
        if call.function == "Comm_split":
            color, key = numbers["color"], numbers["key"]
        else:
            self._notes.add(
                f"the rank order of MPI_{call.function} is assumed to be the parent's",
                self._place(),
            )
        if numbers["newcomm"] == NULL:
            color = -1
        self._calls.action(f"comm_split {parent} {number} {color} {key}")

    def _collective(self) -> None:
        call = self._call
        function = call.function
        root = call.numbers.get("root", 0)
        if function in _UNIFORM_CALLS:
            nbytes = 0 if function == "Barrier" else self._bytes()
            words = uniform_collective(function.lower(), nbytes, root)
            self._calls.action(words or "", self._comm())
            return
        if function in ("Gather", "Allgather", "Alltoall"):
            nbytes = self._bytes("sendcount", "sendtype")
            words = uniform_collective(function.lower(), nbytes, root)
        elif function == "Scatter":
            words = uniform_collective("scatter", self._bytes("recvcount", "recvtype"), root)
        elif function in ("Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Reduce_scatter"):
            words = self._vector()
        else:
            if not is_query(function):
                self._notes.add(f"MPI_{function} is left out", self._place())
            return
        if words is not None:
            self._calls.action(words, self._comm())

    def _vector(self) -> str:
        """Format a collective with a size for each rank, without the leading rank."""
        call = self._call
        function = call.function
        size = call.numbers["commsize"]
        rank = call.numbers.get("commrank", self._rank)

        def listed(field: str, datatype: str) -> str:
            counts = call.lists.get(field, [])
            if len(counts) != size:
                # Ranks other than the root have none.
                if call.numbers.get("root", rank) == rank:
                    self._notes.add(
                        f"the sizes of MPI_{function} are missing and count as 0", self._place()
                    )
                counts = [0] * size
            element = self._size(datatype) if datatype in call.numbers else 1
            return " ".join(str(count * element) for count in counts)

        if function == "Reduce_scatter":
            return f"reducescatter {listed('recvcounts', 'datatype')} 0"
        if function == "Allgatherv":
            sent = self._bytes("sendcount", "sendtype")
            return f"allgatherv {sent} {listed('recvcounts', 'recvtype')}"
        if function == "Gatherv":
            sent = self._bytes("sendcount", "sendtype")
            return f"gatherv {sent} {listed('recvcounts', 'recvtype')} {call.numbers['root']}"
        if function == "Scatterv":
            received = self._bytes("recvcount", "recvtype")
            return f"scatterv {listed('sendcounts', 'sendtype')} {received} {call.numbers['root']}"
        sends, gets = listed("sendcounts", "sendtype"), listed("recvcounts", "recvtype")
        totals = [sum(map(int, part.split())) for part in (sends, gets)]
        return f"alltoallv {totals[0]} {sends} {totals[1]} {gets}"
