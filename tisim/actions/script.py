"""The schedule of one rank in one collective call.

A collective algorithm is a function ``algorithm(script, ...)`` that calls the methods of a
:class:`Script` in the order in which the rank makes its point-to-point calls. Nothing is
simulated here: the core executes the finished schedule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim import _core
from tisim._core import StepCode

#: A receive that takes a message of its tag from any rank of the communicator.
ANY_SOURCE: int = _core.ANY_SOURCE

# The kinds of rows of a schedule, as plain numbers: there may be millions of rows.
SEND = int(StepCode.SEND)
SSEND = int(StepCode.SSEND)
ISEND = int(StepCode.ISEND)
RECV = int(StepCode.RECV)
IRECV = int(StepCode.IRECV)
WAIT = int(StepCode.WAIT)
WAITALL = int(StepCode.WAITALL)
SENDRECV = int(StepCode.SENDRECV)
RECV_HALF = int(StepCode.RECV_HALF)
COMPUTE = int(StepCode.COMPUTE)
FILE_READ = int(StepCode.FILE_READ)
FILE_WRITE = int(StepCode.FILE_WRITE)
FILE_IREAD = int(StepCode.FILE_IREAD)
FILE_IWRITE = int(StepCode.FILE_IWRITE)
FILE_OFFSET = int(StepCode.FILE_OFFSET)
FILE_OWN = int(StepCode.FILE_OWN)


class MemoryWork(NamedTuple):
    """Cost in flops of a rank's memory operations in collectives, by block size in bytes.

    Attributes
    ----------
    copy
        Flops to copy a block.
    combine
        Flops to combine a block with another one, as a reduction does.
    """

    copy: Callable[[float], float]
    combine: Callable[[float], float]


class Script:
    """Writes the schedule of a rank of a communicator.

    Algorithms use it as an `Endpoint`: a rank that can make calls. `Group` is an endpoint for a
    part of the communicator, `Rounds` one for non-blocking collectives.

    Parameters
    ----------
    rank, size
        This rank and the number of ranks of the communicator.
    placement
        A number per rank of the communicator that identifies its host. The two-level algorithms
        and selectors use it (`actions.nodes`).
    order
        World rank of each rank of the communicator: the order in which the ranks of a host are
        listed. Differs from the communicator's order after a `comm_split` with keys.
    exchanged_parts
        Contexts of the parts of the communicator (0: all of it) whose placement an earlier call
        has exchanged. This call adds its own to the attribute, for the next call.
    choose
        Returns the configured algorithm of an operation, to which some algorithms delegate part
        of their work. By default the algorithm `default` of the operation.
    memory
        Cost of this rank's memory operations; they are free if not given.

    Notes
    -----
    Collectives have their own tag space: their messages never match a user's receive. Messages
    with equal source, destination and tag match in order, as in MPI. Methods take peers as
    ranks of the communicator and sizes in bytes. A peer may be this rank itself (the message
    then uses the loopback), but ``sendrecv`` with itself on both sides costs nothing.
    """

    __slots__ = (
        "rank", "size", "placement", "order", "exchanged_parts", "choose", "memory",
        "kinds", "peers", "sizes", "tags", "slots", "requests", "delegated_rows",
    )  # fmt: skip

    def __init__(
        self,
        rank: int,
        size: int,
        placement: Sequence[int] | None = None,
        *,
        order: Sequence[int] | None = None,
        exchanged_parts: frozenset[int] = frozenset(),
        choose: Callable[[str], Callable[..., None]] | None = None,
        memory: MemoryWork | None = None,
    ) -> None:
        self.rank = rank
        self.size = size
        self.placement: Sequence[int] = range(size) if placement is None else placement
        self.order: Sequence[int] = range(size) if order is None else order
        self.exchanged_parts = exchanged_parts
        self.choose = choose
        self.memory = memory
        self.kinds: list[int] = []
        self.peers: list[int] = []
        self.sizes: list[float] = []
        self.tags: list[int] = []
        self.slots: list[int] = []
        self.requests = 0
        # Rows written by algorithms called by other algorithms: operation, first row, last row + 1.
        # Callees precede their callers.
        self.delegated_rows: list[tuple[str, int, int]] = []

    def _add(self, kind: int, peer: int, size: float, tag: int, slot: int = -1) -> None:
        self.kinds.append(kind)
        self.peers.append(peer)
        self.sizes.append(size)
        self.tags.append(tag)
        self.slots.append(slot)

    def chosen(self, operation: str) -> Callable[..., None]:
        """Return the configured algorithm of `operation`."""
        if self.choose is not None:
            chosen = self.choose(operation)
        else:
            from tisim.actions.collectives.catalogue import algorithm

            chosen = algorithm(operation, "default")

        def write(*arguments: object, **parameters: object) -> None:
            first = self._rows()
            chosen(*arguments, **parameters)
            self.delegated_rows.append((operation, first, self._rows()))

        return write

    def _rows(self) -> int:
        """Number of rows written; 0 if a user's algorithm has overwritten the column."""
        return len(self.kinds) if isinstance(self.kinds, list) else 0

    def operation_of(self, row: int) -> str | None:
        """Return the operation whose algorithm wrote a row for another algorithm; None if none did.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """
        return next((part[0] for part in self.delegated_rows if part[1] <= row < part[2]), None)

    def send(self, dst: int, nbytes: int, tag: int = 0) -> None:
        """MPI_Send: blocks depending on the size and the protocol thresholds."""
        self._add(SEND, dst, nbytes, tag)

    def ssend(self, dst: int, nbytes: int, tag: int = 0) -> None:
        """MPI_Ssend."""
        self._add(SSEND, dst, nbytes, tag)

    def recv(self, src: int, nbytes: int, tag: int = 0) -> None:
        """MPI_Recv; `src` may be `ANY_SOURCE`."""
        self._add(RECV, src, nbytes, tag)

    def isend(self, dst: int, nbytes: int, tag: int = 0) -> int:
        """MPI_Isend; returns the request's number, to be waited for exactly once."""
        self.requests += 1
        self._add(ISEND, dst, nbytes, tag, self.requests - 1)
        return self.requests - 1

    def irecv(self, src: int, nbytes: int, tag: int = 0) -> int:
        """MPI_Irecv; returns the request's number, to be waited for exactly once."""
        self.requests += 1
        self._add(IRECV, src, nbytes, tag, self.requests - 1)
        return self.requests - 1

    def isends(self, dsts: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Post an `isend` of the given size to each rank; returns the requests' numbers."""
        return self._start(ISEND, dsts, sizes, 0)

    def irecvs(self, srcs: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Post an `irecv` of the given size from each rank; returns the requests' numbers."""
        return self._start(IRECV, srcs, sizes, 0)

    def _start(self, kind: int, peers: Sequence[int], sizes: Sequence[int], tag: int) -> list[int]:
        count = len(peers)
        requests = list(range(self.requests, self.requests + count))
        self.requests += count
        self.kinds += [kind] * count
        self.peers += peers
        self.sizes += sizes
        self.tags += [tag] * count
        self.slots += requests
        return requests

    def wait(self, request: int) -> None:
        """MPI_Wait."""
        self._add(WAIT, 0, 0, 0, request)

    def waitall(self, requests: Sequence[int]) -> None:
        """MPI_Waitall: requests are finished in the order in which they complete.

        Written as a header with the number of requests, then one row per request.
        """
        if requests:
            count = len(requests)
            nothing = [0] * (count + 1)
            self.kinds += [WAITALL] * (count + 1)
            self.peers.append(count)
            self.peers += nothing[1:]
            self.sizes += nothing
            self.tags += nothing
            self.slots.append(-1)
            self.slots += requests

    def pause(self) -> None:
        """End a non-blocking collective's round: the next starts when the rank makes progress."""
        self._add(WAITALL, 0, 0, 0)

    def sendrecv(
        self, dst: int, send_bytes: int, send_tag: int, src: int, recv_bytes: int, recv_tag: int
    ) -> None:
        """MPI_Sendrecv: post the send, post the receive, then wait for both."""
        if dst == self.rank and src == self.rank:
            return
        self._add(SENDRECV, dst, send_bytes, send_tag)
        self._add(RECV_HALF, src, recv_bytes, recv_tag)

    def compute(self, flops: float) -> None:
        """Compute `flops` on this rank's host."""
        if flops > 0:
            self._add(COMPUTE, 0, flops, 0)

    def copy(self, nbytes: int) -> None:
        """Copy a block within this rank's memory (``smpi/copy``)."""
        if self.memory is not None and nbytes > 0:
            self.compute(self.memory.copy(nbytes))

    def combine(self, nbytes: int) -> None:
        """Combine a received block with this rank's own in a reduction (``smpi/combine``)."""
        if self.memory is not None and nbytes > 0:
            self.compute(self.memory.combine(nbytes))

    def read_file(self, offset: int, nbytes: int) -> None:
        """Read from the file of a collective read or write."""
        self._access(FILE_READ, offset, nbytes)

    def write_file(self, offset: int, nbytes: int) -> None:
        """Write to the file of a collective read or write."""
        self._access(FILE_WRITE, offset, nbytes)

    def access_own_part(self) -> None:
        """Read or write this rank's own part, as an independent call would."""
        self._add(FILE_OWN, 0, 0, 0)

    def start_read(self, offset: int, nbytes: int) -> int:
        """Start a `read_file`; returns the request's number, to be waited for exactly once."""
        return self._start_access(FILE_IREAD, offset, nbytes)

    def start_write(self, offset: int, nbytes: int) -> int:
        """Start a `write_file`; returns the request's number, to be waited for exactly once."""
        return self._start_access(FILE_IWRITE, offset, nbytes)

    def _start_access(self, kind: int, offset: int, nbytes: int) -> int:
        self.requests += 1
        self._access(kind, offset, nbytes, self.requests - 1)
        return self.requests - 1

    def _access(self, kind: int, offset: int, nbytes: int, slot: int = -1) -> None:
        self._add(kind, 0, nbytes, 0, slot)
        self._add(FILE_OFFSET, 0, offset, 0)

    def group(self, members: Sequence[int], context: int) -> Endpoint:
        """Return the ranks `members` as a communicator with its own matching context."""
        return Group(self, members, context)


#: A rank of a communicator that can make calls, as an algorithm sees it.
Endpoint = Script


def _index(members: Sequence[int], rank: int) -> int:
    """Index of `rank` in `members`, which are ascending except after a comm_split with keys."""
    place = bisect_left(members, rank)
    if place < len(members) and members[place] == rank:
        return place
    return members.index(rank)


class Group(Script):
    """An :class:`Endpoint` for the ranks of a part of a communicator (two-level algorithms).

    Parameters
    ----------
    script
        The schedule to write to.
    members
        Ranks of the communicator, in the group's order; this rank must be one of them.
    context
        1, 2, ...: messages of different contexts never match one another.
    """

    __slots__ = ("script", "members", "context", "offset", "rank", "size")

    def __init__(self, script: Script, members: Sequence[int], context: int) -> None:
        self.script = script
        self.members = members
        self.context = context
        self.offset = context << 20
        self.rank = _index(members, script.rank)
        self.size = len(members)

    def chosen(self, operation: str) -> Callable[..., None]:
        return self.script.chosen(operation)

    def _peer(self, peer: int) -> int:
        return peer if peer == ANY_SOURCE else self.members[peer]

    def _add(self, kind: int, peer: int, size: float, tag: int, slot: int = -1) -> None:
        self.script._add(kind, self._peer(peer), size, tag + self.offset, slot)

    def isend(self, dst: int, nbytes: int, tag: int = 0) -> int:
        return self.script.isend(self._peer(dst), nbytes, tag + self.offset)

    def irecv(self, src: int, nbytes: int, tag: int = 0) -> int:
        return self.script.irecv(self._peer(src), nbytes, tag + self.offset)

    def isends(self, dsts: Sequence[int], sizes: Sequence[int]) -> list[int]:
        return self.script._start(ISEND, [self._peer(dst) for dst in dsts], sizes, self.offset)

    def irecvs(self, srcs: Sequence[int], sizes: Sequence[int]) -> list[int]:
        return self.script._start(IRECV, [self._peer(src) for src in srcs], sizes, self.offset)

    def wait(self, request: int) -> None:
        self.script.wait(request)

    def waitall(self, requests: Sequence[int]) -> None:
        self.script.waitall(requests)

    def combine(self, nbytes: int) -> None:
        self.script.combine(nbytes)


class _Round:
    """The requests of a rank's current round, and whether the next call starts a new round."""

    __slots__ = ("requests", "ends")

    def __init__(self) -> None:
        self.requests: list[int] = []
        self.ends = False


class Rounds(Script):
    """An endpoint on which each blocking call of an algorithm ends a round.

    A round ends just before the next call, so that nothing follows the last one. All parts of a
    communicator share their rounds. Memory operations are omitted: a round has messages only.

    `receives_first`: post the receive of an exchange before its send.
    """

    __slots__ = ("script", "receives_first", "_round")

    def __init__(self, script: Script, *, receives_first: bool = False) -> None:
        self.script, self.rank, self.size = script, script.rank, script.size
        self.receives_first = receives_first
        self._round = _Round()

    def _next(self) -> None:
        if self._round.ends:
            self.script.waitall(self._round.requests)
            self._round.requests, self._round.ends = [], False

    def group(self, members: Sequence[int], context: int) -> Endpoint:
        part = Rounds(self.script.group(members, context), receives_first=self.receives_first)
        part._round = self._round
        return part

    def chosen(self, operation: str) -> Callable[..., None]:
        return self.script.chosen(operation)

    def isend(self, dst: int, nbytes: int, tag: int = 0) -> int:
        self._next()
        self._round.requests.append(self.script.isend(dst, nbytes, tag))
        return self._round.requests[-1]

    def irecv(self, src: int, nbytes: int, tag: int = 0) -> int:
        self._next()
        self._round.requests.append(self.script.irecv(src, nbytes, tag))
        return self._round.requests[-1]

    def isends(self, dsts: Sequence[int], sizes: Sequence[int]) -> list[int]:
        return [self.isend(dst, nbytes) for dst, nbytes in zip(dsts, sizes, strict=True)]

    def irecvs(self, srcs: Sequence[int], sizes: Sequence[int]) -> list[int]:
        return [self.irecv(src, nbytes) for src, nbytes in zip(srcs, sizes, strict=True)]

    def send(self, dst: int, nbytes: int, tag: int = 0) -> None:
        self.isend(dst, nbytes, tag)
        self._round.ends = True

    ssend = send

    def recv(self, src: int, nbytes: int, tag: int = 0) -> None:
        self.irecv(src, nbytes, tag)
        self._round.ends = True

    def wait(self, request: int) -> None:
        self._round.ends = True

    def combine(self, nbytes: int) -> None:
        pass

    def waitall(self, requests: Sequence[int]) -> None:
        self._round.ends = self._round.ends or bool(requests)

    def sendrecv(
        self, dst: int, send_bytes: int, send_tag: int, src: int, recv_bytes: int, recv_tag: int
    ) -> None:
        if dst == self.rank and src == self.rank:
            return
        if self.receives_first:
            self.irecv(src, recv_bytes, recv_tag)
        self.isend(dst, send_bytes, send_tag)
        if not self.receives_first:
            self.irecv(src, recv_bytes, recv_tag)
        self._round.ends = True
