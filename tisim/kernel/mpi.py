"""MPI ranks that SimPy processes act as."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tisim import _core
from tisim.errors import InputError

if TYPE_CHECKING:
    import simpy

    from tisim.kernel.environment import Environment

ANY_SOURCE = -555
ANY_TAG = -444

_BYTE = 6  # the type of all counts here, as traces number types


class MpiRank:
    """One MPI rank; each call gives an event that happens when the call returns.

    The calls are the operations of a trace: they go to the same matcher, CPU and network. A rank
    makes one call at a time.

    Attributes
    ----------
    number
        Its rank in its world.
    host
        Name of its host.
    env
        The environment it lives in.
    """

    def __init__(self, env: Environment, index: int, number: int, host: str) -> None:
        self.env = env
        self.index = index
        self.number = number
        self.host = host
        self._gives_request = False

    def outcome(self) -> int | None:
        """What the last call returned: the number of a request, or nothing."""
        return self.env.driver.core.last_request(self.index) if self._gives_request else None

    def _post(
        self, kind: str, peer: int = 0, amount: float = 0, tag: int = 0, flags: int = 0
    ) -> simpy.Event:
        core = self.env.driver.core
        gives_request = kind in ("isend", "irecv")

        def post() -> None:
            self._gives_request = gives_request
            core.post(self.index, _core.kind_number(kind), peer, amount, tag, flags)

        return self.env.call(self, post)

    def _check(self, nbytes: float) -> int:
        if not nbytes >= 0 or nbytes != int(nbytes):
            raise InputError(f"a message has a whole number of bytes, got {nbytes!r}")
        return int(nbytes)

    def _peer(self, rank: int, *, wildcard: bool = False) -> int:
        if wildcard and rank == ANY_SOURCE:
            return rank
        size = self.env.driver.core.world_size(self.index)
        if not 0 <= rank < size:
            raise InputError(f"there is no rank {rank}; ranks are numbered from 0 to {size - 1}")
        return rank

    def send(self, dst: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Send of `nbytes` bytes to rank `dst`."""
        return self._post("send", self._peer(dst), self._check(nbytes), tag)

    def recv(self, src: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Recv from rank `src` (or `ANY_SOURCE`) into a buffer of `nbytes` bytes."""
        return self._post("recv", self._peer(src, wildcard=True), self._check(nbytes), tag)

    def isend(self, dst: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Isend; the event's value is a request for `wait`."""
        return self._post("isend", self._peer(dst), self._check(nbytes), tag)

    def irecv(self, src: int, nbytes: float, tag: int = 0) -> simpy.Event:
        """MPI_Irecv; the event's value is a request for `wait`."""
        return self._post("irecv", self._peer(src, wildcard=True), self._check(nbytes), tag)

    def wait(self, request: int) -> simpy.Event:
        """MPI_Wait for a request that `isend` or `irecv` gave."""
        return self._post("wait", amount=request, flags=_core.BY_NUMBER)

    def waitall(self) -> simpy.Event:
        """MPI_Waitall for all requests that are pending."""
        return self._post("waitall")

    def execute(self, flops: float) -> simpy.Event:
        """Compute `flops` on the rank's host."""
        return self._post("compute", amount=flops)

    def sleep(self, seconds: float) -> simpy.Event:
        """Do nothing for some seconds."""
        return self._post("sleep", amount=seconds)

    def _collective(self, operation: str, *arguments: float) -> simpy.Event:
        core = self.env.driver.core

        def post() -> None:
            self._gives_request = False
            core.post_collective(self.index, operation, list(map(float, arguments)))

        return self.env.call(self, post)

    def barrier(self) -> simpy.Event:
        """MPI_Barrier."""
        return self._collective("barrier")

    def bcast(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Bcast of `nbytes` bytes from `root`."""
        return self._collective("bcast", self._check(nbytes), self._peer(root), _BYTE)

    def reduce(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Reduce of `nbytes` bytes to `root`."""
        return self._collective("reduce", self._check(nbytes), self._peer(root), _BYTE)

    def allreduce(self, nbytes: float) -> simpy.Event:
        """MPI_Allreduce of `nbytes` bytes."""
        return self._collective("allreduce", self._check(nbytes), _BYTE)

    def gather(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Gather of `nbytes` bytes from each rank to `root`."""
        n = self._check(nbytes)
        return self._collective("gather", n, n, self._peer(root), _BYTE, _BYTE)

    def scatter(self, nbytes: float, root: int = 0) -> simpy.Event:
        """MPI_Scatter of `nbytes` bytes to each rank from `root`."""
        n = self._check(nbytes)
        return self._collective("scatter", n, n, self._peer(root), _BYTE, _BYTE)

    def allgather(self, nbytes: float) -> simpy.Event:
        """MPI_Allgather of `nbytes` bytes from each rank."""
        n = self._check(nbytes)
        return self._collective("allgather", n, n, _BYTE, _BYTE)

    def alltoall(self, nbytes: float) -> simpy.Event:
        """MPI_Alltoall of `nbytes` bytes between each two ranks."""
        n = self._check(nbytes)
        return self._collective("alltoall", n, n, _BYTE, _BYTE)


class World(Sequence[MpiRank]):
    """The ranks that `Environment.mpi` made, in order."""

    def __init__(self, env: Environment, job: int, hosts: list[str]) -> None:
        first = env.driver.core.first_rank(job)
        self._ranks = [MpiRank(env, first + i, i, host) for i, host in enumerate(hosts)]

    def __len__(self) -> int:
        return len(self._ranks)

    def __getitem__(self, rank):  # type: ignore[no-untyped-def]
        return self._ranks[rank]

    def __iter__(self) -> Iterator[MpiRank]:
        return iter(self._ranks)
