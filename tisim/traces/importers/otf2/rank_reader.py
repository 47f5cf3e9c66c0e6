"""Turns the events of one rank into the lines of its trace."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tisim import _core
from tisim.traces.importers.file_calls import FileCalls
from tisim.traces.importers.format import FormatTrace, RankConverter
from tisim.traces.importers.importer import NO_FINALIZE, ImportOptions, Notes
from tisim.traces.importers.otf2.archive import CallPaths, read_definitions
from tisim.traces.importers.otf2.events import Event, read_records
from tisim.traces.importers.rank_calls import Communicators, RequestNumbers, Slot
from tisim.traces.importers.vectors import VectorSizes
from tisim.traces.importers.words import (
    COLLECTIVES,
    ISENDS,
    ROOTED,
    SENDS,
    VECTORS,
    is_lost,
    uniform_collective,
)
from tisim.traces.program import CallSequence

# OTF2 keeps two numbers of a collective and rank: the bytes sent and the bytes received. What they
# are made of is a convention of the writer; this is Score-P's, in which a rank also sends to itself
# unless the call is in place.


def uniform_size(action: str, sent: int, received: int, size: int, rank: int, is_root: bool) -> int:
    """The bytes that a rank contributes to a collective in which all contribute as much."""
    if action in ("gather", "reduce"):
        if not is_root:
            return sent
        return sent if sent else received // max(size - 1, 1)
    if action in ("bcast", "scatter"):
        if not is_root:
            return received
        return received if received else sent // max(size - 1, 1)
    if action == "scan":
        return received // (rank + 1) if received % (rank + 1) == 0 else received // max(rank, 1)
    if action == "exscan":
        return received // rank if rank else sent // max(size - 1, 1)
    if action == "barrier":
        return 0
    return _part(sent, size)


def own_share(action: str, sent: int, received: int, size: int, is_root: bool) -> int:
    """The bytes of one rank in a collective in which each has its own.

    In a gatherv or scatterv in place the root's own share is not in the record; it moves nowhere.
    """
    if action == "gatherv":
        return sent
    if action == "scatterv":
        return received
    if action == "allgatherv":
        return _part(sent, size)
    return _part(received, size)  # reducescatter


def note_ambiguity(action: str, sent: int, size: int, notes: Notes, place: str) -> None:
    """Note a size that is another one if the call was in place."""
    if action in ("allreduce", "allgather", "alltoall") and size > 1 and sent:
        others = size - 1
        if sent % size == 0 and sent % others == 0 and others > 1:
            notes.add(f"the size of {action} is taken as not in place, which it may be", place)


def _part(total: int, size: int) -> int:
    """The part of each of all ranks, or of each other rank where only that is whole."""
    if total % size == 0 or size < 2 or total % (size - 1):
        return total // size
    return total // (size - 1)


class OpenedTrace(FormatTrace):
    """A trace whose definitions have been read."""

    def __init__(self, anchor: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(anchor, options, notes)
        self.definitions = read_definitions(anchor, options.counter, notes)
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        self.ranks = len(self.definitions.locations)
        self.communicators = Communicators(self.ranks, self.definitions.communicators)
        self.vectors = VectorSizes(
            lambda: read_records(anchor, self.definitions), self.communicators, own_share, notes
        )


#: Notes on events that are in the trace and in no line, by the core's names for them.
LOSSES = {
    "flush": "the time of writing the trace's buffer is left out",
    "measurement": "calls while the measurement was off are not in the trace",
    "rma_put": "MPI_Put is left out",
    "rma_get": "MPI_Get is left out",
    "rma_atomic": "an atomic one-sided call is left out",
    "io": "an access of a file is left out",
    "mrecv": "MPI_Mrecv is left out",
    "cancelled_receive": "a cancelled receive is left out",
    "receive_without_beginning": "a receive whose beginning is not in the trace",
    "collective_without_beginning": "a collective whose beginning is not in the trace",
    "never_completed": "a receive that never completed is left out",
}


class EventReader(RankConverter):
    """Reads the events of one rank in their order."""

    def __init__(
        self, rank: int, trace: OpenedTrace, requests: RequestNumbers | None = None
    ) -> None:
        super().__init__(rank, trace, requests)
        self._definitions = trace.definitions
        self._communicators = trace.communicators
        self._vectors = trace.vectors
        self._number = 0  # of the event, for notes
        # Which one of those with a size for each rank the next collective is; None: the next one.
        self._position: int | None = None
        # The MPI calls that are open, outermost first, and what was completed in them.
        self._open: list[str] = []
        self._completed: list[int] = []
        self._sent_in_call: tuple[int, ...] | None = None
        self._received_in_call: tuple[int, ...] | None = None
        # Where the computation began: ticks, or the counter; None: before MPI_Init.
        self._began: int | None = None
        self._counted = 0
        self._flushed = 0
        self._started_count = 0
        self._ended = False
        self._posted: dict[int, tuple[Slot, int]] = {}
        self._entered = 0
        #: The functions around the calls.
        self.functions = _core.CallTree()

    def lines(self, events: Iterable[Event]) -> Iterator[tuple[str, int]]:
        """Yield the lines of the rank, each with the node of the function that made the call."""
        calls = self._calls
        self._write_head(self._communicators)
        handlers: dict[str, Callable[[int, tuple[int, ...]], None]] = {
            name.removeprefix("_on_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_on_")
        }
        for kind, time, numbers in events:
            self._number += 1
            handler = handlers.get(kind)
            if handler is None and kind in LOSSES:
                self._lose(kind)
            elif handler is not None:
                handler(time, numbers)
                yield from calls.lines.ready_with_sites()
        for request, posted in list(self._posted.items()):
            self._lose("never_completed")
            calls.withdraw(posted, request)
        if not self._ended:
            self._notes.add(NO_FINALIZE, f"rank {self._rank}, at its end")
            calls.lines.site = 0
            calls.action("finalize")
        yield from calls.lines.ready_with_sites()

    def _lose(self, kind: str) -> None:
        self._notes.add(LOSSES[kind], self._place())

    def _place(self) -> str:
        return f"rank {self._rank}, event {self._number}"

    def _on_enter(self, time: int, numbers: tuple[int, ...]) -> None:
        name = self._definitions.calls.get(numbers[0])
        if name is None:
            if not self._open:
                self.functions.enter(numbers[0])
            return
        if not self._open and self._began is not None:
            self._calls.compute(self._volume(time))
        if not self._open:
            self._entered = time
            self._calls.lines.site = self.functions.here
        self._open.append(name)
        if name == "MPI_Finalize":
            self._calls.action("finalize")
            self._ended = True

    def _on_leave(self, time: int, numbers: tuple[int, ...]) -> None:
        name = self._definitions.calls.get(numbers[0])
        if name is None or not self._open:
            if not self._open:
                self.functions.leave(numbers[0])
            return
        self._open.pop()
        if self._open:
            return
        self._write_call(name)
        self._calls.lines.site = 0
        self._keep_call(name, time)
        self._began = None if self._ended else time
        self._started_count = self._counted
        self._flushed = 0

    def _keep_call(self, name: str, time: int) -> None:
        per_second = round(self._definitions.ticks_per_second)
        begin, end = (tick * 10**9 // per_second for tick in (self._entered, time))
        self._keep_times(name.removeprefix("MPI_"), begin, end)

    def _volume(self, time: int) -> float:
        assert self._began is not None
        if self._definitions.counter is not None:
            return self._counted - self._started_count
        ticks = time - self._began - self._flushed
        return self._options.volume_of(max(ticks, 0) / self._definitions.ticks_per_second)

    def _on_metric(self, _time: int, numbers: tuple[int, ...]) -> None:
        wanted = self._definitions.counter
        if wanted is not None and numbers[0] == wanted[0]:
            self._counted = numbers[1 + wanted[1]]

    def _on_flush(self, time: int, numbers: tuple[int, ...]) -> None:
        self._lose("flush")
        self._flushed += numbers[0] - time

    def _comm(self, reference: int) -> int | None:
        if not self._communicators.has(reference, self._rank):
            self._notes.add(
                "a call on a communicator that is unknown, or of other ranks, is left out",
                self._place(),
            )
            return None
        return self._communicators.number(reference)

    def _on_send(self, _time: int, numbers: tuple[int, ...]) -> None:
        call = self._open[-1] if self._open else "MPI_Send"
        if call.startswith("MPI_Sendrecv"):
            self._sent_in_call = numbers
            return
        receiver, comm, tag, nbytes = numbers
        number = self._comm(comm)
        if number is not None:
            self._calls.message(
                SENDS.get(call.removeprefix("MPI_"), "send"), receiver, tag, nbytes, number
            )

    def _on_recv(self, _time: int, numbers: tuple[int, ...]) -> None:
        call = self._open[-1] if self._open else "MPI_Recv"
        if call.startswith("MPI_Sendrecv"):
            self._received_in_call = numbers
            return
        sender, comm, tag, nbytes = numbers
        number = self._comm(comm)
        if number is not None:
            self._calls.message("recv", sender, tag, nbytes, number)

    def _on_isend(self, _time: int, numbers: tuple[int, ...]) -> None:
        receiver, comm, tag, nbytes, request = numbers
        number = self._comm(comm)
        if number is not None:
            call = self._open[-1] if self._open else "MPI_Isend"
            word = ISENDS.get(call.removeprefix("MPI_"), "isend")
            self._calls.post(word, receiver, tag, nbytes, request, number)

    def _on_isend_complete(self, _time: int, numbers: tuple[int, ...]) -> None:
        self._completed.append(numbers[0])

    def _on_irecv_request(self, _time: int, numbers: tuple[int, ...]) -> None:
        self._posted[numbers[0]] = self._calls.post_later(numbers[0])

    def _on_irecv(self, _time: int, numbers: tuple[int, ...]) -> None:
        if self._fill_receive(numbers):
            self._completed.append(numbers[4])

    def _fill_receive(self, numbers: tuple[int, ...]) -> bool:
        """Say what a receive that was posted was; False: it is left out."""
        sender, comm, tag, nbytes, request = numbers
        posted = self._posted.pop(request, None)
        if posted is None:
            self._lose("receive_without_beginning")
            return False
        number = self._comm(comm)
        if number is None:
            self._calls.withdraw(posted, request)
            return False
        self._calls.fill_post(posted, "irecv", sender, tag, nbytes, number)
        return True

    def _on_cancelled(self, _time: int, numbers: tuple[int, ...]) -> None:
        posted = self._posted.pop(numbers[0], None)
        if posted is None:
            # A send, which stands in the trace; the call that found it cancelled is a wait for it.
            self._calls.cancel(numbers[0])
            self._completed.append(numbers[0])
            return
        # Whom it would have received from is not in the trace.
        self._calls.withdraw(posted, numbers[0])
        self._lose("cancelled_receive")

    def _on_probe(self, _time: int, numbers: tuple[int, ...]) -> None:
        number = self._comm(numbers[1])
        if number is not None:
            self._calls.action(f"probe {numbers[0]} {numbers[2]}", number)

    def _on_collective(self, _time: int, numbers: tuple[int, ...]) -> None:
        operation, comm, root, sent, received = numbers
        words = self._collective(operation, comm, root, sent, received, "")
        number = self._communicators.number(comm)
        if words is not None and number is not None:
            self._calls.action(words, number)

    def _on_icollective_request(self, _time: int, numbers: tuple[int, ...]) -> None:
        self._posted[numbers[0]] = self._calls.post_later(numbers[0])

    def _on_icollective(self, _time: int, numbers: tuple[int, ...]) -> None:
        if self._fill_collective(numbers):
            self._completed.append(numbers[5])

    def _fill_collective(self, numbers: tuple[int, ...]) -> bool:
        """Say what a collective that was posted was; False: it is left out."""
        operation, comm, root, sent, received, request = numbers
        posted = self._posted.pop(request, None)
        if posted is None:
            self._lose("collective_without_beginning")
            return False
        words = self._collective(operation, comm, root, sent, received, "i")
        number = self._communicators.number(comm)
        if words is None or number is None:
            self._calls.withdraw(posted, request)
            return False
        self._calls.fill_start(posted, words, number)
        return True

    def _collective(
        self, operation: int, comm: int, root: int, sent: int, received: int, prefix: str
    ) -> str | None:
        """The words of a collective; None if a trace has none for it."""
        name = self._definitions.operations.get(operation, "")
        action = COLLECTIVES.get(name.lower())
        if action is None:
            if not name.startswith(("CREATE", "DESTROY")):
                self._notes.add(f"the collective {name or operation} is left out", self._place())
            return None
        if self._comm(comm) is None:
            return None
        size = self._communicators.size(comm)
        rank = self._communicators.rank_in(comm, self._rank)
        root_rank = root if root < size else 0
        if root >= size and action in ROOTED:
            self._notes.add(
                "a root that is not in its communicator is taken to be its first rank",
                self._place(),
            )
        if action in VECTORS:
            return prefix + self._vectors.words(action, comm, self._rank, root_rank, self._position)
        note_ambiguity(action, sent, size, self._notes, self._place())
        nbytes = uniform_size(action, sent, received, size, rank, rank == root_rank)
        return uniform_collective(prefix + action, nbytes, root_rank)

    def _write_call(self, name: str) -> None:
        """Write what is known only at the end of a call."""
        if self._sent_in_call is not None or self._received_in_call is not None:
            self._write_exchange()
        if self._completed:
            self._calls.complete(self._completed)
            self._completed = []
        elif is_lost(name.removeprefix("MPI_")):
            self._notes.add(f"{name} is left out", self._place())

    def _write_exchange(self) -> None:
        """A trace's sendrecv has no tags: it is written as its halves and a wait, as recorded."""
        halves: list[tuple[str, str]] = []
        for word, half in (("isend", self._sent_in_call), ("irecv", self._received_in_call)):
            if half is None:
                continue
            peer, comm, tag, nbytes = half
            number = self._comm(comm)
            if number is not None:
                halves.append(("exchange", word))
                self._calls.post(word, peer, tag, nbytes, halves[-1], number)
        self._calls.complete(halves)
        self._sent_in_call = self._received_in_call = None


