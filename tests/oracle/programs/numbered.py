"""Random programs whose requests have numbers (``request=N``), by which alone they are named.

Waits may then go out of order among equal keys, and be for any of the pending requests together.
"""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.programs.collective_calls import CollectiveAuthor
from tests.oracle.programs.program import Message, Request, Word


class NumberedAuthor(CollectiveAuthor):
    """As its base, with a number for each request; free numbers are used again."""

    #: Waits for one or some of several requests.
    some_waits: tuple[str, ...] = ("waitany", "waitsome")

    def remember(self, message: Message, rank: int, key: tuple[Word, Word, int]) -> None:
        taken = {request.number for request in self.pending[rank]}
        number = next(n for n in range(len(taken) + 1) if n not in taken)
        line = self.lines[-1]
        self.lines[-1] = replace(line, words=(*line.words, f"request={number}"))
        super().remember(message, rank, key)
        self.pending[rank][-1].number = number

    def wait(self) -> None:
        rank = self.any_rank()
        if met := [request for request in self.pending[rank] if request.met]:
            request = self.rng.choice(met)
            self.pending[rank].remove(request)
            self.write_for(rank, request, "wait")

    def test(self) -> None:
        rank = self.any_rank()
        if self.pending[rank]:
            request = self.rng.choice(self.pending[rank])
            self.pause(request.event, rank)
            self.write_for(rank, request, "test")

    def waitall(self) -> None:
        rank = self.any_rank()
        met = [request for request in self.pending[rank] if request.met]
        if not met or self.rng.random() < 0.2:
            super().waitall()
            return
        some = self.rng.sample(met, self.rng.randint(1, len(met)))
        self.new_event()
        if self.rng.random() < 0.4:
            # Whatever is complete afterwards, all of them may be named again.
            self.pause(self.event, rank)
            self.write_list(rank, self.rng.choice(self.some_waits), some)
            return
        self.write_list(rank, "waitall", some)
        for request in some:
            self.pending[rank].remove(request)

    def write_for(self, rank: int, request: Request, word: str) -> None:
        self.event, event = request.event, self.event
        self.write(rank, word, f"request={request.number}")
        self.event = event

    def write_list(self, rank: int, word: str, requests: list[Request]) -> None:
        numbers = ",".join(str(request.number) for request in requests)
        self.write(rank, word, f"requests={numbers}")
