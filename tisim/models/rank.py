"""A rank of MPI as a SimPy process: what each action of its trace does.

Each method that may block is a generator, which yields the SimPy events that the rank waits for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

import simpy

from tisim.actions import script as rows
from tisim.actions.collectives.communicators import Stage
from tisim.errors import InputError, SimulationError
from tisim.models.communicators import Begun, Communicator
from tisim.models.messages import Message, Request
from tisim.traces.rank_requests import Key, Persistent, RankRequests
from tisim.traces.text_program import (
    ANY_SOURCE,
    COLLECTIVES,
    PROC_NULL,
    SEND_INITS,
    SENDS,
    Action,
    collective_call,
)

if TYPE_CHECKING:
    from tisim.models.world import World

#: The actions of a rank while it may wait.
Steps = Generator[simpy.Event, None, None]
Sent = Generator[simpy.Event, None, Request]

_MODES: Final = SENDS | SEND_INITS


class Rank:
    """One rank.

    `world`: what all ranks share. `number`: in the world. `host` is where it runs, by its index.
    """

    def __init__(self, world: World, number: int, host: int) -> None:
        self._world, self._clock, self._hosts = world, world.clock, world.hosts
        self._messages = world.messages
        self.number, self.host = number, host
        self.comms = {0: world.communicators.world}
        self._requests = RankRequests[Request]()
        self._last: Request | None = None
        self._order = 0
        # Requests that a wait is about; complete ones by the order of posting.
        self._ready: list[tuple[int, Request]] = []
        self._wakes: simpy.Event | None = None
        self.waits_for: simpy.Event | None = None  # which only other ranks bring about
        self.probed: Message | None = None  # that it looks for until it is there
        self.action = Action("init")
        self.finish = self.compute = self.other = 0.0
        self.actions = self.bytes_sent = self.messages_sent = 0
        self.is_finished = False

    def run(self, actions: Iterable[Action], delay: float) -> Steps:
        """Act from the start to the end of a trace; errors of input say at which line."""
        try:
            yield from self._run(actions, delay)
        except InputError as error:
            if error.file is not None:
                raise
            file, line = self._world.trace.place(self.number, self.action.line)
            raise InputError(error.message, file=file, line=line) from None

    def _run(self, actions: Iterable[Action], delay: float) -> Steps:
        if delay > 0:
            yield self._clock.wake_after(delay)
        if self._world.protocol.init_sleep > 0:
            since = self._clock.now
            yield self._clock.wake_after(self._world.protocol.init_sleep)
            self.other += self._clock.now - since
        for action in actions:
            self.action = action
            self.actions += 1
            method = self._METHODS.get(action.name)
            yield from (method(self, action) if method is not None else None) or ()
        yield from self._wait_until_all_end()
        if self._world.protocol.barrier_finalization:
            yield from self._collective(Action("barrier"))
            yield from self._wait_until_all_end()
        self.finish = self._clock.now
        self.is_finished = True

    # Computations and overheads

    def _compute(self, action: Action) -> Steps:
        """Compute; the threads take as long as the one that computes most, or as all do."""
        flops, threads = action.amount, 1
        if flops <= 0 or not self._world.simulates_computation:
            return
        if action.total > 0:
            threads = min(action.threads, self._hosts.cores(self.host))
            flops *= max(1.0, max(1.0, action.total / flops) / threads)
        yield from self._execute(flops, threads)

    def _sleep(self, action: Action) -> Steps:
        since = self._clock.now
        yield from self._overhead(action.amount)
        self.other += self._clock.now - since

    def _execute(self, flops: float, threads: int = 1) -> Steps:
        since = self._clock.now
        yield self._hosts.execute(self.host, flops, threads)
        self.compute += self._clock.now - since

    def _overhead(self, seconds: float) -> Steps:
        if seconds > 0:
            yield self._clock.sleep(seconds)

    # Messages

    def _comm(self, comm: int) -> Communicator:
        if comm not in self.comms:
            raise InputError(
                f"rank {self.number} is in no communicator {comm} here; it is made by comm_split "
                "or comm_dup"
            )
        return self.comms[comm]

    def _address(self, peer: int, comm: int) -> int:
        """The world's number of a rank of a communicator."""
        members = self._comm(comm).members
        if peer >= len(members):
            raise InputError(
                f"rank {peer} is not in communicator {comm}, whose ranks are 0 to "
                f"{len(members) - 1}"
            )
        return peer if peer == ANY_SOURCE else members[peer]

    def _incoming(self, action: Action) -> Message:
        """The message that a receive or a probe is about."""
        source, context = self._address(action.peer, action.comm), self._comm(action.comm).context
        return Message(source, self.number, action.tag, context, action.nbytes)

    def _request(self, message: Message | None, *, receives: bool = False) -> Request:
        self._order += 1
        return Request(message=message, order=self._order, receives=receives)

    def _send(self, message: Message, mode: str = "standard", *, as_isend: bool = True) -> Sent:
        """Pay the overhead and post a send; a detached one is complete."""
        yield from self._overhead(
            self._messages.send_overhead(self.number, message.nbytes, mode, as_isend=as_isend)
        )
        self.messages_sent += 1
        self.bytes_sent += message.nbytes
        message = self._messages.post_send(message, mode)
        return self._request(None if message.is_detached else message)

    def _receive(self, message: Message) -> Request:
        return self._request(self._messages.post_receive(message), receives=True)

    def _send_action(self, action: Action, persistent: Persistent | None = None) -> Steps:
        immediate = action.name.startswith("i") or persistent is not None
        request = self._request(None)
        if action.peer != PROC_NULL:
            destination = self._address(action.peer, action.comm)
            context = self._comm(action.comm).context
            request = yield from self._send(
                Message(self.number, destination, action.tag, context, action.nbytes),
                _MODES[action.name],
                as_isend=immediate and persistent is None,
            )
        yield from self._list(action, request, persistent) if immediate else self._wait_for(request)

    def _receive_action(self, action: Action, persistent: Persistent | None = None) -> Steps:
        request = self._request(None, receives=True)
        if action.peer != PROC_NULL:
            message = self._incoming(action)
            if action.nbytes < 0:
                message.nbytes = (yield from self._probe_until_found(message)).nbytes
            request = self._receive(message)
        blocks = action.name == "recv"
        yield from self._wait_for(request) if blocks else self._list(action, request, persistent)

    def _sendrecv_action(self, action: Action) -> Steps:
        half = action.receive
        assert half is not None
        if half.peer == PROC_NULL:
            yield from self._send_action(
                Action("send", action.peer, 0, action.nbytes, comm=action.comm)
            )
        elif action.peer == PROC_NULL:
            yield from self._receive_action(half)
        else:
            destination = self._address(action.peer, action.comm)
            source, context = self._address(half.peer, action.comm), self._comm(action.comm).context
            yield from self._sendrecv(
                Message(self.number, destination, 0, context, action.nbytes),
                Message(source, self.number, 0, context, half.nbytes),
            )

    def _sendrecv(self, send: Message, receive: Message) -> Steps:
        """Post both halves, the sending one first, then wait for both."""
        if send.destination != self.number or receive.source != self.number:
            sent = yield from self._send(send)
            yield from self._wait_for(sent, self._receive(receive))

    # Requests

    def _key(self, action: Action, *, receives: bool) -> Key:
        me = self._comm(action.comm).number[self.number]
        ends = (action.peer, me) if receives else (me, action.peer)
        return (*ends, action.tag, action.comm)

    def _list(
        self, action: Action, request: Request, persistent: Persistent | None
    ) -> Iterable[simpy.Event]:
        """Make a request of a message pending."""
        request.key = self._key(action, receives=request.receives)
        self._requests.add(request, action, persistent)
        return ()

    def _await(self, request: Request) -> None:
        """Put a request among those that the rank waits for."""
        if request.message is None or request.message.has_arrived:
            heapq.heappush(self._ready, (request.order, request))
        else:
            request.message.waiting[request] = self._complete

    def _complete(self, request: Request) -> None:
        heapq.heappush(self._ready, (request.order, request))
        if self._wakes is not None:
            self._last = request
            self._wakes.succeed()
            self._wakes = None

    def _wait_for(self, *requests: Request) -> Steps:
        """Finish requests in the order in which they complete, of several the oldest.

        A non-blocking collective is finished when all of its messages are.
        """
        awaited = 0
        for request in requests:
            self._requests.drop(request)
            for part in request.parts or (request,):
                if part is not None and part.message is not None:
                    awaited += 1
                    self._await(part)
        for _ in range(awaited):
            if not self._ready:
                yield from self._wait_until_one_completes()
            yield from self._finish(heapq.heappop(self._ready)[1])

    def _wait_until_one_completes(self) -> Steps:
        self._wakes = self._clock.env.event()
        yield from self._wait_for_others(self._wakes)

    def _wait_for_others(self, event: simpy.Event) -> Steps:
        self.waits_for = event
        yield event
        self.waits_for = None

    def _finish(self, request: Request) -> Steps:
        """Let a complete request go; a receive costs its overhead."""
        self._requests.drop(request)
        if request.receives and request.message is not None:
            yield from self._overhead(self._messages.receive_overhead(self.number, request.message))

    def _wait(self, action: Action) -> Steps:
        request = self._requests.named(action)
        if request is not None:
            yield from self._wait_for(request)

    def _wait_all(self, action: Action) -> Steps:
        """Wait for all: for collectives first, one after the other, as SimGrid does."""
        for request in [r for r in self._requests.listed(action) if r.of_collective]:
            yield from self._wait_for(request)
        yield from self._wait_for(*self._requests.listed(action))

    def _wait_until_all_end(self) -> Steps:
        """Wait for whatever is still pending."""
        for request in self._requests.freed:
            if not request.is_complete:
                self._order += 1
                request.order = self._order
                self._requests.pending[request] = None
        self._requests.freed.clear()
        while self._requests.pending:
            yield from self._wait_all(Action("waitall"))

    def _wait_any(self, action: Action) -> Steps:
        """Finish one request: one without a message, else the first complete one."""
        listed = self._requests.listed(action)
        for request in listed:
            if request.message is None:
                yield from self._wait_for(request)
                return
        done = next((request for request in listed if request.is_complete), None)
        if done is None and listed:
            for request in listed:
                self._await(request)
            yield from self._wait_until_one_completes()
            done = self._last
            for request in listed:
                if request.message is not None:
                    request.message.waiting.pop(request, None)
            self._ready.clear()
        if done is not None:
            yield from self._finish(done)

    def _wait_some(self, action: Action) -> Steps:
        """Wait for any, then test each of the others, as SimGrid does."""
        yield from self._wait_any(action)
        yield from self._test_each(action)

    # Tests

    def _test(self, action: Action) -> Steps:
        request = self._requests.named(action)
        if request is not None:
            yield from self._test_one(request)

    def _test_each(self, action: Action) -> Steps:
        for request in self._requests.listed(action):
            yield from self._test_one(request if request in self._requests.pending else None)

    def _test_one(self, request: Request | None) -> Steps:
        """Sleep for the time of a test, then finish the request (None: it is) if it is complete."""
        cost = self._world.polling
        seconds = cost.count["test"] * self._world.protocol.test_sleep
        if seconds > 0:
            yield self._clock.sleep(seconds)
            if request is not None and request.message is not None:
                yield self._clock.turn()
        if request is None:
            return
        if request.of_collective:
            yield from self._test_collective(request, request.parts)
        elif not request.is_complete:
            cost.note("test", success=False)
        else:
            yield from self._finish(request)
            cost.note("test", success=True)

    def _test_collective(self, request: Request, parts: list[Request | None]) -> Steps:
        """Test each message of a collective, those that are finished too."""
        for place, part in enumerate(parts):
            yield from self._test_one(part)
            if part is not None and part.is_complete:
                parts[place] = None
        success = all(part is None for part in parts)
        if success:
            self._requests.drop(request)
        self._world.polling.note("test", success=success)

    def _test_any(self, action: Action) -> Steps:
        if not any(request.message is not None for request in self._requests.listed(action)):
            return
        cost = self._world.polling
        if self._world.protocol.test_sleep > 0:
            yield self._clock.sleep(cost.count["testany"] * self._world.protocol.test_sleep)
            yield self._clock.turn()
        listed = self._requests.listed(action)
        request = next((r for r in listed if r.message is not None and r.is_complete), None)
        if request is not None:
            yield from self._finish(request)
        cost.note("testany", success=request is not None)

    # Probes

    def _probe(self, action: Action) -> Steps:
        if action.peer != PROC_NULL:
            yield from self._probe_until_found(self._incoming(action))

    def _iprobe(self, action: Action) -> Steps:
        if action.peer != PROC_NULL:
            yield from self._probe_once(self._incoming(action))

    def _probe_until_found(self, wanted: Message) -> Generator[simpy.Event, None, Message]:
        while True:
            self.probed = wanted
            found = yield from self._probe_once(wanted)
            if found is not None:
                self.probed = None
                return found
            if (self._probe_flops() <= 0 or self._world.nothing_will_come()) and self.is_stuck():
                event = self._messages.probing[self.number] = self._clock.env.event()
                yield from self._wait_for_others(event)

    def is_stuck(self) -> bool:
        """True if only other ranks can make this one go on, or it has finished."""
        if self.waits_for is not None:
            return not self.waits_for.triggered
        probes = self.probed is not None and self._messages.find(self.probed) is None
        return self.is_finished or probes

    def _probe_flops(self) -> float:
        protocol = self._world.protocol
        seconds = self._world.polling.count["probe"] * protocol.iprobe_sleep
        return seconds * self._hosts.speed(self.host) * protocol.iprobe_cpu_usage

    def _probe_once(self, wanted: Message) -> Generator[simpy.Event, None, Message | None]:
        """Compute for the time of a probe, then look for a message.

        With eager messages SimGrid looks for those first, and for others in the next round.
        """
        flops = self._probe_flops()
        if flops > 0:
            yield self._hosts.execute(self.host, flops)
        found = self._messages.find(wanted)
        is_short = found is not None and found.is_flowing
        if self._world.protocol.eager_threshold > 0 and not is_short:
            yield self._clock.turn()
            found = self._messages.find(wanted)
        yield self._clock.turn()
        self._world.polling.note("probe", success=found is not None)
        return found

    # Persistent requests, cancelled and freed ones

    def _create_persistent(self, action: Action) -> None:
        if action.peer not in (PROC_NULL, ANY_SOURCE):
            self._address(action.peer, action.comm)
        key = self._key(action, receives=action.name == "recv_init")
        self._requests.make_persistent(action, key)

    def _start(self, action: Action) -> Steps:
        for persistent in self._requests.inactive(action):
            started = persistent.action
            if started.peer != PROC_NULL:
                persistent.is_active = True
                receives = started.name == "recv_init"
                method = self._receive_action if receives else self._send_action
                yield from method(started, persistent)

    def _cancel(self, action: Action) -> None:
        """Withdraw a request whose message is not matched."""
        request = self._requests.named(action)
        if request is not None and request.message is not None and not request.message.is_matched:
            self._messages.withdraw(request.message)
            request.message = None

    def _free(self, action: Action) -> None:
        self._requests.free(action)

    # Collectives

    def _collective(self, action: Action) -> Steps:
        communicator = self._comm(action.comm)
        size = len(communicator.members)
        call, flops = collective_call(action, size)
        communicator.enter(self.number, action.name)
        if call.blocking and call.operation in self._world.protocol.synchronised:
            event = self._clock.env.event()
            communicator.gathered.append(event)
            if len(communicator.gathered) == size:
                for waiting in communicator.gathered:
                    waiting.succeed()
                communicator.gathered.clear()
            yield from self._wait_for_others(event)
        schedule = self._world.schedule(self.number, action, call, communicator)
        if not call.blocking and rows.WAITALL in schedule.kinds:
            raise InputError(
                f"the SimPy kernel cannot carry out {action.name} in rounds, as the MPI library "
                "does that smpi/coll-selector names; use --kernel core"
            )
        slots = yield from self._follow(schedule, communicator)
        if not call.blocking and not (call.operation == "bcast" and size == 1 and not slots):
            request = self._request(None)
            request.of_collective, request.parts = True, slots
            request.key = (ANY_SOURCE, ANY_SOURCE, COLLECTIVES[call.operation][1], action.comm)
            self._requests.add(request, action)
        if flops > 0:
            yield from self._execute(flops)

    def _follow(
        self, schedule: rows.Script, communicator: Communicator
    ) -> Generator[simpy.Event, None, list[Request | None]]:
        """Carry out a schedule; the requests that it has started."""
        slots: list[Request | None] = [None] * schedule.requests
        context = communicator.context + 1
        members = {ANY_SOURCE: ANY_SOURCE, **dict(enumerate(communicator.members))}
        steps = iter(
            zip(schedule.kinds, schedule.peers, schedule.sizes, schedule.tags, schedule.slots,
                strict=True)
        )  # fmt: skip

        def incoming(peer: int, size: float, tag: int) -> Message:
            return Message(members[peer], self.number, tag, context, int(size))

        def outgoing(peer: int, size: float, tag: int) -> Message:
            return Message(self.number, members[peer], tag, context, int(size))

        def taken(*slots_of: int) -> list[Request]:
            found = [slots[slot] for slot in slots_of]
            for slot in slots_of:
                slots[slot] = None
            return [request for request in found if request is not None]

        for kind, peer, size, tag, slot in steps:
            if kind == rows.ISEND:
                slots[slot] = yield from self._send(outgoing(peer, size, tag))
            elif kind == rows.IRECV:
                slots[slot] = self._receive(incoming(peer, size, tag))
            elif kind in (rows.SEND, rows.SSEND):
                mode = "synchronous" if kind == rows.SSEND else "standard"
                sent = yield from self._send(outgoing(peer, size, tag), mode, as_isend=False)
                yield from self._wait_for(sent)
            elif kind == rows.RECV:
                yield from self._wait_for(self._receive(incoming(peer, size, tag)))
            elif kind == rows.WAIT:
                yield from self._wait_for(*taken(slot))
            elif kind == rows.WAITALL:
                yield from self._wait_for(*taken(*(next(steps)[4] for _ in range(peer))))
            elif kind == rows.SENDRECV:
                received = incoming(*next(steps)[1:4])
                yield from self._sendrecv(outgoing(peer, size, tag), received)
            elif kind == rows.COMPUTE:
                yield from self._execute(size)
            else:
                raise SimulationError("the SimPy kernel has no files")
        return slots

    # Communicators

    def _make_communicator(self, action: Action) -> Steps:
        arguments = [int(float(word)) for word in action.words]
        if not arguments:
            return
        if action.name == "comm_free":
            self._comm(arguments[0])
            del self.comms[arguments[0]]
        elif action.name == "comm_group":
            number, *members = arguments
            made = self.comms[number] = self._world.communicators.of_group(members, self.number)
            yield from self._follow(self._world.stage(Stage.NUMBER, made, self.number), made)
        else:
            parent = self._comm(arguments[0])
            begun = parent.enter(self.number, action.name)
            if action.name == "comm_split":
                begun.colors[self.number] = (arguments[2], arguments[3])
                yield from self._agree_on_colors(parent, begun, joins=arguments[2] >= 0)
            elif not begun.made:
                begun.colors = dict.fromkeys(parent.members, (0, 0))
                self._world.communicators.split(parent, begun)
            if self.number not in begun.made:
                return
            made = self.comms[arguments[1]] = begun.made[self.number]
            if action.name != "comm_idup":
                yield from self._follow(self._world.stage(Stage.NUMBER, made, self.number), made)

    def _agree_on_colors(self, parent: Communicator, begun: Begun, *, joins: bool) -> Steps:
        """Rank 0 gathers the colors and keys, then tells every other rank its communicator."""
        groups: list[list[int]] = []
        if parent.members[0] == self.number:
            colors = self._world.stage(Stage.COLORS, parent, self.number)
            yield from self._follow(colors, parent)
            groups = self._world.communicators.split(parent, begun)
        told = self._world.stage(Stage.GROUPS, parent, self.number, groups, joins=joins)
        yield from self._follow(told, parent)

    _METHODS: Final[dict[str, Callable[[Rank, Action], Steps | None]]] = {
        "compute": _compute,
        "sleep": _sleep,
        "sendrecv": _sendrecv_action,
        **dict.fromkeys(("recv", "irecv"), _receive_action),
        **dict.fromkeys(SENDS, _send_action),
        **dict.fromkeys(("recv_init", *SEND_INITS), _create_persistent),
        **dict.fromkeys(("start", "startall"), _start),
        **dict.fromkeys(("comm_split", "comm_dup", "comm_idup"), _make_communicator),
        **dict.fromkeys(("comm_group", "comm_free"), _make_communicator),
        **dict.fromkeys((*COLLECTIVES, *(f"i{name}" for name in COLLECTIVES)), _collective),
        **dict.fromkeys(("wait", "wait_last"), _wait),
        **dict.fromkeys(("waitall", "waitany_recorded", "waitsome_recorded"), _wait_all),
        **dict.fromkeys(("test", "test_last"), _test),
        **dict.fromkeys(("testall", "testsome"), _test_each),
        "waitany": _wait_any,
        "waitsome": _wait_some,
        "testany": _test_any,
        "probe": _probe,
        "iprobe": _iprobe,
        "cancel": _cancel,
        "request_free": _free,
    }
