"""MPI ranks that are driven by SimPy processes."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

from tisim import _core
from tisim._core import Kind
from tisim.errors import InputError

if TYPE_CHECKING:
    import simpy

    from tisim.kernel.core_environment import CoreEnvironment

#: Wildcards for the source and the tag, and the null process.
ANY_SOURCE: int = _core.ANY_SOURCE
ANY_TAG: int = _core.ANY_TAG
PROC_NULL: int = _core.PROC_NULL

_BYTE = 6  # datatype of all counts here, as numbered in traces
_LARGEST_TAG = 2**31 - 1


class _CallResult(enum.Enum):
    """The value of a call's event."""

    NOTHING = enum.auto()
    POSTED = enum.auto()  # the request that the call posted
    COMPLETED = enum.auto()  # the request that the call completed


class MpiRank:
    """One MPI rank; each call gives an event that is triggered when the call returns.

    The calls are the operations of a trace: they use the same matcher, CPU and network. A rank
    makes one call at a time. Sizes are non-negative whole numbers of bytes.

    Attributes
    ----------
    number
        Rank in its world.
    host
        Name of its host.
    env
        Environment of the rank.
    index
        Index among all ranks of the environment.
    """

    def __init__(self, env: CoreEnvironment, index: int, number: int, host: str) -> None:
        self.env = env
        self.index = index
        self.number = number
        self.host = host
        self._requests: set[int] = set()
        self._result = _CallResult.NOTHING
        self._retired = ""

    def __repr__(self) -> str:
        return f"<rank {self.number} on {self.host}>"

    @property
    def size(self) -> int:
        """The number of ranks of its world."""
        return self._core.world_size(self.index)

    def returned(self) -> int | None:
        """Return the result of the call that has just ended: a request's number, or None."""
        if self._result is _CallResult.POSTED:
            request = self._core.last_request(self.index)
            self._requests.add(request)
            return request
        if self._result is _CallResult.COMPLETED:
            request = self._core.taken_request(self.index)
            self._requests.discard(request)
            return request
        return None

    def retire(self, action: str) -> None:
        """Reject further calls: the trace continues after the action of that name."""
        self._retired = action

    # Messages

    def send(self, dst: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Send of `nbytes` bytes to rank `dst` (or `PROC_NULL`)."""
        return self._post_message(Kind.SEND, self._peer(dst), _size(nbytes), _tag(tag))

    def ssend(self, dst: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Ssend: waits for the transfer, whatever its size."""
        return self._post_message(Kind.SSEND, self._peer(dst), _size(nbytes), _tag(tag))

    def recv(self, src: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Recv from `src` (or `ANY_SOURCE`, `PROC_NULL`); `tag` may be `ANY_TAG`."""
        return self._post_message(
            Kind.RECV, self._source(src), _size(nbytes), _tag(tag, wildcard=True)
        )

    def isend(self, dst: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Isend; the event's value is a request for `wait`."""
        return self._post_message(Kind.ISEND, self._peer(dst), _size(nbytes), _tag(tag))

    def irecv(self, src: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Irecv; the event's value is a request for `wait`."""
        return self._post_message(
            Kind.IRECV, self._source(src), _size(nbytes), _tag(tag, wildcard=True)
        )

    def sendrecv(
        self,
        dst: int,
        send_bytes: float,
        src: int,
        recv_bytes: float,
        send_tag: int = 0,
        recv_tag: int = 0,
    ) -> simpy.Event:
        """MPI_Sendrecv: post the send, post the receive, then wait for both."""
        out = self._peer(dst), _size(send_bytes), _tag(send_tag)
        back = self._source(src), _size(recv_bytes), _tag(recv_tag, wildcard=True)
        return self._call(self._core.post_sendrecv, *out, *back)

    # Requests, as returned by isend and irecv. Each can be completed, or freed, once.

    def wait(self, request: int) -> simpy.Event:
        """MPI_Wait for a request of `isend` or `irecv`; each can be waited for once."""
        self._check_pending([request])
        self._requests.remove(request)
        return self._call(self._core.post_request, Kind.WAIT, request)

    def waitall(self, requests: Iterable[int] | None = None) -> simpy.Event:
        """MPI_Waitall for some requests, by default for all pending ones of the rank."""
        if requests is None:
            self._check_free()
            self._requests.clear()
            return self._call(self._core.post_waitall)
        some = self._check_pending(requests)
        self._requests.difference_update(some)
        return self._call(self._core.post_requests, Kind.WAITALL, some)

    def waitany(self, requests: Iterable[int]) -> simpy.Event:
        """MPI_Waitany for one of some requests; the event's value is the completed request."""
        some = self._check_pending(requests)
        if not some:
            raise InputError("waitany needs at least one request")
        post = self._core.post_requests
        return self._call(post, Kind.WAITANY, some, result=_CallResult.COMPLETED)

    def cancel(self, request: int) -> simpy.Event:
        """MPI_Cancel: withdraw an unmatched message; a wait must still follow.

        A send is cancelled if it is still waiting for its receive.
        """
        self._check_pending([request])
        return self._call(self._core.post_request, Kind.CANCEL, request)

    def request_free(self, request: int) -> simpy.Event:
        """MPI_Request_free: release the request, which no call may use; its message continues."""
        self._check_pending([request])
        self._requests.remove(request)
        return self._call(self._core.post_request, Kind.REQUEST_FREE, request)

    # Operations without messages

    def execute(self, flops: float) -> simpy.Event:
        """Compute `flops` on the rank's host."""
        if not 0 <= flops < math.inf:
            raise InputError(f"an amount of computation must be at least 0 flops, got {flops!r}")
        return self._call(self._core.post_compute, flops)

    def sleep(self, seconds: float) -> simpy.Event:
        """Sleep for some seconds."""
        if not 0 <= seconds < math.inf:
            raise InputError(f"a sleep must last at least 0 seconds, got {seconds!r}")
        return self._call(self._core.post_sleep, seconds)

    # Collectives. The computation of a reduction is an `execute` after it.

    def barrier(self) -> simpy.Event:
        """MPI_Barrier."""
        return self._collective("barrier")

    def bcast(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Bcast of `nbytes` bytes from `root`."""
        return self._collective("bcast", _size(nbytes), self._rank(root), _BYTE)

    def reduce(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Reduce of `nbytes` bytes to `root`."""
        return self._collective("reduce", _size(nbytes), self._rank(root), _BYTE)

    def allreduce(self, nbytes: float) -> simpy.Event:
        """MPI_Allreduce of `nbytes` bytes."""
        return self._collective("allreduce", _size(nbytes), _BYTE)

    def scan(self, nbytes: float) -> simpy.Event:
        """MPI_Scan of `nbytes` bytes."""
        return self._collective("scan", _size(nbytes), _BYTE)

    def exscan(self, nbytes: float) -> simpy.Event:
        """MPI_Exscan of `nbytes` bytes."""
        return self._collective("exscan", _size(nbytes), _BYTE)

    def gather(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Gather of `nbytes` bytes from each rank to `root`."""
        n = _size(nbytes)
        return self._collective("gather", n, n, self._rank(root), _BYTE, _BYTE)

    def gatherv(self, nbytes: Sequence[float], root: int = 0) -> simpy.Event:
        """MPI_Gatherv of ``nbytes[r]`` bytes from each rank r to `root`; shape (ranks,)."""
        counts = self._sizes(nbytes)
        own = counts[self.number]
        return self._collective("gatherv", own, *counts, self._rank(root), _BYTE, _BYTE)

    def scatter(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Scatter of `nbytes` bytes to each rank from `root`."""
        n = _size(nbytes)
        return self._collective("scatter", n, n, self._rank(root), _BYTE, _BYTE)

    def scatterv(self, nbytes: Sequence[float], root: int = 0) -> simpy.Event:
        """MPI_Scatterv of ``nbytes[r]`` bytes to each rank r from `root`; shape (ranks,)."""
        counts = self._sizes(nbytes)
        own = counts[self.number]
        return self._collective("scatterv", *counts, own, self._rank(root), _BYTE, _BYTE)

    def allgather(self, nbytes: float) -> simpy.Event:
        """MPI_Allgather of `nbytes` bytes from each rank."""
        n = _size(nbytes)
        return self._collective("allgather", n, n, _BYTE, _BYTE)

    def allgatherv(self, nbytes: Sequence[float]) -> simpy.Event:
        """MPI_Allgatherv of ``nbytes[r]`` bytes from each rank r; shape (ranks,)."""
        counts = self._sizes(nbytes)
        return self._collective("allgatherv", counts[self.number], *counts, _BYTE, _BYTE)

    def alltoall(self, nbytes: float) -> simpy.Event:
        """MPI_Alltoall of `nbytes` bytes between each pair of ranks."""
        n = _size(nbytes)
        return self._collective("alltoall", n, n, _BYTE, _BYTE)

    def alltoallv(self, sent: Sequence[float], received: Sequence[float]) -> simpy.Event:
        """MPI_Alltoallv of ``sent[r]`` bytes to and ``received[r]`` from r; shapes (ranks,)."""
        out, back = self._sizes(sent), self._sizes(received)
        return self._collective("alltoallv", sum(out), *out, sum(back), *back, _BYTE, _BYTE)

    def reduce_scatter(self, nbytes: Sequence[float]) -> simpy.Event:
        """MPI_Reduce_scatter that leaves ``nbytes[r]`` bytes with rank r; shape (ranks,)."""
        return self._collective("reducescatter", *self._sizes(nbytes), 0, _BYTE)

    # How calls reach the core

    @property
    def _core(self) -> _core.Simulation:
        return self.env.driver.core

    def _post_message(self, kind: Kind, peer: int, nbytes: int, tag: int) -> simpy.Event:
        result = _CallResult.POSTED if kind in (Kind.ISEND, Kind.IRECV) else _CallResult.NOTHING
        return self._call(self._core.post_message, kind, peer, nbytes, tag, result=result)

    def _collective(self, operation: str, *arguments: float) -> simpy.Event:
        return self._call(self._core.post_collective, operation, [*map(float, arguments)])

    def _call(
        self,
        post: Callable[..., None],
        *arguments: object,
        result: _CallResult = _CallResult.NOTHING,
    ) -> simpy.Event:
        """Post a call, whose first argument is the rank."""
        self._check_free()
        self._result = result
        return self.env.call(self, partial(post, self.index, *arguments))

    def _check_pending(self, requests: Iterable[int]) -> list[int]:
        """Return the requests as a list; raises if one is not pending or the rank is in a call."""
        some = list(requests)
        for request in some:
            if request not in self._requests:
                raise InputError(
                    f"rank {self.number} has no pending request {request!r}; a request is returned "
                    "by isend or irecv and is valid until it is waited for or freed"
                )
        if len(set(some)) < len(some):
            raise InputError(f"rank {self.number} names a request twice in one call")
        self._check_free()
        return some

    def _check_free(self) -> None:
        if self._retired:
            raise InputError(
                f"the action {self._retired} of rank {self.number} has ended; it can no longer use "
                "the rank"
            )
        if self.env.calling(self) is not None:
            raise InputError(
                f"rank {self.number} is still in its last call; wait for its event before the next "
                "call"
            )

    def _rank(self, rank: int) -> int:
        size = self.size
        if rank != int(rank) or not 0 <= rank < size:
            raise InputError(f"no rank {rank!r}; ranks are numbered from 0 to {size - 1}")
        return int(rank)

    def _peer(self, rank: int) -> int:
        return rank if rank == PROC_NULL else self._rank(rank)

    def _source(self, rank: int) -> int:
        return rank if rank == ANY_SOURCE else self._peer(rank)

    def _sizes(self, nbytes: Sequence[float]) -> list[int]:
        sizes = [_size(n) for n in nbytes]
        if len(sizes) != self.size:
            raise InputError(f"give a number of bytes for each of {self.size} ranks")
        return sizes


def _size(nbytes: float) -> int:
    if not 0 <= nbytes < math.inf or nbytes != int(nbytes):
        raise InputError(f"a message must have a whole number of bytes, got {nbytes!r}")
    return int(nbytes)


def _tag(tag: int, *, wildcard: bool = False) -> int:
    if wildcard and tag == ANY_TAG:
        return tag
    if tag != int(tag) or not 0 <= tag <= _LARGEST_TAG:
        raise InputError(f"a tag must be a whole number from 0 to {_LARGEST_TAG}, got {tag!r}")
    return int(tag)


class World(Sequence[MpiRank]):
    """The ranks that `Environment.mpi` created, in order.

    Parameters
    ----------
    ranks
        The ranks.
    """

    def __init__(self, ranks: Iterable[MpiRank]) -> None:
        self._ranks = tuple(ranks)

    def __len__(self) -> int:
        return len(self._ranks)

    @overload
    def __getitem__(self, rank: int) -> MpiRank: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[MpiRank, ...]: ...
    def __getitem__(self, rank: int | slice) -> MpiRank | tuple[MpiRank, ...]:
        return self._ranks[rank]

    def __iter__(self) -> Iterator[MpiRank]:
        return iter(self._ranks)
