"""Plans of collective reads and writes: transfers between ranks and aggregators, in rounds."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from tisim.actions.script import Script

#: Tag of the data; the tags of the collectives in between are lower.
TAG = 1 << 19


@dataclass(frozen=True, slots=True)
class Hints:
    """MPI hints for two-phase I/O.

    `cb_nodes`: number of aggregators; 0 for the library's choice. `cb_buffer_size`: bytes of an
    aggregator's buffer; 0 for the library's default. `cb_read`, `cb_write`: ``enable``,
    ``disable`` or ``automatic`` (the library decides).
    """

    cb_nodes: int = 0
    cb_buffer_size: int = 0
    cb_read: str = "automatic"
    cb_write: str = "automatic"


@dataclass(frozen=True, slots=True)
class Striping:
    """Striping of a file over servers.

    `unit`: bytes of a stripe. `count`: servers of the file.
    """

    unit: int
    count: int


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a file that the ranks of a communicator read or write.

    Attributes
    ----------
    offsets, sizes
        Offset and size of each rank's part, in bytes.
    writes
        True for a write.
    placement
        A number per rank that identifies its host.
    hints
        The user's hints.
    striping
        Striping of the file; None if the library has no driver for its file system.
    pieces
        Offsets and sizes of the pieces of each rank's part, if views leave holes; empty if
        each part is one piece.
    """

    offsets: Sequence[int]
    sizes: Sequence[int]
    writes: bool
    placement: Sequence[int]
    hints: Hints
    striping: Striping | None = None
    pieces: Sequence[Sequence[tuple[int, int]]] = ()

    def pieces_of(self, rank: int) -> Sequence[tuple[int, int]]:
        """Offsets and sizes of the pieces of a rank's part."""
        if self.pieces and self.pieces[rank]:
            return self.pieces[rank]
        return ((self.offsets[rank], self.sizes[rank]),)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.sizes)


class Plan(Protocol):
    """The execution of a request by its ranks."""

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        ...


@dataclass(frozen=True, slots=True)
class Independent:
    """Each rank reads or writes its own part."""

    request: Request

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        script.access_own_part()


@dataclass(slots=True)
class Round:
    """The part of one aggregator in one round.

    `begin`, `end` delimit the bytes of the file in its buffer. `pieces`: parts in the buffer as
    (begin, end, rank).
    """

    begin: int = 0
    end: int = 0
    pieces: list[tuple[int, int, int]] = field(default_factory=list)

    def sizes(self) -> list[tuple[int, int]]:
        """Bytes of each rank in the buffer: one message per rank, whatever its pieces."""
        found: dict[int, int] = {}
        for begin, end, rank in self.pieces:
            found[rank] = found.get(rank, 0) + end - begin
        return list(found.items())

    def runs(self) -> list[tuple[int, int]]:
        """Contiguous ranges that the pieces cover: begin and end of each."""
        found: list[tuple[int, int]] = []
        for begin, end, _ in sorted(self.pieces):
            if found and begin <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((begin, end))
        return found


@dataclass(slots=True)
class Rounds:
    """The rounds of all aggregators, and the data of the other ranks in them.

    Attributes
    ----------
    aggregators
        Ranks; several domains may have the same one.
    of_aggregator
        Rounds of each aggregator, by its rank.
    of_rank
        Aggregators and bytes that a rank exchanges in a round, by (rank, round).
    count
        Largest number of rounds of an aggregator.
    pieces
        Number of pieces of each rank in an aggregator's part of the file.
    """

    aggregators: Sequence[int]
    of_aggregator: dict[int, list[Round]] = field(default_factory=dict)
    of_rank: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)
    count: int = 0
    pieces: dict[int, Counter[int]] = field(default_factory=dict)
    _numbers: dict[int, set[int]] = field(default_factory=dict)

    def add(
        self, aggregator: int, rounds: list[Round], pieces: Sequence[tuple[int, int, int]]
    ) -> None:
        """Add the rounds of an aggregator.

        `aggregator` is its rank. `rounds` have their pieces. `pieces`: the pieces of its part of
        the file as (begin, end, rank), before they are cut at rounds.
        """
        self.of_aggregator[aggregator] = rounds
        self.pieces[aggregator] = Counter(rank for _, _, rank in pieces)
        self.count = max(self.count, len(rounds))
        for number, round_ in enumerate(rounds):
            if round_.pieces:
                self._numbers.setdefault(aggregator, set()).add(number)
            for rank, size in round_.sizes():
                self._numbers.setdefault(rank, set()).add(number)
                self.of_rank.setdefault((rank, number), []).append((aggregator, size))

    def numbers(self, rank: int) -> list[int]:
        """Return the rounds in which a rank takes part; with many ranks, few of all rounds."""
        return sorted(self._numbers.get(rank, ()))

    def round_of(self, rank: int, number: int) -> Round | None:
        """Return the part of a rank as an aggregator in a round; None if it has none."""
        rounds = self.of_aggregator.get(rank, ())
        return rounds[number] if number < len(rounds) and rounds[number].pieces else None

    def post(
        self,
        script: Script,
        number: int,
        *,
        writes: bool,
        before_sending: Callable[[], None] = lambda: None,
    ) -> list[int]:
        """Start the messages of a round: to the aggregators if it `writes`, else from them.

        Returns the requests. `before_sending` is called after the receives are posted.
        """
        theirs = self.of_rank.get((script.rank, number), [])
        own = self.round_of(script.rank, number)
        mine = own.sizes() if own else []
        receives, sends = (mine, theirs) if writes else (theirs, mine)
        me = script.rank  # its own data stay in its memory
        requests = [script.irecv(rank, size, TAG) for rank, size in receives if rank != me]
        before_sending()
        requests += [script.isend(rank, size, TAG) for rank, size in sends if rank != me]
        return requests


def fill(rounds: list[Round], pieces: Sequence[tuple[int, int, int]], capacity: int) -> None:
    """Add pieces to rounds of `capacity` bytes of data, cutting them where a round is full."""
    room = 0
    if rounds:
        room = capacity - sum(end - begin for begin, end, _ in rounds[-1].pieces)
    for start, stop, rank in pieces:
        at = start
        while at < stop:
            if room == 0:
                rounds.append(Round())
                room = capacity
            upto = min(stop, at + room)
            rounds[-1].pieces.append((at, upto, rank))
            room -= upto - at
            at = upto


class Parts:
    """All non-empty pieces of a request, sorted by offset.

    `begin` is the first requested byte, `end` is past the last one; both are 0 if there are none.
    """

    def __init__(self, request: Request) -> None:
        found = sorted(
            (offset, offset + size, rank)
            for rank in range(request.size)
            for offset, size in request.pieces_of(rank)
            if size > 0
        )
        self._parts = found
        self._ends = list(accumulate((end for _, end, _ in found), max))
        self.begin = found[0][0] if found else 0
        self.end = self._ends[-1] if found else 0

    def within(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """Return the pieces in the range from `begin` to `end` (exclusive) as (begin, end, rank).

        Pieces are cut at the limits of the range.
        """
        pieces = []
        for at in range(bisect_right(self._ends, begin), len(self._parts)):
            first, last, rank = self._parts[at]
            if first >= end:
                break
            if last > begin:
                pieces.append((max(first, begin), min(last, end), rank))
        return pieces
