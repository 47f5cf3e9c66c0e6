"""TAU's native traces: per rank a .trc file of records and an .edf file with names of events."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, RankConverter, need_speed
from tisim.traces.importers.importer import (
    NO_FINALIZE,
    NO_WAIT,
    ForeignTrace,
    Importer,
    ImportOptions,
    Notes,
)
from tisim.traces.importers.rank_calls import Slot
from tisim.traces.importers.words import (
    ISENDS,
    ROOTED,
    SENDS,
    VECTORS,
    all_to_all_of_totals,
    collective_word,
    is_dropped,
    uniform_collective,
    vector_collective,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Event, node, thread, parameter and time in microseconds; old 64-bit systems pad the event.
_FIELDS = (("i4", "u2", "u2", "i8", "u8"), ("i8", "u2", "u2", "u4", "i8", "u8"))
_NAMES = (("ev", "nid", "tid", "par", "ti"), ("ev", "nid", "tid", "padding", "par", "ti"))
# The parameter of a trace's first record, whose event number tau_merge changes.
_INIT_PARAMETER = 3
_EVENT = re.compile(r'(-?\d+) .* (-?\d+) "(.*)" ?(\S*)')
_CALL = re.compile(r"MPI_(\w+)\(\)")
_PART = re.compile(r"tautrace\.(\d+)\.(\d+)\.(\d+)\.trc")
_MESSAGES = {-7: "send", -8: "receive"}
_MESSAGE_SIZES = ("Message size sent to all nodes", "Message size received from all nodes")
_FLUSH = "FLUSH"
# Bits of the size in a message's record.
_SIZE_MASK = (1 << 26) - 1
# Collectives whose size event only the root records.
_OF_ROOT = ("gather", "gatherv", "scatterv")


@dataclass(frozen=True, slots=True)
class _Definition:
    """An event that an import needs: a `call` of MPI by `name`, `flush`, `send`, `receive`, or the
    `size` of a message or collective.
    """

    kind: str
    name: str = ""


def _definitions(file: Path) -> dict[int, _Definition]:
    """Return the events of an .edf file by number."""
    found: dict[int, _Definition] = {}
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read TAU's event names: {error.strerror}", file=file) from None
    lines = text.splitlines()
    if not lines or "dynamic_trace_events" not in lines[0]:
        raise InputError("is not a TAU .edf file", file=file, line=1)
    for number, line in enumerate(lines[1:], 2):
        if not line or line.startswith("#"):
            continue
        event = _EVENT.match(line)
        if event is None:
            raise InputError(f"{line[:60]!r} defines no event", file=file, line=number)
        place, tag, name, kind = int(event[1]), int(event[2]), event[3].strip(), event[4]
        call = _CALL.match(name)
        if kind == "EntryExit" and call is not None:
            found[place] = _Definition("call", call[1])
        elif kind == "EntryExit" and name == _FLUSH:
            found[place] = _Definition("flush")
        elif tag in _MESSAGES:
            found[place] = _Definition(_MESSAGES[tag])
        elif name.startswith("Message size ") and " : " not in name and "in wait" not in name:
            found[place] = _Definition("size", name)
    return found


def _layout(head: bytes) -> np.dtype[np.void] | None:
    """Return the record format of a trace from its first record; None if it is not TAU's."""
    import numpy as np

    for order in "<>":
        for fields, names in zip(_FIELDS, _NAMES, strict=True):
            form = np.dtype([(n, order + f) for n, f in zip(names, fields, strict=True)])
            if len(head) < form.itemsize:
                continue
            first = np.frombuffer(head, form, 1)[0]
            if first["tid"] == 0 and first["par"] == _INIT_PARAMETER:
                return form
    return None


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of one rank, in a separate file or in one of all ranks."""

    file: Path
    edf: Path
    rank: int

    def records(self, notes: Notes) -> tuple[dict[int, _Definition], NDArray[np.void]]:
        """Return the events, and their records on the rank's first thread."""
        import numpy as np

        with self.file.open("rb") as stream:
            form = _layout(stream.read(64))
        if form is None:
            raise InputError("is not a TAU trace", file=self.file)
        size = self.file.stat().st_size
        if size % form.itemsize:
            raise InputError(
                f"is truncated in record {size // form.itemsize + 1:,}", file=self.file
            )
        every = np.memmap(self.file, form, mode="r")
        own = every["nid"] == self.rank
        if (own & (every["tid"] != 0)).any():
            notes.add("calls of additional threads are left out", f"rank {self.rank}")
        events = _definitions(self.edf)
        wanted = own & (every["tid"] == 0) & np.isin(every["ev"], list(events))
        return events, every[wanted]


