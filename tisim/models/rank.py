"""A rank of MPI as a SimPy process: what each action of its trace does.

Each method that may block is a generator, which yields the SimPy events that the rank waits for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import simpy

from tisim.actions import script as rows
from tisim.actions.collectives.communicators import Stage
from tisim.errors import InputError, SimulationError
from tisim.models.mpi import (
    Begun,
    Communicator,
    Message,
    Mode,
    Persistent,
    PointToPoint,
    Request,
    Side,
)
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

_MODES: Final = {name: Mode[mode.upper()] for name, mode in (SENDS | SEND_INITS).items()}


class Rank:
    """One rank.

    `world`: what all ranks share. `number`: in the world. `host` is where it runs, by its index.
    """

    def __init__(self, world: World, number: int, host: int) -> None:
        self._world, self._clock, self._hosts = world, world.clock, world.hosts
        self._messages: PointToPoint = world.messages
        self.number, self.host = number, host
        self.comms: dict[int, Communicator] = {0: world.communicator}
        self.pending: list[Request] = []
        self._freed: list[Request] = []
        self._persistent: list[Persistent] = []
        self._numbers: dict[int, Request | Persistent | None] = {}
        self._last: Request | None = None
        self._order = 0
        # Requests that a waitall or waitany waits for; complete ones by the order of posting.
        self._awaited = 0
        self._ready: list[tuple[int, Request]] = []
        self._wakes: simpy.Event | None = None
        self.waits_for: simpy.Event | None = None  # which only other ranks bring about
        self.probed: Action | None = None  # that it repeats until there is a message
        self.action = Action("init")
        self.finish = self.compute = self.other = 0.0
        self.actions = self.bytes_sent = self.messages_sent = 0
        self.is_finished = False

    def run(self, actions: Iterable[Action], delay: float) -> Steps:
        """Act from the start to the end of a trace."""
        if delay > 0:
            yield self._clock.wake_after(delay)
        if self._world.protocol.init_sleep > 0:
            since = self._clock.now
            yield self._clock.wake_after(self._world.protocol.init_sleep)
            self.other += self._clock.now - since
        for action in actions:
            self.action = action
            self.actions += 1
            yield from self.perform(action)
        yield from self._wait_until_all_end()
        if self._world.protocol.barrier_finalization:
            yield from self._collective(Action("barrier"))
            yield from self._wait_until_all_end()
        self.finish = self._clock.now
        self.is_finished = True

    def perform(self, action: Action) -> Steps:
        """Carry out one action."""
        method = self._METHODS.get(action.name)
        steps = None if method is None else method(self, action)
        if steps is not None:
            yield from steps

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
        if action.amount > 0:
            since = self._clock.now
            yield self._clock.sleep(action.amount)
            self.other += self._clock.now - since

    def _execute(self, flops: float, threads: int = 1) -> Steps:
        since = self._clock.now
        yield self._hosts.execute(self.host, flops, threads)
        self.compute += self._clock.now - since

    def _overhead(self, seconds: float) -> Steps:
        if seconds > 0:
            yield self._clock.sleep(seconds)

    # Messages

    def _address(self, peer: int, comm: int) -> int:
        """The world's number of a rank of a communicator."""
        members = self._comm(comm).members
        if peer == ANY_SOURCE:
            return peer
        if peer >= len(members):
            self._fail(
                f"rank {peer} is not in communicator {comm}, whose ranks are 0 to "
                f"{len(members) - 1}"
            )
        return members[peer]

    def _comm(self, comm: int) -> Communicator:
        if comm not in self.comms:
            self._fail(
                f"rank {self.number} is in no communicator {comm} here; it is made by comm_split "
                "or comm_dup"
            )
        return self.comms[comm]

    def _fail(self, message: str) -> None:
        file, line = self._world.trace.place(self.number, self.action.line)
        raise InputError(message, file=file, line=line)

    def _post_send(
        self,
        destination: int,
        tag: int,
        context: int,
        nbytes: int,
        mode: Mode,
        *,
        as_isend: bool,
    ) -> Generator[simpy.Event, None, Message | None]:
        """Pay the overhead and post a send; the message that the sender has to wait for."""
        yield from self._overhead(
            self._messages.send_overhead(self.number, nbytes, mode, as_isend=as_isend)
        )
        message = self._messages.post_send(self.number, destination, tag, context, nbytes, mode)
        self.messages_sent += 1
        self.bytes_sent += nbytes
        return None if message.is_detached else message

    def _block(self, message: Message, side: Side) -> Steps:
        """Wait for the end of a message."""
        if not message.has_arrived:
            event = self._clock.env.event()
            message.waiter[side] = event
            message.register(side)
            yield from self._wait_for_others(event)
        if side is Side.RECEIVER:
            yield from self._overhead(self._messages.receive_overhead(self.number, message))

    def _wait_for_others(self, event: simpy.Event) -> Steps:
        self.waits_for = event
        yield event
        self.waits_for = None

    def _send_action(self, action: Action, persistent: Persistent | None = None) -> Steps:
        immediate = action.name.startswith("i") or persistent is not None
        mode = _MODES[action.name]
        message: Message | None = None
        if action.peer != PROC_NULL:
            destination = self._address(action.peer, action.comm)
            message = yield from self._post_send(
                destination,
                action.tag,
                self._comm(action.comm).context,
                action.nbytes,
                mode,
                as_isend=immediate and persistent is None,
            )
        if immediate:
            self._list(action, message, Side.SENDER, persistent)
        elif message is not None:
            yield from self._block(message, Side.SENDER)

    def _receive_action(self, action: Action, persistent: Persistent | None = None) -> Steps:
        nbytes = action.nbytes
        if nbytes < 0 and action.peer != PROC_NULL:
            found = yield from self._probe_until_found(action)
            nbytes = found.nbytes
        message: Message | None = None
        if action.peer != PROC_NULL:
            message = self._messages.post_receive(
                self._address(action.peer, action.comm),
                self.number,
                action.tag,
                self._comm(action.comm).context,
                nbytes,
            )
        if action.name != "recv":
            self._list(action, message, Side.RECEIVER, persistent)
        elif message is not None:
            yield from self._block(message, Side.RECEIVER)

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
            source = self._address(half.peer, action.comm)
            if destination == source == self.number:
                return
            context = self._comm(action.comm).context
            yield from self._sendrecv(
                (destination, 0, action.nbytes), (source, 0, half.nbytes), context
            )

    def _sendrecv(
        self, send: tuple[int, int, int], receive: tuple[int, int, int], context: int
    ) -> Steps:
        """Post both halves, the sending one first, then wait for both."""
        destination, tag, nbytes = send
        sent = yield from self._post_send(
            destination, tag, context, nbytes, Mode.STANDARD, as_isend=True
        )
        if sent is not None:
            self._await(self._request(sent, Side.SENDER))
        source, tag, nbytes = receive
        received = self._messages.post_receive(source, self.number, tag, context, nbytes)
        self._await(self._request(received, Side.RECEIVER))
        yield from self._wait_awaited()

    # Requests

    def _request(self, message: Message | None, side: Side) -> Request:
        self._order += 1
        complete = message is None or message.has_arrived
        request = Request(message, side, self._order, is_complete=complete)
        if message is not None:
            message.waiter[side] = request
        return request

    def _list(
        self, action: Action, message: Message | None, side: Side, persistent: Persistent | None
    ) -> None:
        """Make a request of a message pending."""
        request = self._request(message, side)
        me = self._comm(action.comm).number[self.number]
        ends = (me, action.peer) if side is Side.SENDER else (action.peer, me)
        request.key = (*ends, action.tag, action.comm)
        request.source_lost = action.source_lost
        request.persistent = persistent
        self._add(request, action.numbers)

    def _add(self, request: Request, numbers: Sequence[int] | None) -> None:
        self.pending.append(request)
        if request.persistent is None:
            for number in numbers or ():
                self._numbers[number] = request

    def _drop(self, request: Request) -> None:
        """Let a request go that is finished."""
        if request in self.pending:
            self.pending.remove(request)
        if request.persistent is not None:
            request.persistent.is_active = False

    def _named(self, action: Action) -> Request | None:
        """The pending request that a wait or test names: the oldest of its key, or its number."""
        if action.numbers is not None:
            return self._numbered(action.numbers[0])
        if action.name.endswith("_last"):
            return self.pending[-1] if self.pending else None
        if action.peer == action.nbytes == ANY_SOURCE:  # a non-blocking collective
            key = (ANY_SOURCE, ANY_SOURCE, action.tag, action.comm)
            return next((r for r in self.pending if r.parts is not None and r.key == key), None)
        key = (action.peer, action.nbytes, action.tag, action.comm)
        return next((request for request in self.pending if request.has_key(key)), None)

    def _numbered(self, number: int) -> Request | None:
        if number not in self._numbers:
            self._fail(f"there is no request {number} here")
        named = self._numbers[number]
        if isinstance(named, Persistent):
            return next((r for r in self.pending if r.persistent is named), None)
        return named if named in self.pending else None

    def _listed(self, action: Action) -> list[Request]:
        """The pending requests that a waitall, testany ... is about."""
        if action.numbers is None:
            return list(self.pending)
        named = [self._numbered(number) for number in action.numbers]
        return [request for request in named if request is not None]

    def _await(self, request: Request) -> None:
        """Put a request among those that the rank waits for."""
        message = request.message
        if message is None:
            self._drop(request)
            return
        self._awaited += 1
        request.awaited = self._complete
        if request.is_complete:
            heapq.heappush(self._ready, (request.order, request))
        else:
            message.register(request.side)

    def _complete(self, request: Request) -> None:
        heapq.heappush(self._ready, (request.order, request))
        if self._wakes is not None:
            self._last = request
            self._wakes.succeed()
            self._wakes = None

    def _wait_awaited(self) -> Steps:
        """Finish awaited requests in the order in which they complete, of several the oldest."""
        while self._awaited > 0:
            if not self._ready:
                self._wakes = self._clock.env.event()
                yield from self._wait_for_others(self._wakes)
            request = heapq.heappop(self._ready)[1]
            self._awaited -= 1
            yield from self._finish(request)

    def _finish(self, request: Request) -> Steps:
        """Let a complete request go; a receive costs its overhead."""
        self._drop(request)
        if request.side is Side.RECEIVER and request.message is not None:
            yield from self._overhead(self._messages.receive_overhead(self.number, request.message))

    def _wait_for(self, request: Request) -> Steps:
        """Wait for one request; of a collective for all of its messages."""
        self._drop(request)
        if request.parts is not None:
            for part in request.parts:
                if part is not None:
                    self._await(part)
            yield from self._wait_awaited()
        elif request.message is not None:
            yield from self._block(request.message, request.side)

    def _wait(self, action: Action) -> Steps:
        request = self._named(action)
        if request is not None:
            yield from self._wait_for(request)

    def _wait_all(self, action: Action) -> Steps:
        """Wait for all: for collectives first, one after the other, as SimGrid does."""
        for request in [r for r in self._listed(action) if r.parts is not None]:
            yield from self._wait_for(request)
        for request in self._listed(action):
            self._await(request)
        yield from self._wait_awaited()

    def _wait_until_all_end(self) -> Steps:
        """Wait for whatever is still pending."""
        for request in self._freed:
            if not request.is_complete:
                self._order += 1
                request.order = self._order
                self.pending.append(request)
        self._freed.clear()
        while self.pending:
            yield from self._wait_all(Action("waitall"))

    def _wait_any(self, action: Action) -> Steps:
        """Finish one request: one without a message, else the first complete one."""
        listed = self._listed(action)
        for request in listed:
            if request.message is None:
                yield from self._wait_for(request)
                return
        done = next((request for request in listed if request.is_complete), None)
        if done is None and listed:
            for request in listed:
                self._await(request)
            self._wakes = self._clock.env.event()
            yield from self._wait_for_others(self._wakes)
            done = self._last
            for request in listed:
                self._stop_awaiting(request)
            self._ready.clear()
            self._awaited = 0
        if done is not None:
            yield from self._finish(done)

    def _stop_awaiting(self, request: Request) -> None:
        request.awaited = None
        message = request.message
        if message is not None:
            theirs = message.waiter[request.side.other]
            is_waiting = isinstance(theirs, simpy.Event) or (
                isinstance(theirs, Request) and theirs.awaited is not None
            )
            message.first_waiter = request.side.other if is_waiting else None

    def _wait_some(self, action: Action) -> Steps:
        """Wait for any, then test each of the others, as SimGrid does."""
        yield from self._wait_any(action)
        yield from self._test_each(action)

    # Tests

    def _test(self, action: Action) -> Steps:
        if self._named(action) is not None:
            yield from self._test_one(lambda: self._named(action))

    def _test_each(self, action: Action) -> Steps:
        for request in self._listed(action):
            yield from self._test_one(lambda r=request: r if r in self.pending else None)  # type: ignore[misc]

    def _test_one(self, named: Callable[[], Request | None]) -> Steps:
        """Sleep for the time of a test, then finish the request if it is complete."""
        cost = self._world.polling
        seconds = cost.count["test"] * self._world.protocol.test_sleep
        if seconds > 0:
            yield self._clock.sleep(seconds)
            request = named()
            if request is not None and request.message is not None:
                yield self._clock.turn()
        request = named()
        if request is None:
            return
        if request.parts is not None:
            yield from self._test_collective(request)
        elif not request.is_complete:
            cost.note("test", success=False)
        else:
            yield from self._finish(request)
            cost.note("test", success=True)

    def _test_collective(self, request: Request) -> Steps:
        """Test each message of a collective, those that are finished too."""
        parts = request.parts or []
        for place, part in enumerate(list(parts)):
            # A part is gone once a test has finished it.
            before = part
            yield from self._test_one(lambda p=place: parts[p])  # type: ignore[misc]
            if before is not None and before.is_complete:
                parts[place] = None
        success = all(part is None for part in parts)
        if success:
            self._drop(request)
        self._world.polling.note("test", success=success)

    def _test_any(self, action: Action) -> Steps:
        if not any(request.message is not None for request in self._listed(action)):
            return
        cost = self._world.polling
        if self._world.protocol.test_sleep > 0:
            yield self._clock.sleep(cost.count["testany"] * self._world.protocol.test_sleep)
            yield self._clock.turn()
        found = (r for r in self._listed(action) if r.message is not None and r.is_complete)
        request = next(found, None)
        if request is not None:
            yield from self._finish(request)
        cost.note("testany", success=request is not None)

    # Probes

    def _probe(self, action: Action) -> Steps:
        if action.peer != PROC_NULL:
            yield from self._probe_until_found(action)

    def _iprobe(self, action: Action) -> Steps:
        if action.peer != PROC_NULL:
            yield from self._probe_once(action)

    def _probe_until_found(self, action: Action) -> Generator[simpy.Event, None, Message]:
        while True:
            self.probed = action
            found = yield from self._probe_once(action)
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
        return self.is_finished or (self.probed is not None and self._find(self.probed) is None)

    def _probe_flops(self) -> float:
        protocol = self._world.protocol
        seconds = self._world.polling.count["probe"] * protocol.iprobe_sleep
        return seconds * self._hosts.speed(self.host) * protocol.iprobe_cpu_usage

    def _find(self, action: Action) -> Message | None:
        source = self._address(action.peer, action.comm)
        context = self._comm(action.comm).context
        return self._messages.matcher.find_message(source, self.number, action.tag, context)

    def _probe_once(self, action: Action) -> Generator[simpy.Event, None, Message | None]:
        """Compute for the time of a probe, then look for a message.

        With eager messages SimGrid looks for those first, and for others in the next round.
        """
        flops = self._probe_flops()
        if flops > 0:
            yield self._hosts.execute(self.host, flops)
        found = self._find(action)
        is_short = found is not None and found.is_flowing
        if self._world.protocol.eager_threshold > 0 and not is_short:
            yield self._clock.turn()
            found = self._find(action)
        yield self._clock.turn()
        self._world.polling.note("probe", success=found is not None)
        return found

    # Persistent requests, cancelled and freed ones

    def _create_persistent(self, action: Action) -> None:
        if action.peer not in (PROC_NULL, ANY_SOURCE):
            self._address(action.peer, action.comm)
        me = self._comm(action.comm).number[self.number]
        ends = (action.peer, me) if action.name == "recv_init" else (me, action.peer)
        made = Persistent(action, (*ends, action.tag, action.comm))
        self._persistent.append(made)
        self._numbers |= dict.fromkeys(action.numbers or (), made)

    def _inactive(self, action: Action) -> Persistent | None:
        """The persistent request that a start or a request_free names."""
        if action.numbers is not None:
            named = self._numbers.get(action.numbers[0])
            return named if isinstance(named, Persistent) else None
        key = (action.peer, action.nbytes, action.tag, action.comm)
        found = (p for p in self._persistent if not p.is_active and p.key == key)
        return next(found, None)

    def _start(self, action: Action) -> Steps:
        persistent = self._inactive(action)
        if persistent is not None:
            yield from self._start_persistent(persistent)

    def _start_all(self, action: Action) -> Steps:
        if action.numbers is None:
            started = [p for p in self._persistent if not p.is_active]
        else:
            named = [self._numbers.get(number) for number in action.numbers]
            started = [p for p in named if isinstance(p, Persistent)]
        for persistent in started:
            yield from self._start_persistent(persistent)

    def _start_persistent(self, persistent: Persistent) -> Steps:
        action = persistent.action
        if action.peer != PROC_NULL:
            persistent.is_active = True
            receives = action.name == "recv_init"
            yield from (self._receive_action if receives else self._send_action)(action, persistent)

    def _cancel(self, action: Action) -> None:
        """Withdraw a request whose message is not matched."""
        request = self._named(action)
        if request is not None and request.message is not None and not request.message.is_matched:
            self._messages.matcher.withdraw(request.message)
            request.message, request.is_complete = None, True

    def _free(self, action: Action) -> None:
        """Leave a request to itself: its message goes on."""
        request = self._named(action)
        persistent = request.persistent if request is not None else self._inactive(action)
        if request is not None:
            request.persistent = None
            self._drop(request)
            self._freed.append(request)
        if persistent in self._persistent:
            self._persistent.remove(persistent)

    # Collectives

    def _collective(self, action: Action) -> Steps:
        communicator = self._comm(action.comm)
        size = len(communicator.members)
        call, flops = collective_call(action, size)
        self._enter(communicator, action.name)
        if call.blocking and call.operation in self._world.protocol.synchronised:
            event = self._clock.env.event()
            communicator.gathered.append(event)
            if len(communicator.gathered) == size:
                for waiting in communicator.gathered:
                    waiting.succeed()
                communicator.gathered.clear()
            yield from self._wait_for_others(event)
        schedule = self._world.expand(action, call, communicator, self.number)
        if not call.blocking and rows.WAITALL in schedule.kinds:
            self._fail(
                f"the SimPy kernel cannot carry out {action.name} in rounds, as the MPI library "
                "does that smpi/coll-selector names; use --kernel core"
            )
        slots = yield from self._follow(schedule, communicator)
        if not call.blocking and not (call.operation == "bcast" and size == 1 and not slots):
            tag = COLLECTIVES[call.operation][1]
            self._order += 1
            request = Request(None, Side.SENDER, self._order, is_complete=True, parts=list(slots))
            request.key = (ANY_SOURCE, ANY_SOURCE, tag, action.comm)
            self._add(request, action.numbers)
        if flops > 0:
            yield from self._execute(flops)

    def _enter(self, communicator: Communicator, name: str) -> Begun:
        """Enter a collective, which must be what the others call too."""
        number = communicator.number[self.number]
        sequence = communicator.entered[number]
        communicator.entered[number] += 1
        size = len(communicator.members)
        begun = communicator.begun.setdefault(sequence, Begun(name, size))
        if begun.name != name:
            raise SimulationError(
                f"rank {self.number} calls {name} where another rank of the communicator calls "
                f"{begun.name}"
            )
        begun.left -= 1
        if begun.left == 0:
            del communicator.begun[sequence]
        return begun

    def _follow(
        self, schedule: rows.Script, communicator: Communicator
    ) -> Generator[simpy.Event, None, list[Request | None]]:
        """Carry out a schedule; the requests that it has started."""
        slots: list[Request | None] = [None] * schedule.requests
        context = communicator.context + 1
        members = communicator.members
        steps = iter(
            zip(schedule.kinds, schedule.peers, schedule.sizes, schedule.tags, schedule.slots,
                strict=True)
        )  # fmt: skip
        for kind, peer, size, tag, slot in steps:
            nbytes = int(size)
            if kind in (rows.SEND, rows.SSEND, rows.ISEND):
                mode = Mode.SYNCHRONOUS if kind == rows.SSEND else Mode.STANDARD
                immediate = kind == rows.ISEND
                message = yield from self._post_send(
                    members[peer], tag, context, nbytes, mode, as_isend=immediate
                )
                if immediate:
                    slots[slot] = self._request(message, Side.SENDER)
                elif message is not None:
                    yield from self._block(message, Side.SENDER)
            elif kind in (rows.RECV, rows.IRECV):
                source = peer if peer == ANY_SOURCE else members[peer]
                received = self._messages.post_receive(source, self.number, tag, context, nbytes)
                if kind == rows.IRECV:
                    slots[slot] = self._request(received, Side.RECEIVER)
                else:
                    yield from self._block(received, Side.RECEIVER)
            elif kind == rows.WAIT:
                request, slots[slot] = slots[slot], None
                if request is not None:
                    yield from self._wait_for(request)
            elif kind == rows.WAITALL:
                for _ in range(peer):
                    slot = next(steps)[4]
                    request, slots[slot] = slots[slot], None
                    if request is not None:
                        self._await(request)
                yield from self._wait_awaited()
            elif kind == rows.SENDRECV:
                _, source, expected, receive_tag, _ = next(steps)
                source = source if source == ANY_SOURCE else members[source]
                if source == members[peer] == self.number:
                    continue
                yield from self._sendrecv(
                    (members[peer], tag, nbytes), (source, receive_tag, int(expected)), context
                )
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
            made = self._world.group(members, self.number)
            self.comms[number] = made
            yield from self._follow(self._world.stage(Stage.NUMBER, made, self.number), made)
        else:
            parent = self._comm(arguments[0])
            begun = self._enter(parent, action.name)
            if action.name == "comm_split":
                begun.colors[self.number] = (arguments[2], arguments[3])
                yield from self._agree_on_colors(parent, begun, joins=arguments[2] >= 0)
            elif not begun.made:
                begun.colors = dict.fromkeys(parent.members, (0, 0))
                self._world.split(parent, begun)
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
            groups = self._world.split(parent, begun)
        told = self._world.stage(Stage.GROUPS, parent, self.number, groups, joins=joins)
        yield from self._follow(told, parent)

    _METHODS: Final[dict[str, Callable[[Rank, Action], Steps | None]]] = {
        "compute": _compute,
        "sleep": _sleep,
        "recv": _receive_action,
        "irecv": _receive_action,
        "sendrecv": _sendrecv_action,
        **dict.fromkeys(SENDS, _send_action),
        **dict.fromkeys(("recv_init", *SEND_INITS), _create_persistent),
        **dict.fromkeys(("comm_split", "comm_dup", "comm_idup"), _make_communicator),
        **dict.fromkeys(("comm_group", "comm_free"), _make_communicator),
        **dict.fromkeys((*COLLECTIVES, *(f"i{name}" for name in COLLECTIVES)), _collective),
        "wait": _wait,
        "wait_last": _wait,
        "waitall": _wait_all,
        "waitany": _wait_any,
        "waitsome": _wait_some,
        "waitany_recorded": _wait_all,
        "waitsome_recorded": _wait_all,
        "test": _test,
        "test_last": _test,
        "testall": _test_each,
        "testsome": _test_each,
        "testany": _test_any,
        "probe": _probe,
        "iprobe": _iprobe,
        "start": _start,
        "startall": _start_all,
        "cancel": _cancel,
        "request_free": _free,
    }
