"""Compare the messages of SimGrid's collective calls with those that tisim schedules.

Both are converted to a common form, a list of events for each rank and call:

- ``(kind, peer, bytes)`` with kind ``send``, ``isend``, ``ssend`` or ``recv`` starts a request
  (a ``send`` blocks, a ``recv`` may or may not);
- ``("wait", numbers)`` waits for the requests with these numbers, counted from 0 in the order in
  which the rank started them, as one MPI_Wait or MPI_Waitall.

`check` requires that they are equal, and that the same sends match the same receives.
SimGrid's messages come from its log of requests, in one run of `messages.cpp` for many calls.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.oracle.simgrid_exec import OracleError, cause_of, compiled, run_all
from tests.unit.collectives.schedule_checks import expand
from tisim._core import decode_call
from tisim.actions import script as codes
from tisim.actions.collectives.catalogue import Algorithm, algorithm

SOURCE = Path(__file__).with_name("messages.cpp")
OPERATIONS = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "reduce", "reduce_scatter", "scatter",
)  # fmt: skip
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-63" speed="1Gf" bw="1GBps" lat="10us"/>
</platform>
"""

Event = tuple[str, int, int] | tuple[str, frozenset[int]]


@dataclass(frozen=True)
class Call:
    """One collective call of all ranks.

    Parameters
    ----------
    lines
        The line of the trace without the rank, such as ``"bcast 100 0 6"``; one for all ranks or
        one for each.
    choose
        The algorithm or selector of each operation that is not `default`.
    """

    lines: str | Sequence[str]
    choose: Mapping[str, str] = field(default_factory=dict)

    def line(self, rank: int) -> str:
        """Return the line of a rank."""
        return self.lines if isinstance(self.lines, str) else self.lines[rank]

    def collective(self, operation: str) -> str:
        """Return the configuration's name of the algorithm or selector of `operation`."""
        return self.choose.get(operation, "default")

    def algorithm(self, operation: str) -> Algorithm:
        """Return the algorithm or selector of `operation`."""
        return algorithm(operation, self.collective(operation))

    @property
    def selector(self) -> str:
        """Return the name of the selector."""
        return "default"


def selected(selector: str) -> dict[str, str]:
    """Return a choice in which `selector` decides the algorithm of every operation."""
    return dict.fromkeys(OPERATIONS, selector)


@dataclass
class Trail:
    """The events of one rank in one call, and the tag of each request that it starts."""

    events: list[Event] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)

    def start(self, kind: str, peer: int, nbytes: int, tag: int) -> int:
        """Add a request and return its number."""
        self.events.append((kind, peer, nbytes))
        self.tags.append(tag)
        return len(self.tags) - 1

    def wait(self, numbers: frozenset[int]) -> None:
        """Add a wait, unless there are no requests to wait for."""
        if numbers:
            self.events.append(("wait", numbers))


def check(calls: Sequence[Call], hosts: Sequence[int], cfg: Sequence[str] = ()) -> None:
    """Assert that SimGrid and tisim send the same messages in the same order.

    Parameters
    ----------
    calls
        The calls of the ranks on the world communicator, in order.
    hosts
        The number of the host of each rank, below 64.
    cfg
        Items of SimGrid's configuration, each ``KEY:VALUE``.
    """
    theirs = simgrid(calls, hosts, cfg)
    ours = tisim(calls, hosts)
    for call, their, our in zip(calls, theirs, ours, strict=True):
        for rank in range(len(hosts)):
            a, b = their[rank].events, our[rank].events
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))  # noqa: B905
                raise AssertionError(
                    f"{call} on {list(hosts)}: rank {rank} differs at event {at} "
                    f"of {len(a)} and {len(b)}\n"
                    f"  SimGrid {a[max(0, at - 3) : at + 6]}\n"
                    f"  tisim   {b[max(0, at - 3) : at + 6]}"
                )
        assert meetings(their) == meetings(our), f"{call} on {list(hosts)}: other messages meet"


