"""Wait states of a real run: which ranks called late and made others wait.

The definitions are those of `docs/results.md`, which are Scalasca's: a receive waits until its
sender has called, a collective until the last rank has called. Arrival times of messages are not
measured, only when the receiver continued. The rest of a call after its wait is `transfer`, or
`overhead` if it does not wait.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.measured.calls import Actions
from tisim.analysis.timeline.columns import STATES, collective_waits, names_of_kinds

_BLOCKING_SENDS = names_of_kinds("send", blocks=True)
_POSTED_SENDS = names_of_kinds("send", makes_request=True)
_COMPLETING = names_of_kinds(*(f"complete_{of}" for of in ("one", "last", "all", "any", "some")))
_COMPUTING = ("compute", "sleep")
# The wait state of each collective in which the awaited rank is known.
_COLLECTIVES = {name: state for name, state in collective_waits().items() if state != "early scan"}


@dataclass(frozen=True)
class Waits:
    """The wait of each action.

    `until` is the end of the wait in seconds (NaN: no wait) and `state` its wait state, an index
    in `STATES`; `rest` is the state of the rest of the call; `cause` the late rank; `peer` and
    `bytes` those of the last message received by the call (-1: none). `arrived` is the time at
    which the receiver of each message continued (NaN: unknown).
    """

    until: NDArray[np.float64]
    state: NDArray[np.uint8]
    rest: NDArray[np.uint8]
    cause: NDArray[np.int32]
    peer: NDArray[np.int32]
    bytes: NDArray[np.int64]
    arrived: NDArray[np.float64]


def waits_of(actions: Actions) -> Waits:
    """Return the wait states of a run whose actions all have times."""
    count = len(actions.rows)
    rest = np.full(count, STATES.index("overhead"), np.uint8)
    for kind in _COMPUTING:
        rest[actions.kinds == kind] = STATES.index(kind)
    waits = Waits(
        np.full(count, np.nan),
        np.zeros(count, np.uint8),
        rest,
        np.full(count, -1, np.int32),
        np.full(count, -1, np.int32),
        np.full(count, -1, np.int64),
        np.full(len(actions.messages), np.nan),
    )
    _receivers(waits, actions)
    _senders(waits, actions)
    _collectives(waits, actions)
    return waits


def _receivers(waits: Waits, actions: Actions) -> None:
    """Set the waits of calls that complete receives: until the last of the senders has called."""
    start, end = actions.start, actions.end
    completed = _completions(actions)
    known = np.flatnonzero(completed >= 0)
    # The last sender of a call is assigned last and therefore remains.
    known = known[np.argsort(start[actions.send[known]], kind="stable")]
    call, sent = completed[known], start[actions.send[known]]
    waits.arrived[known] = end[call]
    waits.rest[call] = STATES.index("transfer")
    waits.peer[call] = actions.messages["source"][known]
    waits.bytes[call] = actions.messages["bytes"][known]
    late = sent > start[call]
    call = call[late]
    waits.until[call] = np.minimum(sent[late], end[call])
    waits.state[call] = STATES.index("late sender")
    waits.cause[call] = waits.peer[call]


def _completions(actions: Actions) -> NDArray[np.intp]:
    """Return the call that completes each receive, -1 if unknown.

    A blocking receive completes itself. For others the requests in the trace are not consulted: a
    wait for one takes the oldest from that rank, a call for several all sent by its end.
    """
    kinds, end = actions.kinds, actions.end
    completed = actions.receive.copy()
    posting = kinds[actions.receive] == "irecv"
    completed[posting] = -1
    message_of = dict(zip(actions.receive[posting].tolist(), np.flatnonzero(posting), strict=True))
    is_send = np.isin(kinds, [*_POSTED_SENDS])
    wanted = np.flatnonzero(is_send | np.isin(kinds, ["irecv", *_COMPLETING]))
    rank, peers = actions.rows["rank"], actions.rows["peer"]
    sent, source = actions.start[actions.send], actions.messages["source"]
    # Incomplete receives of the current rank, and the number of its sends, by peer.
    pending: dict[int, deque[int]] = {}
    sends: dict[int, int] = {}
    before = -1
    for place in wanted.tolist():
        if rank[place] != before:
            before = rank[place]
            pending, sends = {}, {}
        peer = int(peers[place])
        if place in message_of:
            message = int(message_of[place])
            pending.setdefault(int(source[message]), deque()).append(message)
        elif is_send[place]:
            sends[peer] = sends.get(peer, 0) + 1
        elif kinds[place] in ("wait", "test") and peer >= 0:
            if pending.get(peer):
                completed[pending[peer].popleft()] = place
            elif sends.get(peer):
                sends[peer] -= 1
        else:
            for from_one in pending.values():
                while from_one and sent[from_one[0]] <= end[place]:
                    completed[from_one.popleft()] = place
    return completed


def _senders(waits: Waits, actions: Actions) -> None:
    """Set the waits of blocking sends that last beyond the posting of their receive."""
    start, end = actions.start, actions.end
    call, posted = actions.send, start[actions.receive]
    late = (
        np.isin(actions.kinds[call], [*_BLOCKING_SENDS])
        & (posted > start[call])
        & (posted < end[call])
    )
    call = call[late]
    waits.until[call] = posted[late]
    waits.state[call] = STATES.index("late receiver")
    waits.rest[call] = STATES.index("transfer")
    waits.cause[call] = waits.peer[call] = actions.messages["destination"][late]
    waits.bytes[call] = actions.messages["bytes"][late]


def _collectives(waits: Waits, actions: Actions) -> None:
    """Set the waits in collectives of all ranks: until the last rank that each one needs."""
    start, end = actions.start, actions.end
    ranks = len(actions.first) - 1
    is_one = np.isin(actions.kinds, [*_COLLECTIVES])
    waits.rest[is_one] = STATES.index("transfer")
    is_one &= actions.rows["comm"] == 0
    of_rank = [
        np.flatnonzero(is_one[first:last]) + first
        for first, last in zip(actions.first[:-1], actions.first[1:], strict=True)
    ]
    for calls in zip(*of_rank, strict=False) if ranks > 1 else ():
        here = np.array(calls)
        last = int(start[here].argmax())
        state = _COLLECTIVES[str(actions.kinds[here[0]])]
        root = int(actions.rows["peer"][here[0]])
        who, cause = np.arange(ranks) != last, last
        if state == "late broadcast":
            who, cause = start[here] < start[here[root]], root
        elif state == "early reduce":
            who &= np.arange(ranks) == root
        waiting = here[who]
        waits.until[waiting] = np.minimum(start[here[cause]], end[waiting])
        waits.state[waiting] = STATES.index(state)
        waits.cause[waiting] = cause
