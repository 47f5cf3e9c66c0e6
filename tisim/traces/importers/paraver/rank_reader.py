"""Turns the records of one rank into the lines of its trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tisim.traces.importers.collectives import ROOTED, VECTORS, uniform_collective
from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import NO_FINALIZE, NO_WAIT, Notes
from tisim.traces.importers.paraver.labels import (
    CALL_TYPES,
    COMM,
    RECEIVED,
    SENT,
    Labels,
)
from tisim.traces.importers.paraver.records import ParaverRecords
from tisim.traces.importers.rank_calls import RankCalls
from tisim.traces.importers.vectors import VectorSizes, extrae_size
from tisim.traces.importers.words import ISENDS, SENDS, collective_word, is_lost

_LEFT_OUT = ("Put", "Get", "Accumulate", "Probe", "Cancel")


@dataclass(slots=True)
class _Message:
    """A message at one of its ends; `completed` is when it was received, or never known."""

    time: int
    peer: int
    nbytes: int
    tag: int
    completed: int | None = None


class RankReader:
    """Reads the records of one rank in their order.

    A message belongs to the call that was under way when it was posted. Which requests a wait has
    completed is not in the format: receives that ended in it, else the oldest that may have.

    Parameters
    ----------
    rank
        The rank.
    records, labels, communicators, vectors
        Of the trace.
    options, notes
        Of the import.
    counter
        The type of the events of the hardware counter that volumes are taken from; None: times.
    """

    def __init__(
        self,
        rank: int,
        records: ParaverRecords,
        labels: Labels,
        communicators: Communicators,
        vectors: VectorSizes,
        options: ImportOptions,
        notes: Notes,
        counter: int | None,
    ) -> None:
        self._rank = rank
        self._records = records
        self._labels = labels
        self._communicators = communicators
        self._vectors = vectors
        self._options = options
        self._notes = notes
        self._counter = counter
        self._calls = RankCalls(rank)
        self._sends: deque[_Message] = deque()
        self._receives: deque[_Message] = deque()
        # Pending requests in the order of their calls, and when each was received, where known.
        self._pending: dict[int, int | None] = {}
        self._requests = 0
        # The call that is open: its name, its beginning, and what is known of a collective.
        self._name = ""
        self._begun: int | None = None
        self._values: dict[int, int] = {}
        self._ended = 0
        self._rooted: dict[int, int] = {}
        # Extrae records MPI_Init and MPI_Finalize, and exports of replays have neither.
        self._has_begun = False
        self._is_finalized = False

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rank."""
        self._read_messages()
        calls = self._calls
        calls.action("init")
        for words in self._communicators.declarations(self._rank):
            calls.action(words)
        for row in self._records.spool.rows(self._rank):
            if row[0] == "e":
                numbers = [int(word) for word in row[2:].split()]
                self._event(numbers[0], list(zip(numbers[1::2], numbers[2::2], strict=True)))
                yield from calls.ready()
        if not self._is_finalized and self._counter is None:
            self._compute(self._records.ran_until.get(self._rank, 0))
        for what, left in (("sent", self._sends), ("received", self._receives)):
            if left:
                place = self._place(left[0].time)
                self._notes.add(f"a message that is {what} in no call", place, len(left))
        if not self._is_finalized:
            if self._has_begun:
                self._notes.add(NO_FINALIZE, f"rank {self._rank}, at its end")
            self._finish(list(self._pending))
            calls.action("finalize")
        yield from calls.ready()

    def _read_messages(self) -> None:
        for row in self._records.spool.rows(self._rank):
            if row[0] == "e":
                continue
            time, peer, nbytes, tag, *rest = (int(word) for word in row[2:].split())
            if row[0] == "s":
                self._sends.append(_Message(time, peer, nbytes, tag))
            else:
                self._receives.append(_Message(time, peer, nbytes, tag, rest[0]))
        # The file has them in the order in which they were sent.
        self._receives = deque(sorted(self._receives, key=lambda message: message.time))

    def _place(self, time: int) -> str:
        return f"rank {self._rank}, {time * self._records.header.unit:.9f} s"

    def _event(self, time: int, pairs: list[tuple[int, int]]) -> None:
        was_open = self._begun is not None
        for type_, value in pairs:
            if type_ == self._counter:
                # What a counter has at the end of a call was counted in it.
                if not was_open:
                    self._calls.compute(value)
            elif type_ not in CALL_TYPES:
                self._values[type_] = value
            elif value:
                self._name = self._labels.calls.get((type_, value), f"call {type_}:{value}")
                self._begun = time
                # What comes before MPI_Init is no part of the run.
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
                self._keep_times(time)
                self._ended = time
                self._begun = None
                self._values = {}

    def _keep_times(self, ended: int) -> None:
        times = self._options.times
        if times is not None and self._begun is not None:
            scale = round(self._records.header.unit * 1e9)
            begin, end = self._begun * scale, ended * scale
            times.add(self._rank, self._name, begin, end, self._calls.lines.count)

    def _compute(self, until: int) -> None:
        if until > self._ended:
            seconds = (until - self._ended) * self._records.header.unit
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
        elif name.startswith((*_LEFT_OUT, "call ")) or name == "Iprobe" or is_lost(name):
            self._notes.add(f"MPI_{name} is left out", self._place(begun))

    def _posted(self, messages: deque[_Message], begun: int, ended: int) -> Iterator[_Message]:
        """Take messages that were posted in a call, one after the other."""
        while messages and messages[0].time <= ended:
            message = messages.popleft()
            if message.time < begun:
                self._notes.add("a message that no call posts", self._place(message.time))
                continue
            if messages and messages[0].time == message.time:
                self._notes.add(
                    "messages that a rank posts at one instant are in the order of the file",
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
        """Wait for what a call may have found complete; failed tests are left out."""
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
                f"which requests MPI_{name} has completed is taken from when messages arrived, and "
                "from their order",
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
        """The rank of the root of the next rooted collective, in the communicator."""
        place = self._rooted.get(comm, 0)
        self._rooted[comm] = place + 1
        roots = self._records.roots[comm]
        root = roots[place] if place < len(roots) else -1
        if root < 0:
            self._notes.add("a collective without a root has rank 0", self._place(begun))
            return 0
        return self._communicators.rank_in(comm, root)