def meetings(call: Sequence[Trail]) -> set[tuple[int, int, int, int]]:
    """Return matching sends and receives: (source, its request, destination, its request).

    If a rank receives from any source, matching depends on time: the result is empty.
    """
    sent: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    received: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for rank, trail in enumerate(call):
        starts = [event for event in trail.events if event[0] != "wait"]
        for number, (start, tag) in enumerate(zip(starts, trail.tags, strict=True)):
            peer = start[1]
            assert isinstance(peer, int)
            if peer == codes.ANY_SOURCE:
                return set()
            if start[0] == "recv":
                received[peer, rank, tag].append(number)
            else:
                sent[rank, peer, tag].append(number)
    return {
        (key[0], send, key[1], receive)
        for key in sent
        for send, receive in zip(sent[key], received[key], strict=True)
    }


def tisim(calls: Sequence[Call], hosts: Sequence[int]) -> list[list[Trail]]:
    """Return tisim's schedule: for each call, for each rank."""
    size = len(hosts)
    exchanged_parts: list[frozenset[int]] = [frozenset()] * size
    result = []
    for call in calls:
        trails = []
        for rank in range(size):
            script = expand_line(call, rank, hosts, exchanged_parts[rank])
            exchanged_parts[rank] = script.exchanged_parts
            trails.append(trail_of(script))
        result.append(trails)
    return result


def expand_line(
    call: Call, rank: int, hosts: Sequence[int], exchanged_parts: frozenset[int] = frozenset()
) -> codes.Script:
    """Return the schedule of one rank."""
    word, *numbers = call.line(rank).split()
    return expand(
        decode_call(word, [float(number) for number in numbers], len(hosts)),
        rank=rank,
        placement=tuple(hosts),
        config=call,
        exchanged_parts=exchanged_parts,
    )


def trail_of(script: codes.Script) -> Trail:
    """Convert a schedule to the common form."""
    trail = Trail()
    number: dict[int, int] = {}
    half, group, left = -1, set[int](), 0
    rows = zip(script.kinds, script.peers, script.sizes, script.tags, script.slots, strict=True)
    for kind, peer, nbytes, tag, slot in rows:
        size = int(nbytes)
        if kind in (codes.SEND, codes.SSEND, codes.RECV):
            name = {codes.SEND: "send", codes.SSEND: "ssend", codes.RECV: "recv"}[kind]
            trail.wait(frozenset({trail.start(name, peer, size, tag)}))
        elif kind == codes.ISEND:
            number[slot] = trail.start("isend", peer, size, tag)
        elif kind == codes.IRECV:
            number[slot] = trail.start("recv", peer, size, tag)
        elif kind == codes.SENDRECV:
            half = trail.start("isend", peer, size, tag)
        elif kind == codes.RECV_HALF:
            trail.wait(frozenset({half, trail.start("recv", peer, size, tag)}))
        elif kind == codes.WAIT:
            trail.wait(frozenset({number.pop(slot)}))
        elif kind == codes.WAITALL and left == 0:
            group, left = set(), peer
        elif kind == codes.WAITALL:
            group.add(number.pop(slot))
            left -= 1
            if left == 0:
                trail.wait(frozenset(group))
    trail.wait(frozenset(number.values()))  # of a non-blocking collective
    return trail


def simgrid(
    calls: Sequence[Call], hosts: Sequence[int], cfg: Sequence[str] = ()
) -> list[list[Trail]]:
    """Return SimGrid's events: for each call, for each rank.

    Raises
    ------
    OracleError
        If SimGrid failed; the text names the call.
    """
    size = len(hosts)
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        (folder / "platform.xml").write_text(PLATFORM)
        (folder / "hosts").write_text("".join(f"h{host}\n" for host in hosts))
        for rank in range(size):
            (folder / f"rank-{rank}.txt").write_text("\n".join(_lines(calls, rank)) + "\n")
        command = ["smpirun", "-np", str(size), "-platform", str(folder / "platform.xml")]
        command += ["-hostfile", str(folder / "hosts"), "--cfg=smpi/simulate-computation:no"]
        command += [f"--cfg={item}" for item in cfg]
        command += ["--log=root.thres:critical", "--log=smpi_request.thres:debug"]
        command += [
            "--log=smpi_request.fmt:%i|%m%n",
            str(compiled(("smpicxx", "-O1", "-w"), SOURCE)),
            tmp,
        ]
        run = run_all(command, 120.0)
    log = _Log(size)
    for line in run.stderr.splitlines():
        log.read(line)
    done = min(rank.ended for rank in log.ranks)
    if run.returncode != 0 or done != len(calls):
        where = calls[min(done, len(calls) - 1)]
        run.stderr = "\n".join(li for li in run.stderr.splitlines() if "|" not in li[:5])
        raise OracleError(f"near {where} on {list(hosts)}: {cause_of(run)}")
    return [[rank.trails[i] for rank in log.ranks] for i in range(len(calls))]