def _parts(files: Sequence[Path]) -> list[_Part]:
    """Return the files with the records of each rank. Raises InputError if some are missing."""
    import numpy as np

    if len(files) == 1 and (files[0].is_dir() or _PART.fullmatch(files[0].name)):
        directory = files[0] if files[0].is_dir() else files[0].parent
        files = sorted(directory.glob("tautrace.*.trc")) or sorted(directory.glob("*.trc"))
        if not files:
            raise InputError("contains no TAU .trc file", file=directory)
    named = [_PART.fullmatch(file.name) for file in files]
    if len(files) == 1 and named[0] is None:  # of all ranks, from tau_merge
        [file] = files
        with file.open("rb") as stream:
            form = _layout(stream.read(64))
        if form is None:
            raise InputError("is not a TAU trace", file=file)
        count = file.stat().st_size // form.itemsize
        nodes = np.unique(np.memmap(file, form, mode="r", shape=(count,))["nid"])
        parts = [_Part(file, file.with_suffix(".edf"), int(node)) for node in nodes]
    else:
        parts = []
        for file, name in zip(files, named, strict=True):
            if name is None:
                raise InputError("is not named tautrace.RANK.0.0.trc", file=file)
            if name[3] == "0":
                parts.append(_Part(file, file.with_name(f"events.{name[1]}.edf"), int(name[1])))
    parts.sort(key=lambda part: part.rank)
    for rank, part in enumerate(parts):
        if part.rank != rank:
            raise InputError(f"the records of rank {rank} are missing", file=part.file)
    return parts


@dataclass(slots=True)
class _Message:
    """A message at one of its ends; peers are ranks of the world."""

    is_send: bool
    peer: int
    tag: int
    nbytes: int


@dataclass(slots=True)
class _Call:
    """An MPI call with the records in it; times in microseconds."""

    function: str
    begun: int
    ended: int
    messages: list[_Message]
    #: The size of a collective in TAU's accounting; None if this rank has none.
    size: int | None
    #: Microseconds before it that TAU spent writing its records.
    flushed: int


def _message(kind: str, parameter: int, recorded: int | None) -> _Message:
    """Return the message of a record with a size of 26 bits; `recorded` is the full size."""
    bits = parameter & (1 << 64) - 1
    nbytes = (bits >> 32 & 0x3FF) << 16 | bits & 0xFFFF
    if recorded is not None and recorded & _SIZE_MASK == nbytes:
        nbytes = recorded
    tag = (bits >> 48 & 0xFF) << 8 | bits >> 16 & 0xFF
    return _Message(kind == "send", (bits >> 56) << 8 | bits >> 24 & 0xFF, tag, nbytes)


def _calls(part: _Part, notes: Notes) -> Iterator[_Call]:
    """Yield the outermost calls of a rank."""
    events, records = part.records(notes)
    call: _Call | None = None
    depth = 0
    size: int | None = None  # of the next message
    flushed = flush_began = 0
    for event, parameter, time in zip(
        records["ev"].tolist(), records["par"].tolist(), records["ti"].tolist(), strict=True
    ):
        known = events[event]
        if known.kind == "call":
            depth = max(depth + (1 if parameter == 1 else -1), 0)
            if depth == 1 and parameter == 1:
                call, flushed = _Call(known.name, time, time, [], None, flushed), 0
            elif depth == 0 and call is not None:
                call.ended = time
                yield call
                call = None
        elif known.kind == "flush":
            if parameter == 1:
                flush_began = time
            elif call is None:
                flushed += time - flush_began
        elif call is None:
            if known.kind != "size":
                notes.add(
                    "a message outside of calls is left out: TAU stopped recording the function "
                    "(TAU_THROTTLE=0 prevents that)",
                    f"rank {part.rank}, {time} us",
                )
        elif known.kind != "size":
            call.messages.append(_message(known.kind, parameter, size))
            size = None
        elif known.name in _MESSAGE_SIZES:  # TAU writes a zero before and after each value
            size = parameter or size
        else:
            call.size = (call.size or 0) + parameter


