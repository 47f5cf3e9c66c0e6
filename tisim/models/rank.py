"""An MPI rank as a SimPy process with the actions of its trace, and the state that ranks share.

Each method that may block is a generator, which yields the SimPy events that the rank waits for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, cast

import simpy

from tisim.actions import script as rows
from tisim.actions.collectives.communicators import Stage
from tisim.errors import InputError
from tisim.models.clock import Clock
from tisim.models.communicators import CollectiveInstance, Communicator, Communicators
from tisim.models.messages import Message, PointToPoint, Request
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.traces.rank_requests import Persistent, RankRequests
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
    from tisim import _core
    from tisim.simulation.settings import Settings
    from tisim.traces.text_program import TextTrace

#: The actions of a rank that may wait.
Steps = Generator[simpy.Event, None, None]

_MODES: Final = SENDS | SEND_INITS
_BLOCKING: Final = {"send", "ssend", "bsend", "recv"}
# Steps of schedules that post a message: the mode of a send, and whether the rank continues.
_POSTS: Final[dict[int, tuple[str | None, bool]]] = {
    **{rows.ISEND: ("standard", True), rows.SEND: ("standard", False)},
    **{rows.SSEND: ("synchronous", False), rows.IRECV: (None, True), rows.RECV: (None, False)},
}


@dataclass
class World:
    """The ranks of a trace and their shared state: clock, models, messages, communicators.

    `placement` is the host index of each rank. A test takes ``smpi/test`` times its entry in
    `polls`: 1 plus the number of tests, of all ranks, that have failed since the last success
    (``smpi/grow-injected-times``). The same holds for a probe, which computes for ``smpi/iprobe``.
    """

    trace: TextTrace
    settings: Settings
    placement: list[int]
    network: NetworkModel
    hosts: HostModel

    def __post_init__(self) -> None:
        settings, placement, network = self.settings, self.placement, self.network
        self.protocol = settings.protocol
        self.clock = Clock(settings.network.precision_timing)
        network.attach(self.clock, settings)
        self.hosts.attach(self.clock, settings)
        self.messages = PointToPoint(placement, settings, network)
        self.communicators = Communicators(placement)
        self.polls = {"test": 1, "testany": 1, "probe": 1}
        self._fruitless_probes = 0
        self._schedules: dict[Hashable, rows.Script] = {}
        self.ranks = [Rank(self, number, host) for number, host in enumerate(placement)]

    def note_poll(self, kind: str, *, success: bool) -> None:
        """Record the outcome of a test or a probe."""
        if success:
            self.polls[kind] = 1
        elif self.protocol.grow_injected_times or kind == "testany":
            self.polls[kind] += 1

    def all_stuck(self) -> bool:
        """True if all ranks wait for others or probe in vain; checked at growing intervals."""
        self._fruitless_probes += 1
        if self._fruitless_probes & (self._fruitless_probes - 1) or self.network.in_progress:
            return False
        return all(rank.is_stuck() for rank in self.ranks)

    def schedule(
        self,
        rank: int,
        communicator: Communicator,
        write: Callable[[rows.Script], None],
        call: Hashable = None,
    ) -> rows.Script:
        """Return a rank's schedule of a collective, which `write` writes once for equal calls."""
        group, number = communicator.group, communicator.number[rank]
        key = (call, communicator.context, number, group.exchanged_parts_of(number))
        schedule = self._schedules.get(key) if call is not None else None
        if schedule is None:
            schedule = self._schedules[key] = group.script(self.settings, number)
            write(schedule)
        group.exchanged_parts[number] = schedule.exchanged_parts
        return schedule


