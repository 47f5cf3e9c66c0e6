"""Executes the schedules of all ranks of a collective by MPI's rules, without a simulator.

`execute` fails if a real MPI could deadlock (no message is buffered: every send waits for its
receive), leave a message or a request behind, or truncate a message.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tisim._core import CollectiveCall, Stage
from tisim.actions import script as codes
from tisim.actions.collectives.communicators import write_stage
from tisim.actions.script import ANY_SOURCE, Script
from tisim.actions.vocabulary import CollectiveConfig, write_call


@dataclass(frozen=True)
class Outcome:
    """The data that a rank has received.

    Attributes
    ----------
    seen
        Ranks whose data can have reached it, through a chain of messages.
    received
        Bytes of all messages to it.
    """

    seen: set[int]
    received: float


@dataclass(eq=False)
class Half:
    """A posted send or receive."""

    nbytes: float
    seen: set[int]
    done: bool = False
    peer: Half | None = None


@dataclass
class Mailbox:
    """Unmatched sends and receives of one destination: (source, tag, half)."""

    sends: deque[tuple[int, int, Half]] = field(default_factory=deque)
    receives: deque[tuple[int, int, Half]] = field(default_factory=deque)


class _Rank:
    """One rank that executes its schedule."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.next = 0
        self.seen = {script.rank}
        self.received = 0.0
        self.requests: dict[int, Half] = {}
        self.blocked_by: list[Half] = []


def write_schedules(
    size: int, write: Callable[[Script], None], placement: Sequence[int] | None = None
) -> list[Script]:
    """Return the schedules of all ranks, calling `write` for each."""
    scripts = [Script(rank, size, placement) for rank in range(size)]
    for script in scripts:
        write(script)
    return scripts


def execute(scripts: Sequence[Script]) -> list[Outcome]:
    """Run the schedules of all ranks together."""
    ranks = [_Rank(script) for script in scripts]
    boxes: dict[int, Mailbox] = defaultdict(Mailbox)
    moved = True
    while moved:
        moved = sum(_advance(rank, boxes) for rank in ranks) > 0
    stuck = [(rank.script.rank, rank.next) for rank in ranks if rank.next < len(rank.script.kinds)]
    assert not stuck, f"deadlock: (rank, row) {stuck}"
    for destination, box in boxes.items():
        assert not box.sends, f"messages to {destination} that nobody receives"
        assert not box.receives, f"receives of {destination} that nobody serves"
    for rank in ranks:
        assert not rank.requests, f"rank {rank.script.rank} leaves requests behind"
    return [Outcome(rank.seen, rank.received) for rank in ranks]


def _advance(rank: _Rank, boxes: dict[int, Mailbox]) -> bool:
    """Execute until a row blocks; true if any row was executed."""
    before = rank.next
    while True:
        if not all(half.done for half in rank.blocked_by):
            return rank.next > before
        for half in rank.blocked_by:
            if half.peer is not None:
                rank.seen |= half.peer.seen
                rank.received += half.peer.nbytes
        rank.blocked_by = []
        if rank.next == len(rank.script.kinds):
            return rank.next > before
        _execute_row(rank, boxes)


def _execute_row(rank: _Rank, boxes: dict[int, Mailbox]) -> None:
    script, row = rank.script, rank.next
    kind, peer, slot = script.kinds[row], script.peers[row], script.slots[row]
    rank.next += 1
    if kind in (codes.SEND, codes.SSEND, codes.RECV):
        rank.blocked_by = [_post(rank, row, boxes)]
    elif kind in (codes.ISEND, codes.IRECV):
        assert slot not in rank.requests
        rank.requests[slot] = _post(rank, row, boxes)
    elif kind == codes.SENDRECV:
        assert script.kinds[row + 1] == codes.RECV_HALF
        rank.blocked_by = [_post(rank, row, boxes), _post(rank, row + 1, boxes)]
        rank.next += 1
    elif kind == codes.WAIT:
        rank.blocked_by = [rank.requests.pop(slot)]
    elif kind == codes.WAITALL:
        slots = script.slots[row + 1 : row + 1 + peer]
        rank.blocked_by = [rank.requests.pop(request) for request in slots]
        rank.next += peer
    else:
        assert kind == codes.COMPUTE