@dataclass(slots=True)
class _Collective:
    function: str
    size: int | None
    place: str


class TauRank(RankConverter):
    """Converts the calls of one rank to lines.

    A posted receive does not describe its message, which is known when it is received.
    """

    def __init__(self, rank: int, trace: TauTrace) -> None:
        super().__init__(rank, trace)
        self._trace = trace
        self._requests = 0
        # Posted sends and collectives, and posted receives with their reserved lines.
        self._posted: deque[int] = deque()
        self._receives: deque[tuple[int, tuple[Slot, int]]] = deque()
        self._collectives = 0

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rank."""
        calls = self._calls
        calls.action("init")
        before: int | None = None
        call: _Call | None = None
        for call in _calls(self._trace.parts[self._rank], self._notes):
            if before is not None:
                seconds = max(call.begun - before - call.flushed, 0) * 1e-6
                calls.compute(self._options.volume_of(seconds))
            before = call.ended
            if call.function == "Finalize":
                break
            self._write(call)
            self._keep_times(call.function, call.begun * 1000, call.ended * 1000)
            yield from calls.ready()
        if call is None or call.function != "Finalize":
            self._notes.add(NO_FINALIZE, f"rank {self._rank}, at its end")
        self._end()
        calls.action("finalize")
        if call is not None and call.function == "Finalize":
            self._keep_times(call.function, call.begun * 1000, call.ended * 1000)
        yield from calls.ready()

    def _end(self) -> None:
        place = f"rank {self._rank}, at its end"
        if self._receives:
            text = "a posted receive without a message is left out"
            self._notes.add(text, place, len(self._receives))
        for request, posted in self._receives:
            self._calls.withdraw(posted, request)
        if self._posted:
            self._notes.add(NO_WAIT, place, len(self._posted))
        self._calls.complete(list(self._posted))

    def _place(self, call: _Call) -> str:
        return f"rank {self._rank}, {call.begun} us"

    def _write(self, call: _Call) -> None:
        name, messages = call.function, call.messages
        if name in SENDS or name == "Recv":
            word = SENDS.get(name, "recv")
            for message in messages:
                self._calls.message(word, message.peer, message.tag, message.nbytes)
            if not messages:
                self._notes.add(f"MPI_{name} without a message is left out", self._place(call))
        elif name in ISENDS or name.startswith("Start"):
            for message in messages:
                self._posted.append(self._post(ISENDS.get(name, "isend"), message))
        elif name == "Irecv":
            self._requests += 1
            self._receives.append((self._requests, self._calls.post_later(self._requests)))
        elif name.startswith("Sendrecv"):
            self._calls.complete(
                [self._post("isend" if m.is_send else "irecv", m) for m in messages]
            )
        elif name.startswith(("Wait", "Test")):
            self._wait(call)
        elif (collective := collective_word(name)) is not None:
            self._collective(collective, call)
        elif name.startswith(("Comm_split", "Comm_create", "Cart_", "Graph_", "Dist_graph")):
            self._notes.add(
                f"MPI_{name} is left out: collectives are assumed to involve all ranks",
                self._place(call),
            )
        elif name in ("Probe", "Mprobe", "Cancel") or is_dropped(name):
            self._notes.add(f"MPI_{name} is left out", self._place(call))

    def _post(self, word: str, message: _Message) -> int:
        self._requests += 1
        self._calls.post(word, message.peer, message.tag, message.nbytes, self._requests)
        return self._requests

    def _wait(self, call: _Call) -> None:
        """Wait for the messages received during a call, else for the oldest request."""
        done = []
        for message in call.messages:
            if self._receives:
                request, posted = self._receives.popleft()
                line = ("irecv", message.peer, message.tag, message.nbytes)
                self._calls.fill_post(posted, *line)
                done.append(request)
            else:
                self._notes.add(
                    "a receive started by MPI_Start is posted at its wait",
                    self._place(call),
                )
                done.append(self._post("irecv", message))
        if call.function == "Waitall":
            done += self._posted
            self._posted.clear()
        elif not done and self._posted and call.function.startswith("Wait"):
            done.append(self._posted.popleft())
        if self._posted or self._receives:
            self._notes.add(
                "the requests that a call completed are inferred from their order",
                self._place(call),
            )
        self._calls.complete(done)

    def _collective(self, word: str, call: _Call) -> None:
        sizes = self._trace.sizes(self._collectives)
        self._collectives += 1
        name = word.removeprefix("i")
        roots = [rank for rank, size in enumerate(sizes) if size is not None]
        root = 0
        if name in ROOTED and name in _OF_ROOT and len(roots) == 1:
            root = roots[0]
        elif name in ROOTED:
            text = f"MPI_{call.function} is assumed to have root 0, which is not in the trace"
            self._notes.add(text, self._place(call))
        known = [size or 0 for size in sizes]
        count = len(known)
        if name in VECTORS and name != "reducescatter":
            self._notes.add(
                f"the sizes of MPI_{call.function} are spread evenly: the trace contains only "
                "their sum",
                self._place(call),
            )
        if name == "alltoallv":
            halves = [size // 2 for size in known]
            rows = all_to_all_of_totals(halves, halves)
            sends, gets = rows[self._rank], [row[self._rank] for row in rows]
            words = " ".join(map(str, (word, sum(sends), *sends, sum(gets), *gets)))
        elif name in VECTORS:
            share = max(known) // (1 if name == "reducescatter" else count)
            words = vector_collective(word, [share] * count, self._rank, root)
        else:
            nbytes = max(known) // 2 if name == "alltoall" else max(known)
            words = uniform_collective(word, nbytes, root) or ""
        if word == name:
            self._calls.action(words)
        else:
            self._requests += 1
            self._posted.append(self._requests)
            self._calls.start(words, self._requests)


class TauTrace(FormatTrace):
    """The records of all ranks. Collectives are read first: a rank needs the sizes of others."""

    def __init__(self, parts: list[_Part], options: ImportOptions, notes: Notes) -> None:
        super().__init__(parts[0].file, options, notes)
        need_speed(options, self.file, "TAU's native traces have")
        self.parts = parts
        self.ranks = len(parts)
        unheard = Notes()  # each note recurs with the lines
        self._collectives = [
            [
                _Collective(call.function, call.size, f"{call.begun} us")
                for call in _calls(part, unheard)
                if collective_word(call.function) is not None
            ]
            for part in parts
        ]
        self._check()

    def _check(self) -> None:
        """Refuse collectives of subsets of ranks: the format does not give their communicator."""
        first = self._collectives[0]
        for rank, own in enumerate(self._collectives):
            for place in range(max(len(first), len(own))):
                called = [
                    f"MPI_{one[place].function} (at {one[place].place})"
                    if place < len(one)
                    else "none"
                    for one in (own, first)
                ]
                if called[0].split()[0] != called[1].split()[0]:
                    raise InputError(
                        f"the collective {place + 1} of rank {rank} is {called[0]}, and that of "
                        f"rank 0 {called[1]}: some collectives involve only some ranks, which "
                        "TAU's native traces do not record; record with TAU_TRACE_FORMAT=otf2",
                        file=self.parts[rank].file,
                    )

    def sizes(self, place: int) -> list[int | None]:
        """Return the size of the collective with this index, as recorded by each rank."""
        return [own[place].size for own in self._collectives]

    def lines(self, rank: int) -> Iterator[str]:
        return TauRank(rank, self).lines()


class TauImporter(Importer):
    """Reads directories of tautrace.RANK.0.0.trc and events.RANK.edf, and merged traces."""

    name = "tau"
    title = "TAU's .trc and .edf"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if files[0].is_dir():
            return any(files[0].glob("tautrace.*.trc"))
        return files[0].suffix == ".trc" and _layout(head[:64]) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        return TauTrace(_parts(files), options, notes)
