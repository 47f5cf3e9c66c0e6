"""The calls of one rank as lines of a trace: requests, communicators, deferred lines."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence


class Slot:
    """The place of a line whose text is not yet known."""

    __slots__ = ("line",)

    def __init__(self) -> None:
        self.line: str | None = None


class LineQueue:
    """Holds back only the lines that follow one with unknown text.

    For example, many formats record a non-blocking receive at its completion: its source and size
    are known only there, but its line belongs where it was posted.
    """

    def __init__(self) -> None:
        self._lines: deque[str | Slot] = deque()
        #: Number of lines added or reserved.
        self.count = 0

    def add(self, line: str | Slot) -> None:
        """Append a line, or a slot whose text is set later; an empty text omits the line."""
        self.count += 1
        self._lines.append(line)

    def ready(self) -> Iterator[str]:
        """Yield and remove the lines before the first unknown one."""
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

    Numbers that recur in a loop keep the loop's trace small, whatever the other format's request
    names.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._free: list[int] = []

    def give(self, request: Hashable) -> int:
        """Return a number for a new request; a pending one of the same name is released."""
        if request in self._numbers:
            self.release(request)
        number = heapq.heappop(self._free) if self._free else len(self._numbers)
        self._numbers[request] = number
        return number

    def release(self, request: Hashable) -> int | None:
        """Return and free the number of a completed request; None if it is not pending."""
        number = self._numbers.pop(request, None)
        if number is not None:
            heapq.heappush(self._free, number)
        return number

    def number(self, request: Hashable) -> int | None:
        """Return the number of a pending request; None if it is not pending."""
        return self._numbers.get(request)

    def __iter__(self) -> Iterator[Hashable]:
        """Iterate over the pending requests, in order of their calls."""
        return iter(self._numbers)


#: The number of the world communicator.
WORLD = 0
#: The numbers for any rank or tag, and for no rank.
ANY_SOURCE, ANY_TAG, PROC_NULL = -555, -444, -666
#: A half of a sendrecv: the peer, the tag, the bytes and the communicator.
Half = tuple[int, int, int, int]


class RankCalls:
    """The lines of one rank: sizes in bytes, ranks within the communicator.

    Parameters
    ----------
    rank
        The rank.
    requests
        Assigns the numbers of requests; the smallest free ones by default.
    """

    def __init__(self, rank: int, requests: RequestNumbers | None = None) -> None:
        self.rank = rank
        self.lines = LineQueue()
        self._requests = RequestNumbers() if requests is None else requests
        # Computation of the rank since the previous line.
        self._volume = 0.0

    def ready(self) -> Iterator[str]:
        """Yield and remove the known lines, each with its newline."""
        return self.lines.ready()

    def comment(self, text: str) -> None:
        """Add a comment, which replays ignore."""
        self._add(f"# {text}\n")

    def action(self, words: str, comm: int = WORLD) -> None:
        """Add an action in the trace vocabulary, without the rank."""
        self._add(f"{self.rank} {words}{_in(comm)}\n")

    def compute(self, volume: float) -> None:
        """Add computation; computations without a call in between share one line."""
        self._volume += volume

    def message(self, word: str, peer: int, tag: int, nbytes: int, comm: int = WORLD) -> None:
        """Add a blocking send or receive."""
        self._add(f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)}\n")

    def post(
        self, word: str, peer: int, tag: int, nbytes: int, request: Hashable, comm: int = WORLD
    ) -> None:
        """Add a non-blocking send or receive with its request's name in the other format."""
        number = self._requests.give(request)
        self._add(f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)} request={number}\n")

    def exchange(self, sent: Half | None, received: Half | None) -> None:
        """Add a sendrecv as its halves and a wait, since a sendrecv line has no tags."""
        halves: list[tuple[str, str]] = []
        for word, half in (("isend", sent), ("irecv", received)):
            if half is not None:
                peer, tag, nbytes, comm = half
                halves.append(("exchange", word))
                self.post(word, peer, tag, nbytes, halves[-1], comm)
        self.complete(halves)

    def post_later(self, request: Hashable) -> tuple[Slot, int]:
        """Reserve the line of a non-blocking call, for `fill_post`; return it with its number."""
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
        """Set the line of a call reserved by `post_later`."""
        slot, number = posted
        slot.line = f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)} request={number}\n"

    def fill_start(self, posted: tuple[Slot, int], words: str, comm: int = WORLD) -> None:
        """Set the line of a non-blocking collective reserved by `post_later`."""
        slot, number = posted
        slot.line = f"{self.rank} {words}{_in(comm)} request={number}\n"

    def start(self, words: str, request: Hashable, comm: int = WORLD) -> None:
        """Add a non-blocking collective."""
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
        """Test requests, or wait for some of them; the replay decides which are complete.

        They keep their numbers; those that are not pending are left out.
        """
        numbers = [n for n in map(self._requests.number, requests) if n is not None]
        if word in ("wait", "test") and numbers:
            self._add(f"{self.rank} {word} request={numbers[0]}\n")
        elif numbers:
            self._add(f"{self.rank} {word} requests={','.join(map(str, numbers))}\n")

    def cancel(self, request: Hashable) -> None:
        """Cancel a request, which must still be waited for; does nothing if it is not pending."""
        number = self._requests.number(request)
        if number is not None:
            self._add(f"{self.rank} cancel request={number}\n")

    def free(self, request: Hashable) -> None:
        """Free a request, which is not waited for; its message continues."""
        number = self._requests.release(request)
        if number is not None:
            self._add(f"{self.rank} request_free request={number}\n")

    def withdraw(self, posted: tuple[Slot, int], request: Hashable) -> None:
        """Omit the line of a call from `post_later` that never completed."""
        posted[0].line = ""
        self._requests.release(request)

    def number_of(self, request: Hashable) -> int | None:
        """Return the number of a pending request; None if it is not pending."""
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


