"""Random programs that cancel and free requests, as far as SimGrid can.

SimGrid 3.32 cancels a receive or a send that nothing has matched; one that was matched fails the
simulation. A freed request whose message is not buffered never ends there, and is a deadlock.
"""

from __future__ import annotations

from tests.oracle.programs.call_programs import CallAuthor, Moves
from tests.oracle.programs.requests import Request


class GivingUpAuthor(CallAuthor):
    """An author that begins messages which nobody takes."""

    #: Their requests, each with its rank.
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
        """A receive or a synchronous send that nothing will match."""
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
        """Cancel one of them, and wait for it."""
        if not self.in_vain:
            return
        rank, request = self.in_vain.pop(self.rng.randrange(len(self.in_vain)))
        self.requests[rank].remove(request)
        for word in ("cancel", "wait"):
            self.put(request.event, rank, word, *request.key, *request.comm)

    def send_and_free(self) -> None:
        """A buffered message whose request is freed at once."""
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
