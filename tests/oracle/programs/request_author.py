"""Writes random messages, probes and requests of every kind."""

from __future__ import annotations

from tests.oracle.programs.communicators import CommunicatorAuthor, Group, Half, Persistent, Request
from tests.oracle.programs.program import ANY_SOURCE, ANY_TAG, Word

SENDS = ("send", "ssend", "bsend", "isend", "issend", "ibsend")


class RequestAuthor(CommunicatorAuthor):
    """An author that writes all kinds of messages and requests."""

    # -- messages ------------------------------------------------------------------------

    def ends(self, group: Group) -> tuple[int, int]:
        """Draw two ranks of a group, possibly the same."""
        src, dst = (self.rng.randrange(len(group.members)) for _ in range(2))
        if src == dst and self.rng.random() < 0.9:
            dst = (src + 1) % len(group.members)
        return src, dst

    def next_tag(self) -> int:
        self.tag += 1
        return self.tag

    def send_kind(self, *, may_block: bool) -> str:
        kind = self.rng.choice(SENDS)
        return kind if may_block or kind[0] == "i" else f"i{kind}"

    def add_request(self, event: int, world: int, key: tuple[Word, ...], group: Group) -> Request:
        request = Request(event, key, group.words)
        self.requests[world].append(request)
        return request

    def post(self, half: Half, *, send: bool, may_block: bool) -> Request | None:
        """Post the send or receive of a message; return its request unless the call blocks."""
        group, tag, words = half.group, half.tag, half.words
        if send:
            kind = self.send_kind(may_block=may_block)
            world = group.members[half.src]
            self.put(half.event, world, kind, half.dst, tag, *words, *group.words)
            waits, key = kind[0] != "i", (half.src, half.dst, tag)
        else:
            world, source, kept = group.members[half.dst], half.src, tag
            chance = self.rng.random()
            if chance < 0.15:
                source = ANY_SOURCE
            probe = may_block and self.rng.random() < 0.3
            waits = may_block and self.rng.random() < 0.5
            if probe and half.sent:
                self.pause(half.event, world)
                self.put(half.event, world, "probe", source, kept, *group.words)
            action = "recv" if waits else "irecv"
            if self.rng.random() < 0.05 and half.sent and may_block:
                words = (-1, *words[1:])
            self.put(half.event, world, action, source, kept, *words, *group.words)
            key = (source, half.dst, kept)
        return None if waits else self.add_request(half.event, world, key, group)

    def message(self) -> None:
        """Post both sides now, or one side now and the other later."""
        group = self.any_group()
        src, dst = self.ends(group)
        count, kind = self.sizes.draw(self.default_width)
        unknown = Request(0, (), ())
        half = Half(
            self.new_event(), group, src, dst, self.next_tag(), (count, *kind), unknown, False
        )
        first = self.rng.random() < 0.5
        if self.rng.random() < 0.5:
            request = self.post(half, send=first, may_block=False)
            assert request is not None
            request.matched, half.request, half.sent = False, request, first
            self.open.append(half)
        elif src == dst:
            self.post(half, send=False, may_block=False)
            self.post(half, send=True, may_block=True)
        else:
            self.post(half, send=True, may_block=True)
            half.sent = True
            self.post(half, send=False, may_block=True)

    def answer(self) -> None:
        """Post the other side of a message."""
        if self.open:
            half = self.open.pop(self.rng.randrange(len(self.open)))
            half.request.matched = True
            self.post(half, send=not half.sent, may_block=True)

    def iprobe(self) -> None:
        """Write an MPI_Iprobe for a message that may have arrived."""
        group = self.any_group()
        if self.open and self.rng.random() < 0.6:
            half = self.rng.choice(self.open)
            if half.sent:
                words = (half.src, half.tag, *half.group.words)
                self.pause(half.event, half.group.members[half.dst])
                self.put(half.event, half.group.members[half.dst], "iprobe", *words)
                return
        src, dst = self.ends(group)
        event = self.new_event()
        self.pause(event, group.members[dst])
        self.put(
            event, group.members[dst], "iprobe", src, self.rng.choice([ANY_TAG, 7]), *group.words
        )

    # -- persistent requests -------------------------------------------------------------

    def prepare(self) -> None:
        group = self.any_group()
        src, dst = self.ends(group)
        count, kind = self.sizes.draw(self.default_width)
        event, tag = self.new_event(), self.next_tag()
        send = self.rng.choice(["send_init", "ssend_init", "bsend_init"])
        words = (tag, count, *kind, *group.words)
        self.put(event, group.members[src], send, dst, *words)
        self.put(event, group.members[dst], "recv_init", src, *words)
        self.persistents.append(Persistent(event, group, src, dst, tag))

    def start(self) -> None:
        """Start both requests, after waiting for their previous messages.

        In SimGrid, a detached persistent send that restarts before its last message was received
        renumbers that message, which is then never received: a barrier prevents this.
        """
        if not self.persistents:
            return
        pair = self.rng.choice(self.persistents)
        group = pair.group
        if pair.active:
            self.finish_pair(pair)
            for world in group.members:
                self.put(pair.event, world, "barrier", *group.words)
        key = (pair.src, pair.dst, pair.tag)
        for end in (pair.src, pair.dst):
            world = group.members[end]
            self.put(pair.event, world, "start", *key, *group.words)
            request = self.add_request(pair.event, world, key, group)
            request.persistent = True
            pair.active.append((world, request))

    def finish_pair(self, pair: Persistent) -> None:
        for world, request in pair.active:
            if request in self.requests[world]:
                self.requests[world].remove(request)
            self.put(request.event, world, "wait", *request.key, *request.comm)
        pair.active.clear()

    # -- requests ------------------------------------------------------------------------

    def wait(self) -> None:
        rank = self.any_rank()
        if matched := [request for request in self.requests[rank] if request.matched]:
            request = self.rng.choice(matched)
            self.requests[rank].remove(request)
            self.put(request.event, rank, "wait", *request.key, *request.comm)

    def test(self) -> None:
        rank = self.any_rank()
        if self.requests[rank]:
            request = self.rng.choice(self.requests[rank])
            self.pause(request.event, rank)
            self.put(request.event, rank, "test", *request.key, *request.comm)

    def several(self) -> None:
        """Write a call on all pending requests of a rank, which may block if all can complete."""
        rank = self.any_rank()
        requests = self.requests[rank]
        actions = ["testany", "testsome"]
        if not any(request.persistent for request in requests):
            actions.append("testall")
        if all(request.matched for request in requests):
            actions += ["waitall", "waitany", "waitany", "waitsome", "waitsome"]
        action = self.rng.choice(actions)
        event = self.new_event()
        self.pause(event, rank)
        self.put(event, rank, action)
        if action == "waitall":
            requests.clear()
