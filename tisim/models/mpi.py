r"""Messages, requests and communicators of the SimPy kernel.

A message of :math:`s` bytes is *eager* if :math:`s < s_e` (``smpi/async-small-thresh``): its
transfer starts when it is sent. It is *detached* if :math:`s < s_d`
(``smpi/send-is-detached-thresh``): the sender goes on at once, the transfer starts when the receive
is posted. Otherwise it is a *rendezvous*: the sender waits for the end of the transfer (Bedaride et
al., PMBS 2013; SimGrid 3.32, ``smpi_request.cpp``; docs/protocol.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import simpy

from tisim.traces.text_program import ANY_SOURCE, ANY_TAG, Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from tisim.config.table import Overheads, Protocol
    from tisim.kernel.driver import Group
    from tisim.models.network import NetworkModel


class Side(IntEnum):
    """An end of a message."""

    SENDER = 0
    RECEIVER = 1

    @property
    def other(self) -> Side:
        return Side(1 - self)


class Mode(IntEnum):
    """The modes of MPI's sends."""

    STANDARD = 0
    SYNCHRONOUS = 1
    BUFFERED = 2


@dataclass(slots=True, eq=False)
class Message:
    """A message from the posting of its first end until it has arrived.

    Attributes
    ----------
    source, destination
        Ranks of the world; the source of a posted receive may be `ANY_SOURCE`.
    context
        Of its communicator and kind: messages of different ones never match.
    nbytes
        Of the send once it is known, of the buffer before.
    waiter
        What each end waits with: a rank's event in a blocking call, or a request.
    first_waiter
        The end whose wait was registered first; it is told first of the arrival.
    """

    source: int
    destination: int
    tag: int
    context: int
    nbytes: int
    is_detached: bool = False
    is_matched: bool = False
    is_flowing: bool = False
    has_arrived: bool = False
    waiter: list[simpy.Event | Request | None] = field(default_factory=lambda: [None, None])
    first_waiter: Side | None = None

    def register(self, side: Side) -> None:
        """Note that an end waits."""
        if self.first_waiter is None:
            self.first_waiter = side

    def arrive(self) -> None:
        """Tell both ends that the message is there."""
        self.has_arrived = True
        if not self.is_matched:
            return  # eager, before its receive
        first = Side.SENDER if self.first_waiter is None else self.first_waiter
        for side in (first, first.other):
            waiter = self.waiter[side]
            if isinstance(waiter, Request):
                waiter.complete()
            elif waiter is not None:
                waiter.succeed()


@dataclass(slots=True, eq=False)
class Request:
    """A request of MPI.

    Attributes
    ----------
    message, side
        Its message (None: there is none, or no more) and which end it is.
    order
        Of posting.
    key
        Source, destination, tag and communicator, by which a wait names it.
    parts
        Of a non-blocking collective: its requests, None once they are finished.
    awaited
        Told when it is complete, if its rank waits for it.
    """

    message: Message | None
    side: Side
    order: int
    key: tuple[int, int, int, int] = (0, 0, 0, 0)
    is_complete: bool = False
    source_lost: bool = False
    parts: list[Request | None] | None = None
    persistent: Persistent | None = None
    awaited: Callable[[Request], None] | None = None

    def complete(self) -> None:
        """Note that the message has arrived."""
        self.is_complete = True
        if self.awaited is not None:
            self.awaited(self)

    def has_key(self, key: tuple[int, int, int, int]) -> bool:
        """True if a wait or test with this key may name it."""
        own = (key[0], *self.key[1:]) if self.source_lost else self.key
        return self.parts is None and own == key


@dataclass(slots=True, eq=False)
class Persistent:
    """A persistent request: what its starts do, and the key of `Request`."""

    action: Action
    key: tuple[int, int, int, int]
    is_active: bool = False


@dataclass(slots=True, eq=False)
class Communicator:
    """Some ranks of the world, and the collectives that they are in.

    Attributes
    ----------
    members
        Ranks of the world, by their number in the communicator.
    context
        Of its messages, even; those of its collectives have the next number.
    entered
        How many collectives each member has entered.
    begun
        The collectives that some have entered: the name, and what members said (`comm_split`).
    gathered
        Who waits for the others before a collective (``smpi/barrier-collectives``).
    group
        What algorithms may know of it.
    """

    members: list[int]
    context: int
    group: Group
    entered: list[int] = field(init=False)
    begun: dict[int, Begun] = field(default_factory=dict)
    gathered: list[simpy.Event] = field(default_factory=list)
    number: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.entered = [0] * len(self.members)
        self.number = {rank: number for number, rank in enumerate(self.members)}


