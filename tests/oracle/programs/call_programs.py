"""Random programs with calls beyond SimGrid's replay, or requests identified only by number."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.oracle.cases import Case, keep_to_simgrid, place
from tests.oracle.platforms.families import FAMILIES, draw_platform
from tests.oracle.programs.collective_calls import CollectiveAuthor
from tests.oracle.programs.communicators import Request
from tests.oracle.programs.configs import draw_config, thresholds
from tests.oracle.programs.program import Message, Program, Sizes, Word
from tests.oracle.programs.program import Request as Pending
from tests.oracle.programs.request_author import RequestAuthor

#: Methods of an author that write a few lines, with weights, by the character of a program.
Moves = dict[str, list[tuple[Callable[[], None], float]]]


class CallAuthor(RequestAuthor):
    """An author that mixes calls of all kinds."""

    def moves(self) -> Moves:
        """Return the methods used by programs of each character, with weights."""
        return {
            "communicators": [(self.split, 2), (self.duplicate, 0.5), (self.free, 0.5)],
            "collectives": [(self.blocking, 3)],
            "nonblocking": [(self.nonblocking, 4)],
            "messages": [(self.message, 8), (self.answer, 4)],
            "probes": [(self.message, 2), (self.answer, 2), (self.iprobe, 3)],
            "persistent": [(self.prepare, 1), (self.start, 4)],
            "tests": [(self.test, 5)],
            "several": [(self.several, 4)],
        }

    def compose(self, steps: int) -> str:
        """Write a program of a random character and return the character's name."""
        moves = self.moves()
        kinds = [kind for kind in moves if self.rng.random() < 0.5] or ["communicators"]
        chosen = [(self.compute, 2.0), (self.sleep, 0.3), (self.wait, 4.0)]
        chosen += [move for kind in kinds for move in moves[kind]]
        for move in self.rng.choices([m for m, _ in chosen], [w for _, w in chosen], k=steps):
            move()
        while self.open:
            self.answer()
        return " ".join(kinds)


class GivingUpAuthor(CallAuthor):
    """An author that cancels and frees requests, as far as SimGrid supports it.

    SimGrid 3.32 can cancel a receive or send that is not matched; canceling a matched one fails
    the simulation. A freed request whose message is not buffered never completes there, which is
    a deadlock.
    """

    #: Requests that nothing will match, each with its rank.
    in_vain: list[tuple[int, Request]]

    def moves(self) -> Moves:
        given_up = [(self.begin_in_vain, 4.0), (self.give_up, 4.0), (self.send_and_free, 3.0)]
        return {**super().moves(), "given up": [*given_up, (self.message, 4.0), (self.test, 1.0)]}

    def compose(self, steps: int) -> str:
        self.in_vain = []
        kinds = super().compose(steps)
        while self.in_vain:
            self.give_up()
        return kinds

    def begin_in_vain(self) -> None:
        """Start a receive or synchronous send that nothing will match."""
        group = self.any_group()
        src, dst = self.ends(group)
        count, kind = self.sizes.draw(self.default_width)
        event, tag = self.new_event(), self.next_tag()
        sends = self.rng.random() < 0.5
        rank = group.members[src if sends else dst]
        word, peer = ("issend", dst) if sends else ("irecv", src)
        self.put(event, rank, word, peer, tag, count, *kind, *group.words)
        request = self.add_request(event, rank, (src, dst, tag), group)
        request.matched = False
        self.in_vain.append((rank, request))

    def give_up(self) -> None:
        """Cancel such a request and wait for it."""
        if not self.in_vain:
            return
        rank, request = self.in_vain.pop(self.rng.randrange(len(self.in_vain)))
        self.requests[rank].remove(request)
        for word in ("cancel", "wait"):
            self.put(request.event, rank, word, *request.key, *request.comm)

    def send_and_free(self) -> None:
        """Send a buffered message whose request is freed immediately."""
        group = self.any_group()
        src, dst = self.ends(group)
        if src == dst:
            return
        count, kind = self.sizes.draw(self.default_width)
        event, tag = self.new_event(), self.next_tag()
        sender, receiver = group.members[src], group.members[dst]
        self.put(event, sender, "ibsend", dst, tag, count, *kind, *group.words)
        self.put(event, sender, "request_free", src, dst, tag, *group.words)
        self.put(event, receiver, "recv", src, tag, count, *kind, *group.words)


def draw_calls(
    seed: int,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    selectors: Sequence[str] = ("default",),
    author: type[CallAuthor] = CallAuthor,
) -> Case:
    """Draw the case of a seed."""
    rng = random.Random(seed)
    family = rng.choice(list(families))
    platform, names = draw_platform(rng, family)
    ranks = min(rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16]), 2 * len(names))
    hosts = place(rng, ranks, names)
    config = draw_config(rng, hosts, selectors)
    double = rng.random() < 0.2
    eager = config.get("smpi/async-small-thresh", "0") != "0"
    writer = author(rng, ranks, Sizes(rng, thresholds(config)), double=double, eager=eager)
    keep_to_simgrid(writer, config, hosts)
    kinds = writer.compose(rng.choice([5, 15, 40, 100]))
    return Case(
        label=f"calls, seed {seed}: {family}, {ranks} ranks, {kinds}",
        program=Program(ranks, tuple(writer.lines)),
        init="init 1" if double else "init",
        platform=platform,
        hosts=hosts,
        config=config,
    )


class NumberedAuthor(CollectiveAuthor):
    """Extends its base with a number for each request; free numbers are reused."""

    #: Calls that wait for one or some of several requests.
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
            # Later calls may name all of them, whichever have completed.
            self.pause(self.event, rank)
            self.write_list(rank, self.rng.choice(self.some_waits), some)
            return
        self.write_list(rank, "waitall", some)
        for request in some:
            self.pending[rank].remove(request)

    def write_for(self, rank: int, request: Pending, word: str) -> None:
        self.event, event = request.event, self.event
        self.write(rank, word, f"request={request.number}")
        self.event = event

    def write_list(self, rank: int, word: str, requests: list[Pending]) -> None:
        numbers = ",".join(str(request.number) for request in requests)
        self.write(rank, word, f"requests={numbers}")
