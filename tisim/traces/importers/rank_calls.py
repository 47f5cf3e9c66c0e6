"""Spells the MPI calls of one rank as lines of a trace."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from tisim.traces.importers.line_queue import LineQueue, Slot
from tisim.traces.importers.requests import RequestNumbers

#: The number of the world among communicators.
WORLD = 0
#: What stands for no particular rank or tag, and for no rank.
ANY_SOURCE, ANY_TAG, PROC_NULL = -555, -444, -666


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
        # What the rank has computed since the line before.
        self._volume = 0.0
        # Requests whose call was not recorded; their completion means nothing.
        self.unknown_completions = 0

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

    def post_later(self, request: Hashable) -> tuple[Slot, int]:
        """The place of a non-blocking call that `fill_post` completes, and its number."""
        self._write_volume()
        return self.lines.reserve(), self._requests.give(request)

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
        line = f"{self.rank} {word} {peer} {tag} {nbytes}{_in(comm)} request={number}\n"
        self.lines.fill(slot, line)

    def fill_start(self, posted: tuple[Slot, int], words: str, comm: int = WORLD) -> None:
        """Say what a non-blocking collective from `post_later` was."""
        slot, number = posted
        self.lines.fill(slot, f"{self.rank} {words}{_in(comm)} request={number}\n")

    def start(self, words: str, request: Hashable, comm: int = WORLD) -> None:
        """A non-blocking collective."""
        number = self._requests.give(request)
        self._add(f"{self.rank} {words}{_in(comm)} request={number}\n")

    def complete(self, requests: Sequence[Hashable]) -> None:
        """Wait for requests, in the order given; those that are not pending are left out."""
        numbers = []
        for request in requests:
            number = self._requests.release(request)
            if number is None:
                self.unknown_completions += 1
            else:
                numbers.append(number)
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
        self.lines.fill(posted[0], "")
        self._requests.release(request)

    def number_of(self, request: Hashable) -> int | None:
        """The number of a pending request; None: it is not pending."""
        return self._requests.number(request)

    def is_pending(self, request: Hashable) -> bool:
        """Whether a request was made and is not complete."""
        return request in self._requests

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
