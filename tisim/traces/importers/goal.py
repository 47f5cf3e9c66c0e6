"""GOAL schedules, which LogGOPSim simulates."""

from __future__ import annotations

import heapq
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, RankConverter, only_file
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.importers.rank_calls import ANY_SOURCE, ANY_TAG

SEND, RECEIVE, COMPUTE = 1, 2, 3
#: Any source, or any tag.
ANY = 0xFFFFFFFF


@dataclass(slots=True)
class Operation:
    """One operation."""

    #: `SEND`, `RECEIVE` or `COMPUTE`.
    kind: int
    #: Bytes, or nanoseconds.
    amount: int
    #: Source or destination of a message; may be `ANY`.
    peer: int
    tag: int
    #: Which processor of the rank has the work of it.
    cpu: int
    #: Where it is, for messages: a line, or a number.
    place: str
    #: The operations that may begin when this one has ended, or has begun.
    after_end: list[int] = field(default_factory=list)
    after_start: list[int] = field(default_factory=list)
    #: The operations whose end it still waits for.
    messages: set[int] = field(default_factory=set)
    #: How many it still waits for to begin.
    starts: int = 0
    #: How many of `messages` have begun.
    under_way: int = 0

    @property
    def is_ready(self) -> bool:
        """True if it may begin."""
        return not self.messages and not self.starts

    @property
    def waits_only(self) -> bool:
        """True if nothing but the end of what is under way keeps it from beginning."""
        return 0 < self.under_way == len(self.messages) and not self.starts


def depend(operations: list[Operation], later: int, earlier: int, *, on_start: bool) -> None:
    """Let one operation wait for the end, or the beginning, of another."""
    before, after = operations[earlier], operations[later]
    if on_start:
        before.after_start.append(later)
        after.starts += 1
    elif earlier not in after.messages:
        before.after_end.append(later)
        after.messages.add(earlier)


_RANKS = re.compile(rb"\s*num_ranks\s+(\d+)\s*")
_RANK = re.compile(rb"\s*rank\s+(\d+)\s*\{\s*")
_COMMENT = re.compile(r"/\*.*?\*/|//.*")
# l2: send 8b to 3 tag 42 cpu 0 nic 0
_OPERATION = re.compile(
    r"(?:(?P<label>[A-Za-z]\w*)\s*:)?\s*"
    r"(?:calc\s+(?P<work>\d+)|(?P<kind>send|recv)\s+(?P<size>\d+)\s*b\s+(?P<side>to|from)\s+"
    r"(?P<peer>\d+|-1)(?:\s+tag\s+(?P<tag>\d+|-1))?)"
    r"(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+\d+)?\s*"
)
_DEPENDENCY = re.compile(r"([A-Za-z]\w*)\s+(i?)requires\s+([A-Za-z]\w*)\s*")
_SIDES = {"send": "to", "recv": "from"}


