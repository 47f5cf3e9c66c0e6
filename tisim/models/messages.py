r"""Messages between ranks: matching, and the regimes of MPI's protocol.

A message of :math:`s` bytes is *eager* if :math:`s < s_e` (``smpi/async-small-thresh``): its
transfer starts when it is sent. It is *detached* if :math:`s < s_d`
(``smpi/send-is-detached-thresh``): the sender continues at once, the transfer starts when the
receive is posted. Otherwise it is a *rendezvous*: the sender waits for the end of the transfer
(Bedaride et al., PMBS 2013; SimGrid 3.32, ``smpi_request.cpp``; docs/protocol.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tisim.traces.rank_requests import NamedRequest
from tisim.traces.text_program import ANY_SOURCE, ANY_TAG

if TYPE_CHECKING:
    import simpy

    from tisim.models.network import NetworkModel
    from tisim.simulation.settings import Settings


@dataclass(slots=True, eq=False)
class Message:
    """A message from the posting of its first end until it has arrived."""

    source: int  # ranks of the world; the source of a posted receive may be `ANY_SOURCE`
    destination: int
    tag: int
    context: int  # of its communicator and kind: messages of different contexts never match
    nbytes: int = 0  # of the send once known, of the receive buffer before
    is_detached: bool = False
    is_flowing: bool = False
    has_arrived: bool = False
    # Requests that a rank waits for, with the callbacks to notify, in the order of the waits.
    waiting: dict[Request, Callable[[Request], None]] = field(default_factory=dict)

    def matches(self, receive: Message) -> bool:
        """True if a posted receive matches this message."""
        return (
            receive.context == self.context
            and receive.source in (self.source, ANY_SOURCE)
            and receive.tag in (self.tag, ANY_TAG)
        )

    def arrive(self) -> None:
        """Notify the waiting requests."""
        self.has_arrived = True
        for request, notify in self.waiting.items():
            notify(request)


@dataclass(slots=True, eq=False)
class Request(NamedRequest):
    """A rank's end of a message, or a non-blocking collective, until it is finished."""

    message: Message | None = None  # None if there is none (any more)
    order: int = 0  # of posting
    receives: bool = False
    # For a non-blocking collective: its requests, None once they are finished.
    parts: list[Request | None] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """True if a wait for it would not block."""
        return self.message is None or self.message.has_arrived


class PointToPoint:
    """Matches sends and receives in MPI's order (MPI 3.1, section 3.5); starts their transfers.

    `hosts`: the host of each rank. A message moves ``tisim/envelope`` bytes in addition to its own.
    """

    def __init__(self, hosts: list[int], settings: Settings, network: NetworkModel) -> None:
        self.hosts, self.network, self.protocol = hosts, network, settings.protocol
        self.overheads = [settings.overheads_of(host) for host in hosts]
        self.envelope = settings.network.envelope
        self.receives: list[list[Message]] = [[] for _ in hosts]  # posted, by their ranks
        self.unexpected: list[list[Message]] = [[] for _ in hosts]  # sent, by destination
        #: By rank: event of the next message sent to it, after which it probes again.
        self.probing: dict[int, simpy.Event] = {}

    def is_detached(self, nbytes: int, mode: str) -> bool:
        """True if the sender continues at once."""
        is_short = nbytes < self.protocol.detached_threshold
        return mode != "synchronous" if is_short else mode == "buffered"

    def send_overhead(self, rank: int, nbytes: int, mode: str, *, as_isend: bool) -> float:
        """Seconds before a send is posted (``smpi/os``, ``smpi/ois``).

        A blocking rendezvous pays none, as it waits for the transfer.
        """
        if as_isend:
            return self.overheads[rank].isend.at(nbytes)
        if mode == "synchronous" or self.is_detached(nbytes, mode):
            return self.overheads[rank].send.at(nbytes)
        return 0.0

    def find(self, receive: Message) -> Message | None:
        """Return the first unexpected message that matches a receive."""
        sent = self.unexpected[receive.destination]
        return next((message for message in sent if message.matches(receive)), None)

    def post_send(self, sent: Message, mode: str) -> Message:
        """Post a send; it takes the first posted receive that matches."""
        sent.is_detached = self.is_detached(sent.nbytes, mode)
        posted = self.receives[sent.destination]
        message = next((receive for receive in posted if sent.matches(receive)), None)
        if message is not None:
            posted.remove(message)
            message.source, message.nbytes = sent.source, sent.nbytes
            message.is_detached = sent.is_detached
            self._start(message)
            return message
        self.unexpected[sent.destination].append(sent)
        if event := self.probing.pop(sent.destination, None):
            event.succeed()
        if sent.is_detached and sent.nbytes < self.protocol.eager_threshold:
            self._start(sent)
        return sent

    def post_receive(self, receive: Message) -> Message:
        """Post a receive."""
        message = self.find(receive)
        if message is None:
            self.receives[receive.destination].append(receive)
            return receive
        self.withdraw(message)
        if not message.is_flowing:
            self._start(message)
        return message

    def withdraw(self, message: Message) -> bool:
        """Remove an unmatched message or receive; false if it is matched."""
        for waiting in (self.receives, self.unexpected):
            if message in waiting[message.destination]:
                waiting[message.destination].remove(message)
                return True
        return False

    def _start(self, message: Message) -> None:
        message.is_flowing = True
        source, destination = self.hosts[message.source], self.hosts[message.destination]
        size = float(message.nbytes) + self.envelope
        self.network.transfer(source, destination, size, message.arrive)
