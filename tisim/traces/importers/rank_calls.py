"""The calls of one rank as lines of a trace: requests, communicators, lines that wait."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence


class Slot:
    """The place of a line whose text is not known yet."""

    __slots__ = ("line",)

    def __init__(self) -> None:
        self.line: str | None = None


class LineQueue:
    """Keeps lines back behind those that are not known, and no others.

    A non-blocking receive, for instance, is written in many formats where it completes: its source
    and its size are known there only, and its line stands where it was posted.
    """

    def __init__(self) -> None:
        self._lines: deque[str | Slot] = deque()
        #: How many lines have been added or reserved.
        self.count = 0

    def add(self, line: str | Slot) -> None:
        """Append a line, or its place, which gets a text later; an empty one leaves it out."""
        self.count += 1
        self._lines.append(line)

    def ready(self) -> Iterator[str]:
        """Take the lines that stand before the first unknown one."""
        while self._lines:
            head = self._lines[0]
            line = head.line if isinstance(head, Slot) else head
            if line is None:
                return
            self._lines.popleft()
            if line:
                yield line

    def __len__(self) -> int:
        return len(self._lines)


class RequestNumbers:
    """Gives each pending request the smallest free number.

    Numbers that return in a loop keep the trace of the loop small, whatever the other format calls
    its requests.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._free: list[int] = []

    def give(self, request: Hashable) -> int:
        """A number for a new request; one of the same name that is pending is forgotten."""
        if request in self._numbers:
            self.release(request)
        number = heapq.heappop(self._free) if self._free else len(self._numbers)
        self._numbers[request] = number
        return number

    def release(self, request: Hashable) -> int | None:
        """The number of a request that completes, which is free then; None: it is not pending."""
        number = self._numbers.pop(request, None)
        if number is not None:
            heapq.heappush(self._free, number)
        return number

    def number(self, request: Hashable) -> int | None:
        """The number of a pending request; None: it is not pending."""
        return self._numbers.get(request)

    def __iter__(self) -> Iterator[Hashable]:
        """The pending requests, in the order of their calls."""
        return iter(self._numbers)


#: The number of the world among communicators.
WORLD = 0
#: The numbers for any rank or tag, and for no rank.
ANY_SOURCE, ANY_TAG, PROC_NULL = -555, -444, -666
#: A half of a sendrecv: the peer, the tag, the bytes, and the communicator.
Half = tuple[int, int, int, int]


class RankCalls:
    """The lines of one rank: sizes in bytes, ranks within the communicator.

    Parameters
    ----------
    rank
        The rank.
    requests
        Gives requests their numbers; the smallest free ones by default.
    """

    def __init__(self, rank: int, requests: RequestNumbers | None = None) -> None:
        self.rank = rank
        self.lines = LineQueue()
        self._requests = RequestNumbers() if requests is None else requests
        # The computation of the rank since the line before.
        self._volume = 0.0

    def ready(self) -> Iterator[str]:
        """Take the lines that are known, each with its newline."""
        return self.lines.ready()

    def comment(self, text: str) -> None:
        """A comment, which no replay reads."""
        self._add(f"# {text}\n")

    def action(self, words: str, comm: int = WORLD) -> None:
        """An action as the vocabulary of traces spells it, without the rank."""
        self._add(f"{self.rank} {words}{_in(comm)}\n")

    def compute(self, volume: float) -> None:
        """The rank computes; what it computes without a call in between is one line."""
        self._volume += volume

    def message(self, word: str, peer: int, tag: int, nbytes: int, comm: int = WORLD) -> None:
        """A blocking send or receive."""
        self._add(f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)}\n")

    def post(
        self, word: str, peer: int, tag: int, nbytes: int, request: Hashable, comm: int = WORLD
    ) -> None:
        """A non-blocking send or receive, whose request has a name in the other format."""
        number = self._requests.give(request)
        self._add(f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)} request={number}\n")

    def exchange(self, sent: Half | None, received: Half | None) -> None:
        """A sendrecv, whose line has no tags: it is written as its halves and a wait."""
        halves: list[tuple[str, str]] = []
        for word, half in (("isend", sent), ("irecv", received)):
            if half is not None:
                peer, tag, nbytes, comm = half
                halves.append(("exchange", word))
                self.post(word, peer, tag, nbytes, halves[-1], comm)
        self.complete(halves)

    def post_later(self, request: Hashable) -> tuple[Slot, int]:
        """The place of a non-blocking call that `fill_post` completes, and its number."""
        slot = Slot()
        self._write_volume()
        self.lines.add(slot)
        return slot, self._requests.give(request)

    def fill_post(
        self,
        posted: tuple[Slot, int],
        word: str,
        peer: int,
        tag: int,
        nbytes: int,
        comm: int = WORLD,
    ) -> None:
        """Say what a call from `post_later` was."""
        slot, number = posted
        slot.line = f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)} request={number}\n"

    def fill_start(self, posted: tuple[Slot, int], words: str, comm: int = WORLD) -> None:
        """Say what a non-blocking collective from `post_later` was."""
        slot, number = posted
        slot.line = f"{self.rank} {words}{_in(comm)} request={number}\n"

    def start(self, words: str, request: Hashable, comm: int = WORLD) -> None:
        """A non-blocking collective."""
        number = self._requests.give(request)
        self._add(f"{self.rank} {words}{_in(comm)} request={number}\n")

    def complete(self, requests: Sequence[Hashable]) -> None:
        """Wait for requests, in the order given; those that are not pending are left out."""
        released = [self._requests.release(request) for request in requests]
        numbers = [number for number in released if number is not None]
        if len(numbers) == 1:
            self._add(f"{self.rank} wait request={numbers[0]}\n")
        elif numbers:
            self._add(f"{self.rank} waitall requests={','.join(map(str, numbers))}\n")

    def attempt(self, word: str, requests: Sequence[Hashable]) -> None:
        """Test requests, or wait for some of them, where the replay decides which are complete.

        They keep their numbers; those that are not pending are left out.
        """
        numbers = [n for n in map(self._requests.number, requests) if n is not None]
        if word in ("wait", "test") and numbers:
            self._add(f"{self.rank} {word} request={numbers[0]}\n")
        elif numbers:
            self._add(f"{self.rank} {word} requests={','.join(map(str, numbers))}\n")

    def cancel(self, request: Hashable) -> None:
        """Withdraw a request, which is still waited for; one that is not pending is left alone."""
        number = self._requests.number(request)
        if number is not None:
            self._add(f"{self.rank} cancel request={number}\n")

    def free(self, request: Hashable) -> None:
        """Nobody waits for a request, whose message goes on."""
        number = self._requests.release(request)
        if number is not None:
            self._add(f"{self.rank} request_free request={number}\n")

    def withdraw(self, posted: tuple[Slot, int], request: Hashable) -> None:
        """Leave out a call from `post_later` that never completed."""
        posted[0].line = ""
        self._requests.release(request)

    def number_of(self, request: Hashable) -> int | None:
        """The number of a pending request; None: it is not pending."""
        return self._requests.number(request)

    def _add(self, line: str) -> None:
        self._write_volume()
        self.lines.add(line)

    def _write_volume(self) -> None:
        amount = round(self._volume)
        if amount > 0:
            self.lines.add(f"{self.rank} compute {amount}\n")
            self._volume = 0.0