class TextSchedule:
    """A schedule in a text file. Raises InputError if it is none, or ranks are missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Where the operations of each rank begin: the byte, and the line before it.
        self._begins: dict[int, tuple[int, int]] = {}
        self.ranks = self._find_ranks()

    def _find_ranks(self) -> int:
        ranks: int | None = None
        position = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                position += len(line)
                if (rank := _RANK.fullmatch(line)) is not None:
                    if int(rank[1]) in self._begins:
                        raise self._error(f"rank {int(rank[1])} is there twice", number)
                    self._begins[int(rank[1])] = position, number
                elif (count := _RANKS.fullmatch(line)) is not None:
                    ranks = int(count[1])
        if ranks is None:
            raise InputError("has no line num_ranks, as GOAL schedules have", file=self.path)
        missing = next((rank for rank in range(ranks) if rank not in self._begins), None)
        if missing is not None:
            raise InputError(f"has no rank {missing} of its {ranks} ranks", file=self.path)
        if not ranks or len(self._begins) > ranks:
            raise InputError(f"has other ranks than num_ranks {ranks} says", file=self.path)
        return ranks

    def operations(self, rank: int) -> list[Operation]:
        """The operations of a rank in the order of the schedule. Raises InputError if a line is
        none of GOAL's, or names something that is not there.
        """
        made: list[Operation] = []
        labels: dict[str, int] = {}
        for number, line in self._lines(rank):
            if (found := _OPERATION.fullmatch(line)) is not None:
                if found["label"] is not None:
                    if found["label"] in labels:
                        raise self._error(f"the label {found['label']} is there twice", number)
                    labels[found["label"]] = len(made)
                made.append(self._operation(found, number))
            elif (dependency := _DEPENDENCY.fullmatch(line)) is not None:
                later, is_start, earlier = dependency.groups()
                for label in (later, earlier):
                    if label not in labels:
                        raise self._error(f"there is no label {label} above", number)
                depend(made, labels[later], labels[earlier], on_start=bool(is_start))
            else:
                raise self._error(
                    f"{line.strip()[:60]!r} is not a send, recv, calc, requires or irequires of "
                    "GOAL; schedules of LogGOPSim 2 (put, append and so on) are not read",
                    number,
                )
        return made

    def _lines(self, rank: int) -> Iterator[tuple[int, str]]:
        """The lines of a rank with their numbers, without comments."""
        position, number = self._begins[rank]
        with self.path.open("rb") as file:
            file.seek(position)
            for line in file:
                number += 1
                text = line.decode(errors="replace")
                if "/" in text:
                    text = _COMMENT.sub(" ", text)
                text = text.strip()
                if text == "}":
                    return
                if text:
                    yield number, text
        raise self._error(f"ends within rank {rank}", number)

    def _operation(self, found: re.Match[str], number: int) -> Operation:
        cpu = int(found["cpu"] or 0)
        if found["work"] is not None:
            return Operation(COMPUTE, int(found["work"]), 0, 0, cpu, f"line {number}")
        if _SIDES[found["kind"]] != found["side"]:
            raise self._error(f"a {found['kind']} is {_SIDES[found['kind']]} a rank", number)
        kind = SEND if found["kind"] == "send" else RECEIVE
        peer, tag = int(found["peer"]), int(found["tag"] or 0)
        if kind == SEND and peer < 0:
            raise self._error("a send to no rank", number)
        return Operation(
            kind,
            int(found["size"]),
            ANY if peer < 0 else peer,
            ANY if tag < 0 else tag,
            cpu,
            f"line {number}",
        )

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, file=self.path, line=line)


#: The first bytes: a number of eight bytes.
MAGIC = struct.pack("<Q", 4223)
# Ranks, processors and network interfaces; then where each rank begins and ends, from after the
# magic number.
_HEADER = struct.Struct("<IBB")
_SPAN = struct.Struct("<QQ")
_COUNTS = struct.Struct("<II")
# Dependencies, kind, peer, size, tag, processor, interface; how many operations wait for its end
# and where they stand in the list behind the operations, and the same for its beginning.
_NODE = struct.Struct("<IbIQIBBIIII")
_NUMBER = struct.Struct("<I")


class BinarySchedule:
    """A schedule in a binary file. Raises InputError if it is none, or cut."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(len(MAGIC) + _HEADER.size)
            if len(head) < len(MAGIC) + _HEADER.size or not head.startswith(MAGIC):
                raise InputError("is not a binary GOAL schedule", file=path)
            self.ranks, _, _ = _HEADER.unpack_from(head, len(MAGIC))
            if not self.ranks or self.ranks * _SPAN.size > self._size:
                raise InputError(f"is cut: its {self.ranks} ranks are not there", file=path)
            table = file.read(self.ranks * _SPAN.size)
        if len(table) < self.ranks * _SPAN.size:
            raise InputError("is cut within the table of its ranks", file=path)
        self._spans = list(_SPAN.iter_unpack(table))

    def operations(self, rank: int) -> list[Operation]:
        """The operations of a rank in the order of the schedule. Raises InputError if they do not
        have the sizes that the file says.
        """
        data = self._bytes(rank)
        if len(data) < _COUNTS.size:
            raise self._error(rank)
        count, roots = _COUNTS.unpack_from(data)
        first = _COUNTS.size + roots * _NUMBER.size
        behind = first + count * _NODE.size
        if behind > len(data) or (len(data) - behind) % _NUMBER.size:
            raise self._error(rank)
        listed = memoryview(data)[behind:].cast("I")
        made: list[Operation] = []
        lists: list[tuple[int, int, int, int]] = []
        for node in _NODE.iter_unpack(data[first:behind]):
            _, kind, peer, size, tag, cpu, _, *rest = node
            if kind not in (SEND, RECEIVE, COMPUTE):
                raise self._error(rank)
            made.append(Operation(kind, size, peer, tag, cpu, f"operation {len(made)}"))
            lists.append((rest[0], rest[1], rest[2], rest[3]))
        if sum(ends + starts for ends, _, starts, _ in lists) != len(listed):
            raise self._error(rank)
        for earlier, (ends, at_ends, starts, at_starts) in enumerate(lists):
            for number, at, on_start in ((ends, at_ends, False), (starts, at_starts, True)):
                for later in listed[at : at + number]:
                    if later >= count:
                        raise self._error(rank)
                    depend(made, later, earlier, on_start=on_start)
        return made

    def _bytes(self, rank: int) -> bytes:
        begin, end = self._spans[rank]
        if not begin <= end <= self._size - len(MAGIC):
            raise InputError(f"is cut: rank {rank} is not all there", file=self.path)
        with self.path.open("rb") as file:
            file.seek(len(MAGIC) + begin)
            return file.read(end - begin)

    def _error(self, rank: int) -> InputError:
        return InputError(
            f"rank {rank} has other contents than LogGOPSim's txt2bin writes; schedules of "
            "LogGOPSim 2 (put, append and so on) are not read",
            file=self.path,
        )


