"""Paraver traces, which Extrae writes."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import RankConverter, SpooledTrace, only_file
from tisim.traces.importers.importer import (
    NO_FINALIZE,
    NO_WAIT,
    ForeignTrace,
    Importer,
    ImportOptions,
    Notes,
)
from tisim.traces.importers.rank_calls import Communicators, Group
from tisim.traces.importers.vectors import Records, VectorSizes, extrae_share, extrae_size
from tisim.traces.importers.words import (
    ISENDS,
    ROOTED,
    SENDS,
    VECTORS,
    collective_word,
    is_dropped,
    uniform_collective,
)

#: The types of events that are calls: messages, collectives, others, one-sided, files.
CALL_TYPES = range(50000001, 50000006)
#: For a collective: bytes that the rank sends and receives, 1 at the root, the communicator.
SENT, RECEIVED, ROOT, COMM = range(50100001, 50100005)
# Extrae's numbers of calls without a tisim action.
_FURTHER = {
    (50000003, 31): "Init",
    (50000003, 32): "Finalize",
    (50000001, 35): "Rsend",
    (50000001, 38): "Irsend",
    (50000001, 42): "Sendrecv_replace",
    (50000001, 121): "Rsend_init",
    (50000002, 168): "Reduce_scatter_block",
    (50000002, 170): "Alltoallw",
}
_HEADER = re.compile(r"#Paraver \([^)]*\):(\d+)(?:_(ns|us))?:(.*)")
# Two nodes of four processors, then one application of three tasks: 2(4,4):1:3(1:1,1:1,1:2),1
# Older traces have only the number of processors: 4:1:3(1:1,1:2,1:3)
_APPLICATION = re.compile(r"\d+(?:\([\d,]*\))?:(\d+):(\d+)\(([\d:,]*)\)(?:,(\d+))?")
_EVENT_TYPE = re.compile(r"\s*\d+\s+(\d+)\s+(.*\S)")
_VALUE = re.compile(r"\s*(\d+)\s+(.*\S)")
# Writers of Paraver traces put a hardware counter's name in brackets after its description.
_COUNTER = re.compile(r"\((\w+)\)")


@dataclass(slots=True)
class Header:
    """The first lines of a trace."""

    ranks: int
    #: Unit of times in seconds.
    unit: float
    communicators: dict[int, Group] = field(default_factory=dict)


def read_header(line: str, file: Path) -> Header:
    """Parse the header of a trace, without its communicators. Raises InputError if it is not a
    header, or has several applications.
    """
    found = _HEADER.match(line)
    application = None if found is None else _APPLICATION.match(found[3])
    if found is None or application is None:
        raise InputError("lacks the header of a Paraver trace", file=file, line=1)
    if application[1] != "1":
        raise InputError(
            f"has {application[1]} applications; only traces of a single application are supported",
            file=file,
            line=1,
        )
    ranks = int(application[2])
    if ranks != len(application[3].split(",")) or not ranks:
        raise InputError("lists a different number of tasks than it declares", file=file, line=1)
    return Header(ranks, 1e-9 if found[2] == "ns" else 1e-6)


def read_communicator(words: list[str], ranks: int) -> tuple[int, Group]:
    """Parse the number and the ranks of a communicator from a line ``c:1:2:3:1:2:3``; None for
    MPI_COMM_NULL. Raises ValueError for any other line.
    """
    number, count, *members = map(int, words[2:])
    if members == [-1]:
        return number, None  # MPI_COMM_NULL
    if len(members) != count or len(set(members)) != count or not count:
        raise ValueError(words)
    if not all(1 <= member <= ranks for member in members):
        raise ValueError(words)
    return number, tuple(member - 1 for member in members)


class Labels:
    """The names of calls and counters. The .pcf file next to the .prv file may be missing."""

    def __init__(self, trace: Path) -> None:
        from tisim import _core

        # MPI names of calls, without MPI_, by type and value.
        self.calls = _FURTHER | {
            (type_, value): name.removeprefix("MPI_")
            for type_, value, name in _core.paraver_calls()
        }
        #: Types of events, by name of the hardware counter.
        self.counters: dict[str, int] = {}
        labels = trace.with_suffix(".pcf")
        if labels.exists():
            self._read(labels)

    def _read(self, file: Path) -> None:
        types: list[int] = []
        section = ""
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                words = line.split()
                if not words:
                    continue
                if words[0].isupper() and not words[0][0].isdigit():
                    section = words[0]
                    if section == "EVENT_TYPE":
                        types = []
                elif section == "EVENT_TYPE" and (named := _EVENT_TYPE.match(line)) is not None:
                    types.append(int(named[1]))
                    if (counter := _COUNTER.search(named[2])) is not None:
                        self.counters[counter[1]] = int(named[1])
                elif section == "VALUES" and (value := _VALUE.match(line)) is not None:
                    self._name(types, int(value[1]), value[2])

    def _name(self, types: list[int], value: int, name: str) -> None:
        for type_ in types:
            if type_ in CALL_TYPES and value and name.startswith("MPI_"):
                self.calls[type_, value] = name.removeprefix("MPI_")


_RUNNING = 1


class ParaverTrace(SpooledTrace):
    """Reads a trace once; keeps the rows of each rank, and data on collectives from all ranks.

    Rows are ``e TIME TYPE VALUE ...`` for events, and for messages ``s TIME PEER SIZE TAG`` at the
    sender and ``r TIME PEER SIZE TAG COMPLETED`` at the receiver.
    """

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        self.labels = Labels(file)
        #: Event type of the counter that provides volumes; None for times.
        self.counter: int | None = None
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed
        else:
            self.counter = self.labels.counters.get(options.counter)
            if self.counter is None:
                there = ", ".join(self.labels.counters) or "none"
                raise InputError(
                    f"has no hardware counter {options.counter} in its .pcf file: it has {there}",
                    file=file,
                )
        self._line = 0
        self._kept = {*CALL_TYPES, SENT, RECEIVED, ROOT, COMM, self.counter or 0}
        #: End of each rank's last running state.
        self.ran_until: dict[int, int] = {}
        #: The root of each rooted collective of a communicator, in order, as a rank of the world.
        self.roots: dict[int, array[int]] = defaultdict(lambda: array("i"))
        # Numbers of bytes that ranks send and receive in vector collectives, by communicator.
        self._sizes: Records = defaultdict(list)
        self._rooted: dict[tuple[int, int], int] = defaultdict(int)
        # The current call of each rank, and its known values.
        self._name: dict[int, str] = {}
        self._open: dict[int, dict[int, int]] = defaultdict(dict)
        self._members: dict[int, set[int]] = defaultdict(set)
        super().__init__(file, options, notes)
        self.ranks = self.header.ranks
        self.communicators = Communicators(self.ranks, self.header.communicators)
        self.vectors = VectorSizes(lambda: self._sizes, self.communicators, extrae_share, notes)

    def lines(self, rank: int) -> Iterator[str]:
        return ParaverRank(rank, self, partial(self._spool.rows, rank)).lines()

    def _read(self) -> None:
        with self.file.open(encoding="utf-8", errors="replace") as lines:
            self.header = read_header(next(lines, ""), self.file)
            self._line = 1
            for line in lines:
                self._line += 1
                if not line.endswith("\n"):
                    raise self._error("is truncated here")
                if line[0] in "#\n":
                    continue
                try:
                    self._take(line.rstrip("\n").split(":"))
                except (ValueError, IndexError):
                    raise self._error(f"{line.strip()[:60]!r} is not a Paraver record") from None
        self._complete_communicators()

    def _error(self, message: str) -> InputError:
        return InputError(message, file=self.file, line=self._line)

    def _take(self, words: list[str]) -> None:
        kind = words[0]
        if kind == "c":
            number, communicator = read_communicator(words, self.header.ranks)
            if communicator is not None:
                self.header.communicators[number] = communicator
        elif kind == "1":
            rank = self._rank(words, 1)
            if rank is not None and int(words[7]) == _RUNNING:
                self.ran_until[rank] = max(self.ran_until.get(rank, 0), int(words[6]))
        elif kind == "2":
            self._event(words)
        elif kind == "3":
            self._message(words)
        elif kind == "4" and len(words) == 11:
            self.notes.add(
                "records of global communications (in old traces) are left out",
                f"line {self._line}",
            )
        else:
            raise ValueError(kind)

    def _rank(self, words: list[str], place: int) -> int | None:
        """Return the rank of a record; None if it belongs to another thread."""
        application, task, thread = map(int, words[place + 1 : place + 4])
        if application != 1 or not 1 <= task <= self.header.ranks:
            raise ValueError(words)
        return task - 1 if thread == 1 else None

    def _event(self, words: list[str]) -> None:
        rank, time = self._rank(words, 1), int(words[5])
        pairs = [int(word) for word in words[6:]]
        if len(pairs) % 2:
            raise ValueError(words)
        kept = [pair for pair in zip(pairs[::2], pairs[1::2], strict=True) if pair[0] in self._kept]
        if not kept:
            return
        if rank is None:
            self.notes.add("calls of additional threads are left out", f"line {self._line}")
            return
        self._spool.add(rank, f"e {time} " + " ".join(f"{type_} {value}" for type_, value in kept))
        self._collective(rank, kept)

    def _collective(self, rank: int, pairs: list[tuple[int, int]]) -> None:
        """Track the collective of a rank until it ends."""
        for type_, value in pairs:
            if type_ in (SENT, RECEIVED, ROOT, COMM):
                self._open[rank][type_] = value
            elif type_ in CALL_TYPES and value:
                self._name[rank] = self.labels.calls.get((type_, value), "")
            elif type_ in CALL_TYPES:
                values = self._open.pop(rank, {})
                if COMM in values:
                    self._end(rank, self._name.get(rank, ""), values)

    def _end(self, rank: int, name: str, values: dict[int, int]) -> None:
        comm = values[COMM]
        self._members[comm].add(rank)
        word = (collective_word(name) or "").removeprefix("i")
        if word in VECTORS:
            self._sizes[rank, comm].append((values.get(SENT, 0), values.get(RECEIVED, 0)))
        if word in ROOTED:
            place = self._rooted[rank, comm]
            self._rooted[rank, comm] = place + 1
            roots = self.roots[comm]
            if place == len(roots):
                roots.append(-1)
            if values.get(ROOT):
                roots[place] = rank

    def _message(self, words: list[str]) -> None:
        if len(words) != 15:
            raise ValueError(words)
        sender, receiver = self._rank(words, 1), self._rank(words, 7)
        sent, received, completed = int(words[5]), int(words[11]), int(words[12])
        size, tag = int(words[13]), int(words[14])
        if sender is None or receiver is None:
            self.notes.add("messages of additional threads are left out", f"line {self._line}")
            return
        self._spool.add(sender, f"s {sent} {receiver} {size} {tag}")
        self._spool.add(receiver, f"r {received} {sender} {size} {tag} {completed}")

    def _complete_communicators(self) -> None:
        """Define undeclared communicators by the ranks that use them."""
        world = set(range(self.header.ranks))
        for number, members in self._members.items():
            if number in self.header.communicators:
                continue
            if members != world:
                self.notes.add(
                    "a communicator is assumed to consist of the ranks that call collectives on "
                    "it, in the world's order",
                    f"communicator {number}",
                )
            self.header.communicators[number] = tuple(sorted(members))


_LEFT_OUT = ("Put", "Get", "Accumulate", "Probe", "Cancel")


@dataclass(slots=True)
class _Message:
    """A message at one of its ends; `completed` is the time of its receipt, if known."""

    time: int
    peer: int
    nbytes: int
    tag: int
    completed: int | None = None


class ParaverRank(RankConverter):
    """Converts the records of one rank in order.

    A message belongs to the call during which it was posted. The format does not contain the
    requests that a wait completed: receives that ended in it, else the oldest ones.
    """

    def __init__(self, rank: int, trace: ParaverTrace, rows: Callable[[], Iterator[str]]) -> None:
        super().__init__(rank, trace)
        self._rows = rows
        self._roots = trace.roots
        self._unit = trace.header.unit
        self._ran_until = trace.ran_until.get(rank, 0)
        self._labels = trace.labels
        self._communicators = trace.communicators
        self._vectors = trace.vectors
        self._counter = trace.counter
        self._sends: deque[_Message] = deque()
        self._receives: deque[_Message] = deque()
        # Pending requests in order of their calls, with the time of receipt, if known.
        self._pending: dict[int, int | None] = {}
        self._requests = 0
        # The open call: its name, its beginning, and the known values of a collective.
        self._name = ""
        self._begun: int | None = None
        self._values: dict[int, int] = {}
        self._ended = 0
        self._rooted: dict[int, int] = {}
        # Extrae records MPI_Init and MPI_Finalize; exports of replays have neither.
        self._has_begun = False
        self._is_finalized = False

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rank."""
        self._read_messages()
        calls = self._calls
        self._write_head(self._communicators)
        for row in self._rows():
            if row[0] == "e":
                numbers = [int(word) for word in row[2:].split()]
                self._event(numbers[0], list(zip(numbers[1::2], numbers[2::2], strict=True)))
                yield from calls.ready()
        if not self._is_finalized and self._counter is None:
            self._compute(self._ran_until)
        for what, left in (("sent", self._sends), ("received", self._receives)):
            if left:
                place = self._place(left[0].time)
                self._notes.add(f"a message that is {what} outside of calls", place, len(left))
        if not self._is_finalized:
            if self._has_begun:
                self._notes.add(NO_FINALIZE, f"rank {self._rank}, at its end")
            self._finish(list(self._pending))
            calls.action("finalize")
        yield from calls.ready()

    def _read_messages(self) -> None:
        for row in self._rows():
            if row[0] == "e":
                continue
            time, peer, nbytes, tag, *rest = (int(word) for word in row[2:].split())
            if row[0] == "s":
                self._sends.append(_Message(time, peer, nbytes, tag))
            else:
                self._receives.append(_Message(time, peer, nbytes, tag, rest[0]))
        # The file has them in order of sending.
        self._receives = deque(sorted(self._receives, key=lambda message: message.time))

    def _place(self, time: int) -> str:
        return f"rank {self._rank}, {time * self._unit:.9f} s"

    def _event(self, time: int, pairs: list[tuple[int, int]]) -> None:
        was_open = self._begun is not None
        for type_, value in pairs:
            if type_ == self._counter:
                # A counter's value at the end of a call was counted during the call.
                if not was_open:
                    self._calls.compute(value)
            elif type_ not in CALL_TYPES:
                self._values[type_] = value
            elif value:
                self._name = self._labels.calls.get((type_, value), f"call {type_}:{value}")
                self._begun = time
                # Events before MPI_Init are not part of the run.
                if self._counter is None and not self._name.startswith("Init"):
                    self._compute(time)
            elif self._begun is not None and not self._is_finalized:
                begun = self._begun
                self._write(self._name, begun, time)
                if self._name == "Finalize":
                    if self._pending:
                        self._notes.add(NO_WAIT, self._place(begun), len(self._pending))
                    self._finish(list(self._pending))
                    self._calls.action("finalize")
                scale = round(self._unit * 1e9)
                self._keep_times(self._name, begun * scale, time * scale)
                self._ended = time
                self._begun = None
                self._values = {}

    def _compute(self, until: int) -> None:
        if until > self._ended:
            seconds = (until - self._ended) * self._unit
            self._calls.compute(self._options.volume_of(seconds))

    def _write(self, name: str, begun: int, ended: int) -> None:
        sends, receives = self._posted(self._sends, begun, ended), None
        if name not in SENDS and name not in ISENDS:
            receives = self._posted(self._receives, begun, ended)
        if name in SENDS or name == "Recv":
            message = next(sends if name in SENDS else receives or iter(()), None)
            if message is None:
                self._without_message(name, begun)
            else:
                word = SENDS.get(name, "recv")
                self._calls.message(word, message.peer, message.tag, message.nbytes)
        elif name in ISENDS or name == "Irecv":
            message = next(sends if name in ISENDS else receives or iter(()), None)
            if message is None:
                self._without_message(name, begun)
            else:
                self._post(ISENDS.get(name, "irecv"), message)
        elif name.startswith(("Start", "Sendrecv")):
            requests = [self._post("isend", message) for message in sends]
            requests += [self._post("irecv", message) for message in receives or ()]
            if not requests:
                self._without_message(name, begun)
            if name.startswith("Sendrecv"):
                self._finish(requests)
        elif name.startswith(("Wait", "Test")):
            self._wait(name, begun, ended)
        elif collective_word(name) is not None:
            self._collective(name, begun)
        elif name == "Finalize":
            self._is_finalized = True
        elif name.startswith("Init"):
            self._has_begun = True
        elif name.startswith((*_LEFT_OUT, "call ")) or name == "Iprobe" or is_dropped(name):
            self._notes.add(f"MPI_{name} is left out", self._place(begun))

    def _posted(self, messages: deque[_Message], begun: int, ended: int) -> Iterator[_Message]:
        """Yield and remove messages posted during a call."""
        while messages and messages[0].time <= ended:
            message = messages.popleft()
            if message.time < begun:
                self._notes.add("a message posted by no call", self._place(message.time))
                continue
            if messages and messages[0].time == message.time:
                self._notes.add(
                    "messages that a rank posts at the same time are in the order of the file",
                    self._place(message.time),
                )
            yield message

    def _without_message(self, name: str, begun: int) -> None:
        self._notes.add(
            f"MPI_{name} without a message (to no rank, or never matched) is left out",
            self._place(begun),
        )

    def _post(self, word: str, message: _Message) -> int:
        self._requests += 1
        self._calls.post(word, message.peer, message.tag, message.nbytes, self._requests)
        self._pending[self._requests] = message.completed
        return self._requests

    def _finish(self, requests: list[int]) -> None:
        for request in requests:
            del self._pending[request]
        self._calls.complete(requests)

    def _wait(self, name: str, begun: int, ended: int) -> None:
        """Wait for requests that a call may have completed; failed tests are left out."""
        pending = self._pending
        may = [request for request, time in pending.items() if time is None or time <= ended]
        received = [request for request in may if (pending[request] or 0) >= max(begun, 1)]
        if name == "Waitall":
            found = may
        elif name in ("Waitsome", "Testall", "Testsome"):
            found = received
        else:
            found = received[:1]
        if not found and name.startswith("Wait"):
            found = may[:1]
        if found and len(found) < len(pending):
            self._notes.add(
                f"which requests MPI_{name} completed is inferred from the arrival times of "
                "messages and their order",
                self._place(begun),
            )
        self._finish(found)

    def _collective(self, name: str, begun: int) -> None:
        word, values = collective_word(name) or "", self._values
        comm = values.get(COMM)
        number = None if comm is None else self._communicators.number(comm)
        if comm is None or number is None:
            self._notes.add(
                f"MPI_{name} without its sizes and communicator is left out", self._place(begun)
            )
            return
        blocking = word.removeprefix("i")
        root = self._root(comm, begun) if blocking in ROOTED else 0
        if blocking in VECTORS:
            words: str | None = self._vectors.words(word, comm, self._rank, root)
        else:
            nbytes = extrae_size(blocking, values.get(SENT, 0), values.get(RECEIVED, 0))
            words = uniform_collective(word, nbytes, root)
        if word == blocking:
            self._calls.action(words or "", number)
        else:
            self._requests += 1
            self._pending[self._requests] = None
            self._calls.start(words or "", self._requests, number)

    def _root(self, comm: int, begun: int) -> int:
        """Return the root of the next rooted collective, as a rank in the communicator."""
        place = self._rooted.get(comm, 0)
        self._rooted[comm] = place + 1
        roots = self._roots[comm]
        root = roots[place] if place < len(roots) else -1
        if root < 0:
            self._notes.add("a collective without a root uses rank 0", self._place(begun))
            return 0
        return self._communicators.rank_in(comm, root)


_BEGINS = b"#Paraver "


class ParaverImporter(Importer):
    """Reads .prv files, with the labels of the .pcf file next to them."""

    name = "paraver"
    title = "Paraver's .prv, which Extrae writes"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(_BEGINS)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        file = only_file(files, "a Paraver trace must be one .prv file")
        return ParaverTrace(file, options, notes)