def _post(rank: _Rank, row: int, boxes: dict[int, Mailbox]) -> Half:
    script = rank.script
    peer, tag, nbytes = script.peers[row], script.tags[row], script.sizes[row]
    assert nbytes >= 0
    if script.kinds[row] in (codes.RECV, codes.IRECV, codes.RECV_HALF):
        return _post_receive(boxes[script.rank], peer, tag, Half(nbytes, set()))
    assert 0 <= peer < script.size
    return _post_send(boxes[peer], script.rank, tag, Half(nbytes, set(rank.seen)))


def _post_receive(box: Mailbox, source: int, tag: int, receive: Half) -> Half:
    for posted in box.sends:
        if posted[1] == tag and source in (posted[0], ANY_SOURCE):
            box.sends.remove(posted)
            _meet(posted[2], receive)
            return receive
    box.receives.append((source, tag, receive))
    return receive


def _post_send(box: Mailbox, source: int, tag: int, send: Half) -> Half:
    for posted in box.receives:
        if posted[1] == tag and posted[0] in (source, ANY_SOURCE):
            box.receives.remove(posted)
            _meet(send, posted[2])
            return send
    box.sends.append((source, tag, send))
    return send


def _meet(send: Half, receive: Half) -> None:
    assert send.nbytes <= receive.nbytes, f"{send.nbytes} bytes sent, room for {receive.nbytes}"
    send.done = receive.done = True
    receive.peer = send


def comm_split(s: Script, joins: bool, groups: Sequence[Sequence[int]]) -> None:
    """Write the schedule of a rank in MPI_Comm_split, without the broadcast of the new number."""
    if s.rank == 0:
        write_stage(s, Stage.COLORS, joins, groups)
    write_stage(s, Stage.GROUPS, joins, groups)


#: Algorithms that, as in SimGrid, do not bring all of the root's data to every rank.
PARTIAL = {"mvapich2_inter_node", "mvapich2_intra_node", "flattree_pipeline"}


def check(
    operation: str, outcomes: list[Outcome], root: int, arguments: list[tuple[Any, ...]]
) -> None:
    """Check the bytes received and the ranks seen; `arguments`: those of each rank."""
    size = len(outcomes)
    for rank, outcome in enumerate(outcomes):
        assert outcome.received >= needed(operation, rank, size, root, arguments[rank])
    if operation.endswith("v") or operation == "reduce_scatter":
        return
    if arguments[0] and 0 in arguments[0][:2]:  # no elements, or zero width
        return
    everybody = set(range(size))
    for rank, outcome in enumerate(outcomes):
        if operation in ("bcast", "scatter"):
            assert root in outcome.seen
        elif operation in ("scan", "exscan"):
            assert outcome.seen >= set(range(rank + 1))
        elif rank == root or operation not in ("gather", "reduce"):
            assert outcome.seen == everybody


def needed(operation: str, rank: int, size: int, root: int, arguments: tuple[Any, ...]) -> int:
    """Return the bytes of other ranks' data that a rank must receive; 0 for reductions."""
    if operation == "bcast":
        return int(arguments[0] * arguments[1]) if rank != root else 0
    if operation in ("scatter", "scatterv"):
        return int(arguments[2] * arguments[3]) if rank != root else 0
    if operation in ("gather", "gatherv") and rank != root:
        return 0
    if operation in ("gather", "allgather", "alltoall"):
        return int((size - 1) * arguments[2] * arguments[3])
    if operation in ("gatherv", "allgatherv", "alltoallv"):
        return int((sum(arguments[2]) - arguments[2][rank]) * arguments[3])
    return 0


def expand(
    call: CollectiveCall,
    *,
    rank: int,
    placement: Sequence[int] | None,
    config: CollectiveConfig,
    order: Sequence[int] | None = None,
    exchanged_parts: frozenset[int] = frozenset(),
) -> Script:
    """Return the schedule of one rank for one collective call; see `Script` and `write_call`."""
    choose = config.algorithm
    script = Script(
        rank, call.size, placement, order=order, exchanged_parts=exchanged_parts, choose=choose
    )
    write_call(script, call, config)
    return script