class CyclicScheduleError(Exception):
    """Operations wait for one another."""


class OperationSequence(RankConverter):
    """Posts what is ready, then computes, then waits for what something needs.

    Messages begin as soon as a schedule lets them, as in LogGOPSim: each is a non-blocking call. An
    operation that depends on a message stands behind a wait for it. Where a schedule leaves open
    which of several waits ends first, a sequence cannot: the first operation of the schedule
    decides, which is noted.
    """

    def __init__(self, rank: int, trace: GoalTrace, operations: list[Operation]) -> None:
        super().__init__(rank, trace)
        self._operations = operations
        # Operations that may begin, messages and computations apart, in the order of the schedule;
        # and those that wait for messages under way, some of which have begun meanwhile.
        self._messages: list[int] = []
        self._computations: list[int] = []
        self._waiting: list[int] = []
        self._under_way: set[int] = set()
        self._left = len(operations)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rank. Raises CyclicScheduleError if operations wait for one
        another.
        """
        self._calls.action("init")
        for number in range(len(self._operations)):
            self._sort(number)
        while self._left:
            if self._messages:
                self._post(heapq.heappop(self._messages))
            elif self._computations:
                self._compute(heapq.heappop(self._computations))
            else:
                self._wait()
            yield from self._calls.ready()
        self._calls.complete(sorted(self._under_way))
        self._calls.action("finalize")
        yield from self._calls.ready()

    def _sort(self, number: int) -> None:
        """Put an operation where it belongs, now that what it waits for has changed."""
        operation = self._operations[number]
        if operation.is_ready:
            is_computation = operation.kind == COMPUTE
            heapq.heappush(self._computations if is_computation else self._messages, number)
        elif operation.waits_only:
            heapq.heappush(self._waiting, number)

    def _post(self, number: int) -> None:
        operation = self._operations[number]
        word = "isend" if operation.kind == SEND else "irecv"
        peer = ANY_SOURCE if operation.peer == ANY else operation.peer
        tag = ANY_TAG if operation.tag == ANY else operation.tag
        self._calls.post(word, peer, tag, operation.amount, number)
        self._under_way.add(number)
        for later in operation.after_end:
            self._operations[later].under_way += 1
            self._sort(later)
        self._begin(operation)

    def _compute(self, number: int) -> None:
        operation = self._operations[number]
        self._begin(operation)
        # Operations that may begin when a computation does, stand before it in a sequence.
        while self._messages:
            self._post(heapq.heappop(self._messages))
        self._calls.compute(self._options.volume_of(operation.amount * 1e-9))
        self._end(number, was_under_way=False)

    def _begin(self, operation: Operation) -> None:
        self._left -= 1
        for later in operation.after_start:
            self._operations[later].starts -= 1
            self._sort(later)

    def _end(self, number: int, *, was_under_way: bool) -> None:
        for later in self._operations[number].after_end:
            after = self._operations[later]
            after.messages.discard(number)
            after.under_way -= was_under_way
            self._sort(later)

    def _wait(self) -> None:
        """Wait for the messages that the first operation that waits for some needs."""
        waiting = self._waiting
        while waiting and not self._operations[waiting[0]].waits_only:
            heapq.heappop(waiting)
        if not waiting:
            raise CyclicScheduleError
        first = self._operations[heapq.heappop(waiting)]
        needed = sorted(first.messages)
        for other in waiting:
            operation = self._operations[other]
            if operation.waits_only and not operation.messages >= first.messages:
                self._notes.add(
                    "which of several messages ends first is open in the schedule; the trace waits "
                    "in its order",
                    f"rank {self._rank}, {first.place}",
                )
                break
        self._calls.complete(needed)
        self._under_way.difference_update(needed)
        for number in needed:
            self._end(number, was_under_way=True)


_BEGINS = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\s+\d+", re.DOTALL)
_MOST_TAG = 2**31 - 1


class GoalImporter(Importer):
    """Reads the schedules that LogGOPSim simulates, as text and binary."""

    name = "goal"
    title = "GOAL schedules, which LogGOPSim simulates"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(MAGIC) or _BEGINS.match(head) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        file = only_file(files, "a GOAL schedule is one file")
        if options.counter is not None:
            raise InputError("GOAL has no hardware counters; use --speed", file=file)
        return GoalTrace(file, options, notes)


class GoalTrace(FormatTrace):
    """The schedule of a file."""

    has_times = False

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(file, options, notes)
        with file.open("rb") as stream:
            is_binary = stream.read(len(MAGIC)) == MAGIC
        self._schedule = BinarySchedule(file) if is_binary else TextSchedule(file)
        self.ranks = self._schedule.ranks

    def lines(self, rank: int) -> Iterator[str]:
        operations = self._schedule.operations(rank)
        self._check(rank, operations)
        try:
            yield from OperationSequence(rank, self, operations).lines()
        except CyclicScheduleError:
            raise InputError(
                f"operations of rank {rank} require one another, so that none can begin",
                file=self.file,
            ) from None

    def _check(self, rank: int, operations: list[Operation]) -> None:
        """Refuse what a sequence of calls cannot say."""
        cpu: int | None = None
        for operation in operations:
            if operation.kind == COMPUTE:
                if cpu is not None and operation.cpu != cpu:
                    raise self._error(
                        rank,
                        operation,
                        f"computes on the processors {cpu} and {operation.cpu} at once, but a rank "
                        "of a trace computes on one",
                    )
                cpu = operation.cpu
                continue
            if operation.peer != ANY and operation.peer >= self.ranks:
                raise self._error(rank, operation, f"there is no rank {operation.peer}")
            if operation.tag != ANY and operation.tag > _MOST_TAG:
                raise self._error(rank, operation, f"the tag {operation.tag} is above 2^31 - 1")

    def _error(self, rank: int, operation: Operation, message: str) -> InputError:
        return InputError(f"rank {rank}, {operation.place}: {message}", file=self.file)
