"""The records of a Paraver trace, sorted by rank."""

from __future__ import annotations

from array import array
from collections import defaultdict
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.collectives import ROOTED, VECTORS
from tisim.traces.importers.communicators import Communicator
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.paraver.labels import (
    CALL_TYPES,
    COMM,
    RECEIVED,
    ROOT,
    SENT,
    Labels,
    read_communicator,
    read_header,
)
from tisim.traces.importers.rank_spool import RankSpool
from tisim.traces.importers.vectors import Records
from tisim.traces.importers.words import collective_word

_RUNNING = 1


class ParaverRecords:
    """Reads a trace once, keeps the rows of each rank, and what collectives need of all ranks.

    Rows are ``e TIME TYPE VALUE ...`` for events, and for messages ``s TIME PEER SIZE TAG`` at the
    sender and ``r TIME PEER SIZE TAG COMPLETED`` at the receiver.

    Parameters
    ----------
    file
        The .prv file.
    counter
        The type of the events of a hardware counter; None: times are used.
    notes
        Takes what is left out.
    """

    def __init__(self, file: Path, labels: Labels, counter: int | None, notes: Notes) -> None:
        self.file = file
        self.spool = RankSpool()
        self._labels = labels
        self._notes = notes
        self._line = 0
        self._kept = {*CALL_TYPES, SENT, RECEIVED, ROOT, COMM, counter or 0}
        #: Until when each rank ran at last.
        self.ran_until: dict[int, int] = {}
        #: The world's rank of the root of each rooted collective of a communicator, in order.
        self.roots: dict[int, array[int]] = defaultdict(lambda: array("i"))
        #: What ranks send and receive in vector collectives, by communicator.
        self.vectors: Records = defaultdict(list)
        self._rooted: dict[tuple[int, int], int] = defaultdict(int)
        # The call that each rank is in, and what is known of it.
        self._name: dict[int, str] = {}
        self._open: dict[int, dict[int, int]] = defaultdict(dict)
        self._members: dict[int, set[int]] = defaultdict(set)
        try:
            self._read()
        except BaseException:
            self.spool.close()
            raise

    def _read(self) -> None:
        with self.file.open(encoding="utf-8", errors="replace") as lines:
            self.header = read_header(next(lines, ""), self.file)
            self._line = 1
            for line in lines:
                self._line += 1
                if not line.endswith("\n"):
                    raise self._error("is cut here")
                if line[0] in "#\n":
                    continue
                try:
                    self._take(line.rstrip("\n").split(":"))
                except (ValueError, IndexError):
                    raise self._error(f"{line.strip()[:60]!r} is no record of Paraver's") from None
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
            self._notes.add(
                "records of global communications, which old traces have, are left out",
                f"line {self._line}",
            )
        else:
            raise ValueError(kind)

    def _rank(self, words: list[str], place: int) -> int | None:
        """The rank of a record; None if it is another thread's."""
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
            self._notes.add("calls of further threads are left out", f"line {self._line}")
            return
        self.spool.add(rank, f"e {time} " + " ".join(f"{type_} {value}" for type_, value in kept))
        self._collective(rank, kept)

    def _collective(self, rank: int, pairs: list[tuple[int, int]]) -> None:
        """Follow the collective that a rank is in up to its end."""
        for type_, value in pairs:
            if type_ in (SENT, RECEIVED, ROOT, COMM):
                self._open[rank][type_] = value
            elif type_ in CALL_TYPES and value:
                self._name[rank] = self._labels.calls.get((type_, value), "")
            elif type_ in CALL_TYPES:
                values = self._open.pop(rank, {})
                if COMM in values:
                    self._end(rank, self._name.get(rank, ""), values)

    def _end(self, rank: int, name: str, values: dict[int, int]) -> None:
        comm = values[COMM]
        self._members[comm].add(rank)
        word = (collective_word(name) or "").removeprefix("i")
        if word in VECTORS:
            self.vectors[rank, comm].append((values.get(SENT, 0), values.get(RECEIVED, 0)))
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
            self._notes.add("messages of further threads are left out", f"line {self._line}")
            return
        self.spool.add(sender, f"s {sent} {receiver} {size} {tag}")
        self.spool.add(receiver, f"r {received} {sender} {size} {tag} {completed}")

    def _complete_communicators(self) -> None:
        """Communicators that no line defines are of the ranks that use them."""
        world = set(range(self.header.ranks))
        for number, members in self._members.items():
            if number in self.header.communicators:
                continue
            if members != world:
                self._notes.add(
                    "a communicator is taken to be of the ranks that call collectives on it, in "
                    "the world's order",
                    f"communicator {number}",
                )
            self.header.communicators[number] = Communicator(tuple(sorted(members)))