@dataclass(slots=True, eq=False)
class Begun:
    """A collective that not all members have entered or left.

    `name`: what the first called. `colors`: of a `comm_split`: color and key of each member. `made`
    is the new communicator of each member.
    """

    name: str
    left: int
    colors: dict[int, tuple[int, int]] = field(default_factory=dict)
    made: dict[int, Communicator] = field(default_factory=dict)


class Matcher:
    """Sends and receives that wait for one another, in MPI's order (MPI 3.1, section 3.5)."""

    def __init__(self, ranks: int) -> None:
        self._receives: list[list[Message]] = [[] for _ in range(ranks)]
        self._unexpected: list[list[Message]] = [[] for _ in range(ranks)]

    def take_receive(self, source: int, destination: int, tag: int, context: int) -> Message | None:
        """The receive that a message takes: the first posted one that fits."""
        for receive in self._receives[destination]:
            if (
                receive.context == context
                and receive.source in (source, ANY_SOURCE)
                and receive.tag in (tag, ANY_TAG)
            ):
                self._receives[destination].remove(receive)
                return receive
        return None

    def find_message(self, source: int, destination: int, tag: int, context: int) -> Message | None:
        """The message that a receive would take: the first sent one that fits."""
        for message in self._unexpected[destination]:
            if (
                message.context == context
                and source in (message.source, ANY_SOURCE)
                and tag in (message.tag, ANY_TAG)
            ):
                return message
        return None

    def post(self, receive: Message) -> None:
        """Let a receive wait for its message."""
        self._receives[receive.destination].append(receive)

    def leave(self, message: Message) -> None:
        """Let a message wait for its receive."""
        self._unexpected[message.destination].append(message)

    def withdraw(self, message: Message) -> None:
        """Take out what waits."""
        for waiting in (self._receives, self._unexpected):
            if message in waiting[message.destination]:
                waiting[message.destination].remove(message)


class PointToPoint:
    """Posts sends and receives, and starts their transfers.

    `hosts` is the host of each rank. `protocol`: thresholds. `overheads`: of the host of each rank.
    `network`: carries the messages. `envelope`: bytes that each message moves on top of its own.
    """

    def __init__(
        self,
        hosts: list[int],
        protocol: Protocol,
        overheads: list[Overheads],
        network: NetworkModel,
        envelope: int,
    ) -> None:
        self._hosts, self._protocol, self._overheads = hosts, protocol, overheads
        self._network, self._envelope = network, envelope
        self.matcher = Matcher(len(hosts))
        #: By rank, until any message is sent to it, to probe again.
        self.probing: dict[int, simpy.Event] = {}

    def is_detached(self, nbytes: int, mode: Mode) -> bool:
        """True if the sender goes on at once."""
        if nbytes < self._protocol.detached_threshold:
            return mode is not Mode.SYNCHRONOUS
        return mode is Mode.BUFFERED

    def send_overhead(self, rank: int, nbytes: int, mode: Mode, *, as_isend: bool) -> float:
        """Seconds before a send is posted (``smpi/os``, ``smpi/ois``).

        A blocking rendezvous pays none: it waits for the transfer anyway.
        """
        if as_isend:
            return self._overheads[rank].isend.at(nbytes)
        if mode is Mode.SYNCHRONOUS or self.is_detached(nbytes, mode):
            return self._overheads[rank].send.at(nbytes)
        return 0.0

    def receive_overhead(self, rank: int, message: Message) -> float:
        """Seconds that a completed receive costs (``smpi/or``): not after a rendezvous."""
        return self._overheads[rank].receive.at(message.nbytes) if message.is_detached else 0.0

    def post_send(
        self, source: int, destination: int, tag: int, context: int, nbytes: int, mode: Mode
    ) -> Message:
        """Post a send."""
        detached = self.is_detached(nbytes, mode)
        receive = self.matcher.take_receive(source, destination, tag, context)
        message = receive or Message(source, destination, tag, context, nbytes)
        message.source, message.nbytes, message.is_detached = source, nbytes, detached
        if receive is not None:
            message.is_matched = True
        else:
            self.matcher.leave(message)
            if event := self.probing.pop(destination, None):
                event.succeed()
        if receive is not None or (detached and nbytes < self._protocol.eager_threshold):
            self._start(message)
        return message

    def post_receive(
        self, source: int, destination: int, tag: int, context: int, nbytes: int
    ) -> Message:
        """Post a receive."""
        message = self.matcher.find_message(source, destination, tag, context)
        if message is None:
            message = Message(source, destination, tag, context, nbytes)
            self.matcher.post(message)
            return message
        self.matcher.withdraw(message)
        message.is_matched = True
        if not message.is_flowing:
            self._start(message)
        return message

    def _start(self, message: Message) -> None:
        message.is_flowing = True
        source, destination = self._hosts[message.source], self._hosts[message.destination]
        size = float(message.nbytes) + self._envelope
        self._network.transfer(source, destination, size, message.arrive)