def sited_sequence(
    rank: int, reader: EventReader, events: Iterable[Event], functions: Mapping[int, str]
) -> CallSequence:
    """The lines of a rank, those of each call path once."""
    import numpy as np  # slow to load

    numbers: dict[tuple[str, int], int] = {}
    calls, volumes = array("I"), array("q")
    computation = f"{rank} compute "
    volume = -1
    for line, node in reader.lines(events):
        if line.startswith(computation):
            volume = max(volume, 0) + int(line[len(computation) :])
            continue
        calls.append(numbers.setdefault((line, node), len(numbers)))
        volumes.append(volume)
        volume = -1
    paths = CallPaths(reader.functions.nodes, functions)
    path_of = [paths.number(node) for _, node in numbers]
    return CallSequence(
        [line.rstrip("\n") for line, _ in numbers],
        [[place] for place in range(len(numbers))],
        np.array(calls, np.uint32),
        np.array(volumes, np.int64),
        paths.paths,
        path_of if paths.paths else (),
    )


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


class FileEventReader(EventReader):
    """Reads the events of one rank in their order, those of I/O too.

    An operation inside another one, as the writes of POSIX by which one of MPI-IO is made, is part
    of that.
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
            self._keep_call(word, time)

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
        """The computation of the rank up to here, outside of calls of MPI."""
        if self._began is not None and not self._open:
            self._calls.compute(self._volume(time))
            self._restart(time)

    def _restart(self, time: int) -> None:
        if self._began is not None:
            self._began = time
            self._started_count = self._counted
            self._flushed = 0
