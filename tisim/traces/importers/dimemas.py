"""Dimemas traces."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import RankConverter, SpooledTrace, need_speed, only_file
from tisim.traces.importers.importer import NO_WAIT, ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.importers.rank_calls import (
    ANY_SOURCE,
    ANY_TAG,
    WORLD,
    Communicators,
    Group,
)
from tisim.traces.importers.vectors import Records, VectorSizes, extrae_share, extrae_size
from tisim.traces.importers.words import ROOTED, VECTORS, uniform_collective

#: The collectives, by Dimemas's numbers.
OPERATIONS = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "reduce", "allreduce", "reducescatter", "scan"),
)
# The mode of a send: bit 1 means synchronous, bit 2 immediate.
_IMMEDIATE = 2
_SENDS = ("send", "ssend", "isend", "issend")
_RECEIVE, _IMMEDIATE_RECEIVE, _WAIT = range(3)


class DimemasRank(RankConverter):
    """Converts the records of one task in order."""

    def __init__(self, rank: int, trace: DimemasTrace) -> None:
        super().__init__(rank, trace)
        self._communicators = trace.communicators
        self._vectors = trace.vectors
        # Pending receives by the fields that their waits repeat; pending sends, without waits.
        self._receives: dict[tuple[str, ...], deque[int]] = defaultdict(deque)
        self._sends: list[int] = []
        self._requests = 0
        self._line = ""
        self._first_send = ""

    def lines(self, rows: Iterable[str]) -> Iterator[str]:
        """Yield the lines of the rank. Raises InputError if a record is not in Dimemas's format."""
        calls = self._calls
        self._write_head(self._communicators)
        for row in rows:
            self._line, kind, *fields = row.split()
            try:
                self._write(kind, fields)
            except (ValueError, IndexError, KeyError):
                raise InputError(
                    f"a record of kind {kind} has unexpected fields",
                    file=self._file,
                    line=int(self._line),
                ) from None
            yield from calls.ready()
        if self._sends:
            place = f"task {self._rank}, line {self._first_send}"
            self._notes.add(
                "an immediate send, for which the format has no wait, is waited for at the end",
                place,
                len(self._sends),
            )
        calls.complete(self._sends)
        left = [request for requests in self._receives.values() for request in requests]
        if left:
            place = f"task {self._rank}, line {self._line}"
            self._notes.add(NO_WAIT, place, len(left))
        calls.complete(sorted(left))
        calls.action("finalize")
        yield from calls.ready()

    def _write(self, kind: str, fields: list[str]) -> None:
        if kind == "1":
            self._calls.compute(self._options.volume_of(float(fields[0])))
        elif kind == "10":
            self._collective([int(field) for field in fields])
        else:
            # Newer traces also give the peer's thread.
            if len(fields) not in (5, 6):
                raise ValueError(fields)
            peer, (nbytes, tag, comm, mode) = fields[0], fields[-4:]
            self._message(kind == "2", int(peer), int(nbytes), int(tag), int(comm), int(mode))

    def _message(
        self, is_send: bool, peer: int, nbytes: int, tag: int, comm: int, mode: int
    ) -> None:
        number = self._communicators.number(comm)
        if number is None:
            number = WORLD
            if comm:
                self._notes.add(
                    "a message on an undefined communicator is assigned to the world",
                    f"line {self._line}",
                )
        elif number != WORLD and peer >= 0:
            peer = self._communicators.rank_in(comm, peer)
        peer = ANY_SOURCE if peer < 0 else peer
        tag = ANY_TAG if tag < 0 else tag
        key = (str(peer), str(tag), str(nbytes), str(number))
        if is_send:
            if mode & _IMMEDIATE:
                self._requests += 1
                self._first_send = self._first_send or self._line
                self._sends.append(self._requests)
                self._calls.post(_SENDS[mode], peer, tag, nbytes, self._requests, number)
            else:
                self._calls.message(_SENDS[mode], peer, tag, nbytes, number)
        elif mode == _RECEIVE:
            self._calls.message("recv", peer, tag, nbytes, number)
        elif mode == _IMMEDIATE_RECEIVE:
            self._requests += 1
            self._receives[key].append(self._requests)
            self._calls.post("irecv", peer, tag, nbytes, self._requests, number)
        elif mode != _WAIT:
            raise ValueError(mode)
        elif self._receives[key]:
            self._calls.complete([self._receives[key].popleft()])
        else:
            self._notes.add(
                "a wait for a receive that is not pending is left out", f"line {self._line}"
            )

    def _collective(self, fields: list[int]) -> None:
        operation, comm, root, _, sent, received = fields[:6]
        word = OPERATIONS[operation]
        number = self._communicators.number(comm)
        if number is None:
            raise InputError(
                f"the communicator {comm} is not defined", file=self._file, line=int(self._line)
            )
        members = self._communicators.members(comm, self._rank)
        if root not in members and word in ROOTED:
            self._notes.add(
                "a root outside its communicator is replaced by the first rank",
                f"line {self._line}",
            )
        root = members.index(root) if root in members else 0
        if word in VECTORS:
            words: str | None = self._vectors.words(word, comm, self._rank, root)
        else:
            words = uniform_collective(word, extrae_size(word, sent, received), root)
        self._calls.action(words or "", number)