class Rank:
    """One rank.

    `world` is the state that all ranks share, `number` the rank in the world, `host` a host index.
    """

    def __init__(self, world: World, number: int, host: int) -> None:
        self._world, self._clock, self._hosts = world, world.clock, world.hosts
        self._messages = world.messages
        self.number, self.host = number, host
        self.comms = {0: world.communicators.world}
        self._requests: RankRequests[Request] = RankRequests()
        self._orders = count()
        # Complete requests of the current wait, by the order of posting.
        self._ready: list[tuple[int, Request]] = []
        self.waits_for: simpy.Event | None = None  # triggered only by other ranks
        self.probed: Message | None = None  # awaited by a blocking probe
        self.action = Action("init")
        self.finish = self.compute = self.other = 0.0
        self.actions = self.bytes_sent = self.messages_sent = 0
        self.is_finished = False

    def run(self, actions: Iterable[Action], delay: float) -> Steps:
        """Execute a trace from start to end; input errors name the line of the trace."""
        protocol = self._world.protocol
        try:
            if delay > 0:
                yield self._clock.wake_after(delay)
            if protocol.init_sleep > 0:
                event = self._clock.wake_after(protocol.init_sleep)
                self.other += yield from self._wait_timed(event)
            for action in actions:
                self.action = action
                self.actions += 1
                method = self._METHODS.get(action.name)
                yield from (method(self, action) if method is not None else None) or ()
            yield from self._wait_until_all_end()
            if protocol.barrier_finalization:
                yield from self._collective(Action("barrier"))
                yield from self._wait_until_all_end()
        except InputError as error:
            if error.file is not None:
                raise
            file, line = self._world.trace.place(self.number, self.action.line)
            raise InputError(error.message, file=file, line=line) from None
        self.finish = self._clock.now
        self.is_finished = True

    # Computations and overheads

    def _compute(self, action: Action) -> Steps:
        """Compute; the threads take as long as the busiest one, or as the total on all cores."""
        flops, threads = action.amount, 1
        if flops <= 0 or not self._world.settings.cpu.simulate_computation:
            return
        if action.total > 0:
            threads = min(action.threads, self._hosts.cores(self.host))
            flops *= max(1.0, max(1.0, action.total / flops) / threads)
        yield from self._execute(flops, threads)

    def _sleep(self, action: Action) -> Steps:
        since = self._clock.now
        yield from self._clock.sleep(action.amount)
        self.other += self._clock.now - since

    def _execute(self, flops: float, threads: int = 1) -> Steps:
        event = self._hosts.execute(self.host, flops, threads)
        self.compute += yield from self._wait_timed(event)

    def _wait_timed(self, event: simpy.Event) -> Generator[simpy.Event, None, float]:
        """Wait for an event; returns the seconds waited."""
        since = self._clock.now
        yield event
        return self._clock.now - since

    # Messages

    def _comm(self, comm: int) -> Communicator:
        if comm not in self.comms:
            raise InputError(
                f"rank {self.number} is not in a communicator {comm} here; create it with "
                "comm_split or comm_dup"
            )
        return self.comms[comm]

    def _address(self, peer: int, comm: int) -> int:
        """Convert a rank of a communicator to one of the world; wildcards are unchanged."""
        members = self._comm(comm).members
        if peer >= len(members):
            raise InputError(
                f"rank {peer} is not in communicator {comm}, whose ranks are 0 to "
                f"{len(members) - 1}"
            )
        return members[peer] if peer >= 0 else peer

    def _message(self, action: Action) -> Message:
        """Return the message of a send, a receive or a probe."""
        peer, context = self._address(action.peer, action.comm), self._comm(action.comm).context
        ends = (self.number, peer) if action.name in _MODES else (peer, self.number)
        return Message(*ends, action.tag, context, action.nbytes)

    def _request(self, message: Message | None, *, receives: bool = False) -> Request:
        return Request(message=message, order=next(self._orders), receives=receives)

    def _post(
        self, message: Message, mode: str | None, *, as_isend: bool = True
    ) -> Generator[simpy.Event, None, Request]:
        """Post a receive (no mode), or pay the overhead and post a send; a detached one is done."""
        if mode is None:
            return self._request(self._messages.post_receive(message), receives=True)
        overhead = self._messages.send_overhead
        yield from self._clock.sleep(overhead(self.number, message.nbytes, mode, as_isend=as_isend))
        self.messages_sent += 1
        self.bytes_sent += message.nbytes
        message = self._messages.post_send(message, mode)
        return self._request(None if message.is_detached else message)

    def _send_or_receive(self, action: Action, persistent: Persistent | None = None) -> Steps:
        """Post a message; wait for it if the call blocks, else make its request pending."""
        request, mode = self._request(None), _MODES.get(action.name)
        if action.peer != PROC_NULL:
            message = self._message(action)
            if mode is None and action.nbytes < 0:
                message.nbytes = (yield from self._probe_until_found(message)).nbytes
            request = yield from self._post(message, mode, as_isend=action.name.startswith("i"))
        if action.name in _BLOCKING:
            yield from self._wait_for(request)
        else:
            me = self._comm(action.comm).number[self.number]
            self._requests.add(request, action, me, persistent)

    def _sendrecv_action(self, action: Action) -> Steps:
        send, receive = replace(action, name="send"), action.receive
        assert receive is not None
        if PROC_NULL in (send.peer, receive.peer):
            yield from self._send_or_receive(send if receive.peer == PROC_NULL else receive)
        else:
            yield from self._sendrecv(self._message(send), self._message(receive))

    def _sendrecv(self, send: Message, receive: Message) -> Steps:
        """Post the send, post the receive, then wait for both."""
        if send.destination != self.number or receive.source != self.number:
            sent = yield from self._post(send, "standard")
            received = yield from self._post(receive, None)
            yield from self._wait_for(sent, received)

    # Requests

    def _await(self, request: Request) -> None:
        """Add a request to those that the rank waits for."""
        if request.message is None or request.message.has_arrived:
            self._complete(request)
        else:
            request.message.waiting[request] = self._complete

    def _complete(self, request: Request) -> None:
        heapq.heappush(self._ready, (request.order, request))
        if self.waits_for is not None and not self.waits_for.triggered:
            self.waits_for.succeed(request)

    def _wait_for(self, *requests: Request) -> Steps:
        """Finish requests in the order in which they complete, oldest first among equals.

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
                yield from self._wait_for_others(self._clock.env.event())
            yield from self._finish(heapq.heappop(self._ready)[1])

    def _wait_for_others(self, event: simpy.Event) -> Generator[simpy.Event, None, object]:
        """Wait for an event of other ranks; returns its value, for a wait the completed request."""
        self.waits_for = event
        yield event
        self.waits_for = None
        return event.value

    def _finish(self, request: Request) -> Steps:
        """Release a complete request; a receive costs ``smpi/or``, but not after a rendezvous."""
        self._requests.drop(request)
        message = request.message
        if request.receives and message is not None and message.is_detached:
            overheads = self._messages.overheads[self.number]
            yield from self._clock.sleep(overheads.receive.at(message.nbytes))

    def _wait(self, action: Action) -> Steps:
        """Wait for all requests: collectives first, one after the other, as in SimGrid."""
        listed = self._requests.listed(action)
        for request in listed:
            if request.of_collective:
                yield from self._wait_for(request)
        yield from self._wait_for(*(request for request in listed if not request.of_collective))

    def _wait_until_all_end(self) -> Steps:
        """Wait for all pending requests."""
        for request in self._requests.freed:
            if not request.is_complete:
                request.order = next(self._orders)
                self._requests.pending[request] = None
        self._requests.freed.clear()
        while self._requests.pending:
            yield from self._wait(Action("waitall"))

    def _wait_any(self, action: Action) -> Steps:
        """Finish one request: one without a message, else the first to be complete."""
        listed = self._requests.listed(action)
        without = next((request for request in listed if request.message is None), None)
        if without is not None:
            yield from self._wait_for(without)
            return
        done = next((request for request in listed if request.is_complete), None)
        if done is None and listed:
            for request in listed:
                self._await(request)
            done = cast("Request", (yield from self._wait_for_others(self._clock.env.event())))
            for request in listed:
                if request.message is not None:
                    request.message.waiting.pop(request, None)
            self._ready.clear()
        if done is not None:
            yield from self._finish(done)

    def _wait_some(self, action: Action) -> Steps:
        """Wait for any, then test each of the others, as in SimGrid."""
        yield from self._wait_any(action)
        yield from self._test(action)

    # Tests

    def _test(self, action: Action) -> Steps:
        for request in self._requests.listed(action):
            yield from self._test_one(request if request in self._requests.pending else None)

    def _test_one(self, request: Request | None) -> Steps:
        """Sleep for a test, then finish the request (None: already finished) if it is complete."""
        seconds = self._world.polls["test"] * self._world.protocol.test_sleep
        if seconds > 0:
            yield from self._clock.sleep(seconds)
            if request is not None and request.message is not None:
                yield self._clock.after_woken()
        if request is None:
            return
        for place, part in enumerate(request.parts):  # including finished ones
            yield from self._test_one(part)
            if part is not None and part.is_complete:
                request.parts[place] = None
        success = request.is_complete and not any(request.parts)
        if success:
            yield from self._finish(request)
        self._world.note_poll("test", success=success)

    def _test_any(self, action: Action) -> Steps:
        if not any(request.message is not None for request in self._requests.listed(action)):
            return
        if self._world.protocol.test_sleep > 0:
            seconds = self._world.polls["testany"] * self._world.protocol.test_sleep
            yield from self._clock.sleep(seconds)
            yield self._clock.after_woken()
        listed = self._requests.listed(action)
        request = next((r for r in listed if r.message is not None and r.is_complete), None)
        if request is not None:
            yield from self._finish(request)
        self._world.note_poll("testany", success=request is not None)

    # Probes

    def _probe(self, action: Action) -> Steps:
        if action.peer != PROC_NULL:
            probe = self._probe_until_found if action.name == "probe" else self._probe_once
            yield from probe(self._message(action))

    def _probe_until_found(self, wanted: Message) -> Generator[simpy.Event, None, Message]:
        self.probed = wanted
        while (message := (yield from self._probe_once(wanted))) is None:
            if (self._probe_flops() <= 0 or self._world.all_stuck()) and self.is_stuck():
                event = self._messages.probing[self.number] = self._clock.env.event()
                yield from self._wait_for_others(event)
        self.probed = None
        return message

    def is_stuck(self) -> bool:
        """True if only other ranks can make this one continue, or it has finished."""
        if self.waits_for is not None:
            return not self.waits_for.triggered
        probes = self.probed is not None and self._messages.find(self.probed) is None
        return self.is_finished or probes

    def _probe_flops(self) -> float:
        protocol = self._world.protocol
        seconds = self._world.polls["probe"] * protocol.iprobe_sleep
        return seconds * self._hosts.speed(self.host) * protocol.iprobe_cpu_usage

    def _probe_once(self, wanted: Message) -> Generator[simpy.Event, None, Message | None]:
        """Compute for the time of a probe, then look for a message.

        If eager messages are possible, SimGrid looks for those first, for others `after_woken`.
        """
        flops = self._probe_flops()
        if flops > 0:
            yield self._hosts.execute(self.host, flops)
        found = self._messages.find(wanted)
        is_short = found is not None and found.is_flowing
        if self._world.protocol.eager_threshold > 0 and not is_short:
            yield self._clock.after_woken()
            found = self._messages.find(wanted)
        yield self._clock.after_woken()
        self._world.note_poll("probe", success=found is not None)
        return found

    # Persistent requests, cancelled and freed ones

    def _create_persistent(self, action: Action) -> None:
        self._address(action.peer, action.comm)  # raises if there is no such rank
        self._requests.make_persistent(action, self._comm(action.comm).number[self.number])

    def _start(self, action: Action) -> Steps:
        for persistent in self._requests.inactive(action):
            if persistent.action.peer != PROC_NULL:
                persistent.is_active = True
                yield from self._send_or_receive(persistent.action, persistent)

    def _cancel(self, action: Action) -> None:
        """Withdraw a request whose message is unmatched."""
        request = self._requests.named(action)
        if request and request.message and self._messages.withdraw(request.message):
            request.message = None

    # Collectives

    def _collective(self, action: Action) -> Steps:
        communicator = self._comm(action.comm)
        size = len(communicator.members)
        call, flops = collective_call(action, size)
        communicator.enter(self.number, action.name)
        if call.blocking and call.operation in self._world.protocol.synchronised:
            yield from self._wait_for_others(communicator.gather(self._clock.env.event()))
        write = partial(self._world.settings.write_call, call=cast("_core.CollectiveCall", call))
        named = (action.name, action.words, action.double)
        schedule = self._world.schedule(self.number, communicator, write, named)
        if not call.blocking and rows.WAITALL in schedule.kinds:
            raise InputError(
                f"the SimPy kernel does not support {action.name} in rounds, as in the MPI library "
                "selected by smpi/coll-selector; use --kernel core"
            )
        slots = yield from self._execute_schedule(schedule, communicator)
        if not call.blocking and not (call.operation == "bcast" and size == 1 and not slots):
            request = self._request(None)
            request.of_collective, request.parts = True, slots
            self._requests.add(request, action, communicator.number[self.number])
        if flops > 0:
            yield from self._execute(flops)

    def _execute_schedule(
        self, schedule: rows.Script, communicator: Communicator
    ) -> Generator[simpy.Event, None, list[Request | None]]:
        """Execute a schedule; returns the requests that it has started."""
        slots: dict[int, Request] = {}
        context = communicator.context + 1
        members = {ANY_SOURCE: ANY_SOURCE, **dict(enumerate(communicator.members))}
        steps = iter(
            zip(schedule.kinds, schedule.peers, schedule.sizes, schedule.tags, schedule.slots,
                strict=True)
        )  # fmt: skip

        def message(peer: int, size: float, tag: int, *, receives: bool) -> Message:
            ends = (members[peer], self.number) if receives else (self.number, members[peer])
            return Message(*ends, tag, context, int(size))

        def taken(*numbers: int) -> list[Request]:
            return [slots.pop(number) for number in numbers if number in slots]

        for kind, peer, size, tag, slot in steps:
            if kind in _POSTS:
                mode, is_immediate = _POSTS[kind]
                posted = message(peer, size, tag, receives=mode is None)
                request = yield from self._post(posted, mode, as_isend=is_immediate)
                if is_immediate:
                    slots[slot] = request
                else:
                    yield from self._wait_for(request)
            elif kind == rows.WAIT:
                yield from self._wait_for(*taken(slot))
            elif kind == rows.WAITALL:
                yield from self._wait_for(*taken(*(next(steps)[4] for _ in range(peer))))
            elif kind == rows.SENDRECV:
                received = message(*next(steps)[1:4], receives=True)
                yield from self._sendrecv(message(peer, size, tag, receives=False), received)
            else:  # a computation: traces with files are rejected
                yield from self._execute(size)
        return [slots.get(number) for number in range(schedule.requests)]

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
            yield from self._run_creation_stage(made, Stage.NUMBER)
        else:
            parent = self._comm(arguments[0])
            collective = parent.enter(self.number, action.name)
            if action.name == "comm_split":
                collective.colors[self.number] = (arguments[2], arguments[3])
                yield from self._agree_on_colors(parent, collective)
            elif not collective.created:
                collective.colors = dict.fromkeys(parent.members, (0, 0))
                self._world.communicators.split(parent, collective)
            if self.number not in collective.created:
                return
            made = self.comms[arguments[1]] = collective.created[self.number]
            if action.name != "comm_idup":
                yield from self._run_creation_stage(made, Stage.NUMBER)

    def _agree_on_colors(self, parent: Communicator, collective: CollectiveInstance) -> Steps:
        """Rank 0 gathers the colors and keys, then sends every other rank its communicator."""
        groups: list[list[int]] = []
        if parent.members[0] == self.number:
            yield from self._run_creation_stage(parent, Stage.COLORS)
            groups = self._world.communicators.split(parent, collective)
        joins = collective.colors[self.number][0] >= 0
        yield from self._run_creation_stage(parent, Stage.GROUPS, joins, groups)

    def _run_creation_stage(
        self,
        communicator: Communicator,
        stage: Stage,
        joins: bool = True,
        groups: Sequence[Sequence[int]] = (),
    ) -> Steps:
        """Exchange the messages of a stage in the creation of a communicator."""
        settings = self._world.settings
        write = partial(settings.write_stage, stage=stage, joins=joins, groups=groups)
        schedule = self._world.schedule(self.number, communicator, write)
        yield from self._execute_schedule(schedule, communicator)

    _METHODS: Final[dict[str, Callable[[Rank, Action], Steps | None]]] = {
        "compute": _compute,
        "sleep": _sleep,
        "sendrecv": _sendrecv_action,
        **dict.fromkeys(("recv", "irecv", *SENDS), _send_or_receive),
        **dict.fromkeys(("recv_init", *SEND_INITS), _create_persistent),
        **dict.fromkeys(("start", "startall"), _start),
        **dict.fromkeys(("comm_split", "comm_dup", "comm_idup"), _make_communicator),
        **dict.fromkeys(("comm_group", "comm_free"), _make_communicator),
        **dict.fromkeys((*COLLECTIVES, *(f"i{name}" for name in COLLECTIVES)), _collective),
        **dict.fromkeys(("wait", "wait_last", "waitall"), _wait),
        **dict.fromkeys(("waitany_recorded", "waitsome_recorded"), _wait),
        **dict.fromkeys(("test", "test_last", "testall", "testsome"), _test),
        "waitany": _wait_any,
        "waitsome": _wait_some,
        "testany": _test_any,
        **dict.fromkeys(("probe", "iprobe"), _probe),
        "cancel": _cancel,
        "request_free": lambda self, action: self._requests.free(action),
    }