def _lines(calls: Sequence[Call], rank: int) -> list[str]:
    lines, before = [], dict.fromkeys(OPERATIONS, "default")
    for call in calls:
        for operation in OPERATIONS:
            name = call.collective(operation)
            if name != before[operation]:
                lines.append(f"choose {operation} {name}")
                before[operation] = name
        lines.append(call.line(rank))
    return lines


class _Log:
    """Reads SimGrid's log of requests, line by line."""

    START = re.compile(
        r"(\d+)\|New (send|recv)  request (\w+)  \[.* size = (\d+), src = (-?\d+), "
        r"dst = (-?\d+), tag = (-?\d+), flags = (\w+)\]"
    )
    DONE = re.compile(r"(\d+)\|(Waiting|Finishing|Destroying|Decrementing)  request (\w+) ")
    WAITALL = re.compile(r"(\d+)\|Wait for one of (\d+)")
    MARK = re.compile(r"@(begin|end) (\d+)")

    def __init__(self, size: int) -> None:
        self.ranks = [_Rank() for _ in range(size)]

    def read(self, line: str) -> None:
        """Process one line of the log."""
        if match := self.START.match(line):
            pid, what, pointer, nbytes, src, dst, tag, flags = match.groups()
            bits = int(flags, 16)
            kind = what if what == "recv" else _send_kind(bits)
            pid_of_peer = int(src if what == "recv" else dst)
            peer = pid_of_peer - 1 if pid_of_peer > 0 else codes.ANY_SOURCE
            self.ranks[int(pid) - 1].start(pointer, kind, peer, int(nbytes), int(tag))
        elif match := self.DONE.match(line):
            self.ranks[int(match[1]) - 1].done(match[2], match[3])
        elif match := self.WAITALL.match(line):
            self.ranks[int(match[1]) - 1].waitall(int(match[2]))
        elif match := self.MARK.match(line):
            self.ranks[int(match[2])].mark(match[1] == "begin")


def _send_kind(flags: int) -> str:
    if flags & 0x40:
        return "ssend"
    return "isend" if flags & 0x20 else "send"


class _Rank:
    """One rank's requests according to the log."""

    def __init__(self) -> None:
        self.trails: list[Trail] = []
        self.inside = False
        self.ended = 0
        self.live: dict[str, int] = {}
        self.group: set[int] = set()
        self.expected = 0
        self.rounds = 0

    def mark(self, begin: bool) -> None:
        """Handle the start or end of a call."""
        self._close()
        if begin:
            self.trails.append(Trail())
            self.live.clear()
        else:
            self.ended += 1
        self.inside = begin

    def start(self, pointer: str, kind: str, peer: int, nbytes: int, tag: int) -> None:
        """Handle the start of a request."""
        self._close()
        if self.inside:
            self.live[pointer] = self.trails[-1].start(kind, peer, nbytes, tag)

    def waitall(self, count: int) -> None:
        """Start a round of MPI_Waitall: SimGrid waits for any of `count`, `count` times."""
        if count != self.expected or self.rounds == count:
            self._close()
        self.expected = count
        self.rounds += 1

    def done(self, how: str, pointer: str) -> None:
        """Handle a request that was waited for individually or completed in the current round."""
        if how == "Waiting" and pointer in self.live:
            self._close()
            self.trails[-1].wait(frozenset({self.live.pop(pointer)}))
        elif self.rounds and pointer in self.live:
            self.group.add(self.live.pop(pointer))

    def _close(self) -> None:
        if self.inside:
            self.trails[-1].wait(frozenset(self.group))
        self.group = set()
        self.rounds = self.expected = 0