_BEGINS = b"#DIMEMAS:"
# #DIMEMAS:"name":1,0000123:4(1,1,1,1),2
_HEADER = re.compile(r"#DIMEMAS:.*:\d+(?:,\d+)?:(\d+)\(([\d,]*)\)(?:,\d+)?\s*")
_RECORDS = frozenset({"1", "2", "3", "10"})
_IGNORED = frozenset({"20", "s"})


class DimemasImporter(Importer):
    """Reads .dim files: computations, messages and collectives of each task."""

    name = "dimemas"
    title = "Dimemas's .dim, which Extrae and prv2dim write"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(_BEGINS)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        file = only_file(files, "a Dimemas trace must be one .dim file")
        need_speed(options, file, "Dimemas has")
        return DimemasTrace(file, options, notes)


class DimemasTrace(SpooledTrace):
    """The records of a trace, by task."""

    has_times = False

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        self._known: dict[int, Group] = {}
        # Numbers of bytes that ranks send and receive in vector collectives, by communicator.
        self._sizes: Records = defaultdict(list)
        super().__init__(file, options, notes)
        self.communicators = Communicators(self.ranks, self._known)
        self.vectors = VectorSizes(lambda: self._sizes, self.communicators, extrae_share, notes)

    def _read(self) -> None:
        number = 1
        with self.file.open(encoding="utf-8", errors="replace") as lines:
            header = _HEADER.fullmatch(next(lines, ""))
            if header is None or int(header[1]) != len(header[2].split(",")):
                raise InputError("lacks the header of a Dimemas trace", file=self.file, line=1)
            self.ranks = int(header[1])
            for number, line in enumerate(lines, 2):
                words = line.rstrip().split(":")
                if words == [""]:
                    continue
                try:
                    if not line.endswith("\n"):
                        raise ValueError(line)
                    self._take(words, number)
                except (ValueError, IndexError):
                    raise InputError(
                        f"{line.strip()[:60]!r} is not a Dimemas record",
                        file=self.file,
                        line=number,
                    ) from None

    def _take(self, words: list[str], number: int) -> None:
        if words[0] == "d":
            if words[1] == "1":
                comm, count, *members = map(int, words[2:])
                if count != len(members) or not set(members) <= set(range(self.ranks)):
                    raise ValueError(words)
                self._known[comm] = tuple(members)
            return
        if words[0] in _IGNORED:
            return
        task, thread = int(words[1]), int(words[2])
        if not 0 <= task < self.ranks:
            raise ValueError(words)
        if words[0] not in _RECORDS:
            self.notes.add(f"records of kind {words[0]} are left out", f"line {number}")
        elif thread:
            self.notes.add("records of additional threads are left out", f"line {number}")
        else:
            if words[0] == "10":
                operation, comm, _, _, sent, received = map(int, words[3:9])
                if not 0 <= operation < len(OPERATIONS):
                    raise ValueError(words)
                if OPERATIONS[operation] in VECTORS:
                    self._sizes[task, comm].append((sent, received))
            self._spool.add(task, f"{number} " + " ".join([words[0], *words[3:]]))

    def lines(self, rank: int) -> Iterator[str]:
        return DimemasRank(rank, self).lines(self._spool.rows(rank))