#: The ranks of a communicator in order; None if each rank has one of its own.
Group = tuple[int, ...] | None


class Communicators:
    """Numbers communicators as in a trace, and declares them by ``comm_split``.

    Disjoint communicators share a number, like those of one split: a program on a process grid of
    100 rows needs one number for all rows.
    """

    def __init__(self, ranks: int, known: Mapping[int, Group]) -> None:
        self._world = tuple(range(ranks))
        self._number: dict[int, int] = {}
        # For each number above the world's: the color and key of each member rank.
        self._splits: list[dict[int, tuple[int, int]]] = []
        self._known = dict(known)
        # The rank in each communicator by rank of the world, computed on first use.
        self._places: dict[int, dict[int, int]] = {}
        for name, members in self._known.items():
            self._number[name] = self._number_for(members)

    def number(self, name: int) -> int | None:
        """Return the number of a communicator in the trace; None if it was not defined."""
        return self._number.get(name)

    def rank_in(self, name: int, rank: int) -> int:
        """Return the rank in a communicator of a member, given as a rank of the world."""
        members = self._known[name]
        return 0 if members is None else self._places_in(name, members)[rank]

    def has(self, name: int, rank: int) -> bool:
        """Return whether a communicator is known and contains a rank of the world."""
        if name not in self._known:
            return False
        members = self._known[name]
        return members is None or rank in self._places_in(name, members)

    def _places_in(self, name: int, members: tuple[int, ...]) -> dict[int, int]:
        if name not in self._places:
            self._places[name] = {member: place for place, member in enumerate(members)}
        return self._places[name]

    def size(self, name: int) -> int:
        """Return the number of ranks of a communicator."""
        members = self._known[name]
        return 1 if members is None else len(members)

    def members(self, name: int, rank: int) -> tuple[int, ...]:
        """Return the members of a rank's communicator, as ranks of the world, in order."""
        members = self._known[name]
        return (rank,) if members is None else members

    def declarations(self, rank: int) -> Iterator[str]:
        """Yield the actions, without the rank, that create the communicators on one rank."""
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
