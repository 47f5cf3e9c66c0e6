"""An OTF2 trace, read one rank after another.

The core collects the calls of a rank while the library reads its events, so no event passes
through Python: the package's own callbacks take 2 us per event. Equal calls share one record.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import _otf2
from _otf2.Config import conf

from tisim import _core
from tisim.errors import InputError
from tisim.traces.importers.file_calls import trace_name
from tisim.traces.importers.format import FormatTrace, RankConverter
from tisim.traces.importers.importer import NO_FINALIZE, ImportOptions, Notes
from tisim.traces.importers.otf2.archive import CallPaths, opened_events, read_definitions
from tisim.traces.importers.rank_calls import Communicators, Half, RequestNumbers
from tisim.traces.importers.vectors import Records, VectorSizes
from tisim.traces.importers.words import (
    COLLECTIVES,
    ISENDS,
    ROOTED,
    SENDS,
    VECTORS,
    is_dropped,
    uniform_collective,
)
from tisim.traces.program import CallSequence

_KINDS = tuple(_core.otf2_record_kinds())
# Batch size for reading events: a Ctrl-C takes effect between two batches.
_BATCH = 1 << 20

# OTF2 stores two numbers per collective and rank: the bytes sent and received. Their meaning is a
# convention of the writer; this is Score-P's, in which a rank also sends to itself unless the call
# is in place.


def uniform_size(action: str, sent: int, received: int, size: int, rank: int, is_root: bool) -> int:
    """Return the bytes that a rank contributes to a collective with equal contributions."""
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
    """Return the bytes of one rank in a collective with a size per rank.

    In an in-place gatherv or scatterv the root's own share is not recorded; it does not move.
    """
    if action == "gatherv":
        return sent
    if action == "scatterv":
        return received
    if action == "allgatherv":
        return _part(sent, size)
    return _part(received, size)  # reducescatter


def note_ambiguity(action: str, sent: int, size: int, notes: Notes, place: str) -> None:
    """Note a size that would be different if the call were in place."""
    if action in ("allreduce", "allgather", "alltoall") and size > 1 and sent:
        others = size - 1
        if sent % size == 0 and sent % others == 0 and others > 1:
            notes.add(f"{action} is assumed not to be in place", place)


def _part(total: int, size: int) -> int:
    """Divide by the number of ranks, or of other ranks if only that division is exact."""
    if total % size == 0 or size < 2 or total % (size - 1):
        return total // size
    return total // (size - 1)


# Notes on events that are in the trace but produce no lines, by the core's names.
_LOSSES = {
    "flush": "the time to flush the trace buffer is left out",
    "measurement": "calls while the measurement was off are not in the trace",
    "rma_put": "MPI_Put is left out",
    "rma_get": "MPI_Get is left out",
    "rma_atomic": "an atomic one-sided call is left out",
    "io": "a file access is left out",
    "io_duplicate": "a copy of a handle is left out, with its accesses",
    "io_cancelled": "a cancelled file access is left out",
    "mrecv": "MPI_Mrecv is left out",
    "cancelled_receive": "a cancelled receive is left out",
    "receive_without_beginning": "a receive whose beginning is not in the trace",
    "collective_without_beginning": "a collective whose beginning is not in the trace",
    "never_completed": "a receive that never completed is left out",
}


class Otf2Trace(FormatTrace):
    """A trace with its definitions read."""

    def __init__(self, anchor: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(anchor, options, notes)
        self.definitions = read_definitions(anchor, options.counter, notes)
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        self.ranks = len(self.definitions.locations)
        self.communicators = Communicators(self.ranks, self.definitions.communicators)
        self.vectors = VectorSizes(self._records, self.communicators, own_share, notes)

    def program(self, rank: int) -> CallSequence:
        return _call_sequence(rank, self._collected(rank), self)

    def lines(self, rank: int) -> Iterator[str]:
        return self.program(rank).expand(rank)

    def _collected(self, rank: int) -> _core.Otf2Calls:
        """Read the events of a rank. Raises InputError if they cannot be read."""
        known = self.definitions
        actions = {
            number: COLLECTIVES.get(name.lower()) for number, name in known.operations.items()
        }
        metric, place = known.counter or (-1, 0)
        calls = _core.Otf2Calls(
            calls=[*known.calls],
            exchanges=_named(known.calls, "MPI_Sendrecv"),
            ends=_named(known.calls, "MPI_Finalize"),
            communicators=[
                name for name in known.communicators if self.communicators.has(name, rank)
            ],
            collectives=[number for number, action in actions.items() if action is not None],
            vectors=[number for number, action in actions.items() if action in VECTORS],
            handles=[*known.files.handles],
            files=[*known.files.names],
            metric=metric,
            metric_place=place,
            keeps_times=self.options.times is not None,
        )
        with opened_events(self.file, known.locations[rank]) as reader:
            _register(reader, calls)
            while _otf2.GlobalEvtReader_ReadEvents(reader, _BATCH) == _BATCH:
                pass
        calls.finish()
        if calls.failed:
            raise InputError(f"the events of rank {rank} do not fit into memory", file=self.file)
        return calls

    def _records(self) -> Records:
        """Return the bytes that each rank sends and receives in each vector collective, by
        communicator; each of them is a separate record.
        """
        found: Records = defaultdict(list)
        names = self.definitions.operations
        for rank in range(self.ranks):
            collected = self._collected(rank)
            placed: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
            for number in range(collected.records):
                for kind, fields in _parts(collected.record(number)):
                    if kind in ("collective", "posted_collective"):
                        operation, comm, _, sent, received, place = fields[:6]
                        if COLLECTIVES.get(names.get(operation, "").lower()) in VECTORS:
                            placed[comm][place] = sent, received
            for comm, records in placed.items():
                found[rank, comm] = [records[place] for place in sorted(records)]
        return found


def _named(calls: Mapping[int, str], beginning: str) -> list[int]:
    return [region for region, name in calls.items() if name.startswith(beginning)]


def _register(reader: object, calls: _core.Otf2Calls) -> None:
    callbacks = _otf2.GlobalEvtReaderCallbacks_New()
    for name, address in _core.otf2_callbacks():
        setter = f"OTF2_GlobalEvtReaderCallbacks_Set{name}Callback"
        try:
            register = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
                (setter, conf.lib)
            )
        except AttributeError:
            continue  # an older library lacks the newest events
        register(callbacks, address)
    set_callbacks = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(("OTF2_GlobalEvtReader_SetCallbacks", conf.lib))
    set_callbacks(reader, callbacks, calls.address)
    _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)


def _parts(record: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    place = 0
    while place < len(record):
        kind, count = _KINDS[record[place]]
        place += 1
        if kind == "completed":
            count = record[place]
            place += 1
        yield kind, tuple(record[place : place + count])
        place += count


# OTF2_IO_ACCESS_MODE_*: read, write, both; others are for directories and programs.
_ACCESS = {0: "r", 1: "w", 2: "rw"}
# Bits of OTF2_IO_CREATION_FLAG_*, OTF2_IO_STATUS_FLAG_* and OTF2_IO_OPERATION_FLAG_*.
_CREATE, _TRUNCATE = 1 << 0, 1 << 1
_APPEND = 1 << 1
_NON_BLOCKING, _COLLECTIVE = 1 << 0, 1 << 1
# The words of OTF2_IO_OPERATION_MODE_*.
_WORDS = ("read", "write", "fsync")


class _PreassignedNumbers(RequestNumbers):
    """Keeps the request numbers that the core assigned."""

    def __init__(self) -> None:
        super().__init__()
        #: Numbers of the halves of an exchange, in order.
        self.exchange: list[int] = []

    def give(self, request: Hashable) -> int:
        if isinstance(request, int):
            return request
        number = self.exchange.pop(0)
        self._numbers[request] = number
        return number

    def release(self, request: Hashable) -> int | None:
        return request if isinstance(request, int) else self._numbers.pop(request)

    def number(self, request: Hashable) -> int | None:
        return request if isinstance(request, int) else self._numbers.get(request)


class _RecordReader(RankConverter):
    """Writes the lines of one record after another; each kind of part has a method."""

    def __init__(self, rank: int, trace: Otf2Trace) -> None:
        self._given = _PreassignedNumbers()
        super().__init__(rank, trace, self._given)
        self._all_notes = trace.notes
        self._notes = Notes()
        self._options = replace(trace.options, times=None)  # the core keeps the times
        self._definitions = trace.definitions
        self._communicators = trace.communicators
        self._vectors = trace.vectors
        self._number = 0  # of the event, for notes
        # The open MPI calls, outermost first, and the requests completed in them.
        self._open: list[str] = []
        self._completed: list[int] = []
        self._sent_in_call: tuple[int, ...] | None = None
        self._received_in_call: tuple[int, ...] | None = None

    def lines_of(self, record: Sequence[int], event: int, times: int) -> list[str]:
        """Return the lines of a record, without newlines. `event` is the number of the event at
        which the record first begins, and `times` the number of calls that it represents.
        """
        self._number = event - 1
        for kind, fields in _parts(record):
            self._number += kind != "called_from"
            getattr(self, f"_on_{kind}")(*fields)
        self._open.clear()
        self._completed.clear()
        for note in self._notes:
            self._all_notes.add(note.text, note.first, note.count * times)
        self._notes.clear()
        return [line.rstrip("\n") for line in self._calls.ready()]

    def _note(self, text: str) -> None:
        self._notes.add(text, f"rank {self._rank}, event {self._number}")

    def _on_nothing(self, *_: int) -> None:
        """Ignore a request that was never completed, or was cancelled."""

    def _on_called_from(self, _node: int) -> None:
        """Ignore the enclosing function; see `_call_sequence`."""

    def _on_enter(self, region: int) -> None:
        name = self._definitions.calls[region]
        self._open.append(name)
        if name == "MPI_Finalize":
            self._calls.action("finalize")

    def _on_leave(self, region: int) -> None:
        self._open.pop()
        if self._open:
            return
        # Facts that are only known at the end of a call.
        if self._sent_in_call is not None or self._received_in_call is not None:
            self._calls.exchange(*map(self._half, (self._sent_in_call, self._received_in_call)))
            self._sent_in_call = self._received_in_call = None
        name = self._definitions.calls[region].removeprefix("MPI_")
        if self._completed:
            self._calls.complete(self._completed)
            self._completed = []
        elif is_dropped(name):
            self._note(f"MPI_{name} is left out")

    def _half(self, message: tuple[int, ...] | None) -> Half | None:
        if message is None:
            return None
        peer, comm, tag, nbytes = message
        number = self._comm(comm)
        return None if number is None else (peer, tag, nbytes, number)

    def _comm(self, reference: int) -> int | None:
        if not self._communicators.has(reference, self._rank):
            self._note("a call on a communicator that is unknown, or of other ranks, is left out")
            return None
        return self._communicators.number(reference)

    def _call(self) -> str:
        """Return the innermost open call, without ``MPI_``."""
        return self._open[-1].removeprefix("MPI_") if self._open else ""

    def _on_send(self, *message: int) -> None:
        if self._call().startswith("Sendrecv"):
            self._sent_in_call = message
        else:
            self._message(SENDS.get(self._call(), "send"), *message)

    def _on_receive(self, *message: int) -> None:
        if self._call().startswith("Sendrecv"):
            self._received_in_call = message
        else:
            self._message("recv", *message)

    def _message(self, word: str, peer: int, comm: int, tag: int, nbytes: int) -> None:
        number = self._comm(comm)
        if number is not None:
            self._calls.message(word, peer, tag, nbytes, number)

    def _on_isend(self, receiver: int, comm: int, tag: int, nbytes: int, request: int) -> None:
        number = self._comm(comm)
        if number is not None:
            word = ISENDS.get(self._call(), "isend")
            self._calls.post(word, receiver, tag, nbytes, request, number)

    def _on_posted_receive(self, sender: int, comm: int, tag: int, nbytes: int, *rest: int) -> None:
        number = self._comm(comm)
        if number is not None:
            self._calls.post("irecv", sender, tag, nbytes, rest[-1], number)

    def _on_exchange(self, *numbers: int) -> None:
        self._given.exchange = [number for number in numbers if number != _core.OTF2_NO_NUMBER]

    def _on_completed(self, *requests: int) -> None:
        self._completed = list(requests)

    def _on_cancel(self, request: int) -> None:
        self._calls.cancel(request)

    def _on_probe(self, source: int, comm: int, tag: int, _nbytes: int) -> None:
        number = self._comm(comm)
        if number is not None:
            self._calls.action(f"probe {source} {tag}", number)

    def _on_collective(self, *fields: int) -> None:
        words, number = self._collective("", *fields), self._communicators.number(fields[1])
        if words is not None and number is not None:
            self._calls.action(words, number)

    def _on_posted_collective(self, *fields: int) -> None:
        words, number = self._collective("i", *fields[:6]), self._communicators.number(fields[1])
        if words is not None and number is not None:
            self._calls.start(words, fields[-1], number)

    def _collective(
        self,
        prefix: str,
        operation: int,
        comm: int,
        root: int,
        sent: int,
        received: int,
        position: int,
    ) -> str | None:
        """Return the words of a collective; None if a trace cannot express it."""
        name = self._definitions.operations.get(operation, "")
        action = COLLECTIVES.get(name.lower())
        if action is None:
            if not name.startswith(("CREATE", "DESTROY")):
                self._note(f"the collective {name or operation} is left out")
            return None
        if self._comm(comm) is None:
            return None
        size = self._communicators.size(comm)
        rank = self._communicators.rank_in(comm, self._rank)
        root_rank = root if root < size else 0
        if root >= size and action in ROOTED:
            self._note("a root outside its communicator is replaced by the first rank")
        if action in VECTORS:
            return prefix + self._vectors.words(action, comm, self._rank, root_rank, position)
        place = f"rank {self._rank}, event {self._number}"
        note_ambiguity(action, sent, size, self._notes, place)
        nbytes = uniform_size(action, sent, received, size, rank, rank == root_rank)
        return uniform_collective(prefix + action, nbytes, root_rank)

    def _on_io_open(self, number: int, handle: int, mode: int, creation: int, status: int) -> None:
        known = self._definitions.files
        flags = _ACCESS[mode]
        for letter, is_set in (
            ("c", creation & _CREATE),
            ("t", creation & _TRUNCATE and "w" in flags),
            ("a", status & _APPEND and "w" in flags),
        ):
            flags += letter if is_set else ""
        name = trace_name(known.names[known.handles[handle]], self._rank)
        self._calls.action(f"open {number} {name} {flags}")

    def _on_io_close(self, number: int) -> None:
        self._calls.action(f"close {number}")

    def _on_io_seek(self, number: int, position: int) -> None:
        self._calls.action(f"lseek {number} {position} set")

    def _on_io_delete(self, file: int) -> None:
        name = trace_name(self._definitions.files.names[file], self._rank)
        self._calls.action(f"unlink {name}")

    def _on_io_access(self, number: int, handle: int, mode: int, flags: int, nbytes: int) -> None:
        if handle in self._definitions.files.standard:
            return
        if number == _core.OTF2_NO_NUMBER:
            self._note("an access to a file that is not opened in the trace is left out")
            return
        word = _access_word(mode)
        if word == "fsync":
            self._calls.action(f"fsync {number}")
            return
        if flags & _NON_BLOCKING:
            self._note("a non-blocking file access is placed where it ends")
        if flags & _COLLECTIVE:
            self._note("a collective file access is replaced by independent accesses of the ranks")
        self._note("OTF2 has no file offsets: accesses are at the positions of their handles")
        self._calls.action(f"{word} {number} {nbytes}")


def _access_word(mode: int) -> str:
    return _WORDS[min(mode, len(_WORDS) - 1)]


def _call_sequence(rank: int, collected: _core.Otf2Calls, trace: Otf2Trace) -> CallSequence:
    """Return the lines of a rank: those of each record once, and the sequence of records."""
    import numpy as np

    definitions, options, notes = trace.definitions, trace.options, trace.notes
    for kind, count, first in collected.losses:
        notes.add(_LOSSES[kind], f"rank {rank}, event {first}", count)
    calls = collected.calls
    counts = np.bincount(calls, minlength=collected.records)
    reader = _RecordReader(rank, trace)
    begin = [
        f"{rank} init",
        *(f"{rank} {words}" for words in trace.communicators.declarations(rank)),
    ]
    lines = [*begin, f"{rank} finalize"]
    paths = CallPaths(collected.call_tree, definitions.functions)
    path_indices = [-1] * len(lines)
    places: list[list[int]] = []
    functions: list[str] = []
    for number in range(collected.records):
        record = collected.record(number)
        spelled = reader.lines_of(record, collected.first_event(number), int(counts[number]))
        places.append(list(range(len(lines), len(lines) + len(spelled))))
        lines += spelled
        (kind, fields), *second = islice(_parts(record), 2)
        node = dict(second).get("called_from", (0,))[0]
        path_indices += [paths.number(node) if spelled else -1] * len(spelled)
        function = definitions.calls[fields[0]].removeprefix("MPI_") if kind == "enter" else ""
        functions.append(_access_word(fields[2]) if kind == "io_access" else function)
    sizes = np.array([len(call) for call in places], np.uint32)
    if not collected.has_ended:
        notes.add(NO_FINALIZE, f"rank {rank}, at its end")
    has_counter = definitions.counter is not None
    speed = 1.0 if has_counter else options.volume_of(1.0)
    volumes = collected.volumes(sizes, definitions.ticks_per_second, speed)
    if options.times is not None:
        per_second = round(definitions.ticks_per_second)
        written = len(begin) + np.cumsum(sizes[calls], dtype=np.int64)
        written += np.cumsum(volumes[:-1] >= 0)
        # A call that did not end has no times.
        rows = (calls, collected.begins, collected.ends, written)
        ticks = zip(*(row.tolist() for row in rows), strict=False)
        for call, *times, line in ticks:
            if functions[call]:
                begun, ended = (tick * 10**9 // per_second for tick in times)
                options.times.add(rank, functions[call], begun, ended, line)
    # Two additional calls: the lines before all others, and the end if it was not recorded.
    first, last = len(places), len(places) + 1
    places += [list(range(len(begin))), [] if collected.has_ended else [len(begin)]]
    if not places[last]:
        volumes[-1] = -1
    return CallSequence(
        lines,
        places,
        np.concatenate(([first], calls, [last])).astype(np.uint32),
        np.concatenate(([-1], volumes)),
        paths.paths,
        path_indices if paths.paths else (),
    )