def _in(comm: int) -> str:
    return f" comm={comm}" if comm else ""


#: The ranks of a communicator in their order in it; None: each rank has one of itself alone.
Group = tuple[int, ...] | None


class Communicators:
    """Numbers communicators as a trace does, and declares them by ``comm_split``.

    Communicators that have no rank in common share a number, as those of one split do: a program on
    a process grid of 100 rows needs one number for all rows.
    """

    def __init__(self, ranks: int, known: Mapping[int, Group]) -> None:
        self._world = tuple(range(ranks))
        self._number: dict[int, int] = {}
        # For each number above the world's: the color and the key of each rank that is in one.
        self._splits: list[dict[int, tuple[int, int]]] = []
        self._known = dict(known)
        # The places of ranks in communicators, each made when it is first asked for.
        self._places: dict[int, dict[int, int]] = {}
        for name, members in self._known.items():
            self._number[name] = self._number_for(members)

    def number(self, name: int) -> int | None:
        """The number of a communicator in the trace; None if it was not defined."""
        return self._number.get(name)

    def rank_in(self, name: int, rank: int) -> int:
        """The rank of a rank of the world in a communicator that it belongs to."""
        members = self._known[name]
        return 0 if members is None else self._places_in(name, members)[rank]

    def has(self, name: int, rank: int) -> bool:
        """True if a communicator is known and a rank of the world belongs to it."""
        if name not in self._known:
            return False
        members = self._known[name]
        return members is None or rank in self._places_in(name, members)

    def _places_in(self, name: int, members: tuple[int, ...]) -> dict[int, int]:
        if name not in self._places:
            self._places[name] = {member: place for place, member in enumerate(members)}
        return self._places[name]

    def size(self, name: int) -> int:
        """How many ranks a communicator has."""
        members = self._known[name]
        return 1 if members is None else len(members)

    def members(self, name: int, rank: int) -> tuple[int, ...]:
        """The ranks of the world that are in the communicator of a rank, in their order."""
        members = self._known[name]
        return (rank,) if members is None else members

    def declarations(self, rank: int) -> Iterator[str]:
        """Yield the actions, without the rank, that make the communicators on one rank."""
        for number, split in enumerate(self._splits, WORLD + 1):
            color, key = split.get(rank, (-1, 0))
            yield f"comm_split {WORLD} {number} {color} {key}"

    def _number_for(self, members: Group) -> int:
        if members == self._world:
            return WORLD
        if members is None:
            self._splits.append({rank: (rank, 0) for rank in self._world})
        elif self._splits and not any(rank in self._splits[-1] for rank in members):
            split = self._splits[-1]
            color = 1 + max(color for color, _ in split.values())
            split.update({rank: (color, key) for key, rank in enumerate(members)})
        else:
            self._splits.append({rank: (0, key) for key, rank in enumerate(members)})
        return len(self._splits)
