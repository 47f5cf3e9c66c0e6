"""Allgather: on every host, around a ring of hosts, and down a pipeline on every host."""

from __future__ import annotations

from tisim.actions.collectives.allgather.smp_grid import Grid, exchange_within_host, smp_grid
from tisim.actions.script import Endpoint


def smp_nts(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchange on the host; hosts' blocks go around the first ranks, each passes them on.

    On a host every rank passes the blocks of the other hosts on to the next rank.

    References
    ----------
    A. Faraj, X. Yuan, D. Lowenthal: STAR-MPI: Self Tuned Adaptive Routines for MPI Collective
    Operations. Int. Conf. on Supercomputing, 2006 (SimGrid names no source of this one).

    Notes
    -----
    Takes the ranks of a host to be consecutive, and hosts with different numbers of ranks to have
    one rank each. On a single host it is the default allgather.
    """
    grid = smp_grid(s)
    if grid.hosts == 1:
        from tisim.actions.collectives.catalogue import algorithm

        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    sent, received = scount * ssize, rcount * rsize
    exchange_within_host(s, grid, sent, received)
    if grid.core == 0:
        _ring_of_hosts(s, grid, sent * grid.cores, received * grid.cores)
        return
    for _ in range(1, grid.hosts):
        s.recv(s.rank - 1, received * grid.cores)
        if grid.core < grid.cores - 1:
            s.send(s.rank + 1, sent * grid.cores)


def _ring_of_hosts(s: Endpoint, grid: Grid, sent: int, received: int) -> None:
    """What the first rank of a host does: the ring, feeding its host's pipeline."""
    ahead, behind = (s.rank + grid.cores) % s.size, (s.rank - grid.cores) % s.size
    receives = [s.irecv(behind, received) for _ in range(1, grid.hosts)]
    sends = [s.isend(ahead, sent)]
    for step, receive in enumerate(receives, 2):
        s.wait(receive)
        if step < grid.hosts:
            sends.append(s.isend(ahead, sent))
        if grid.cores > 1:
            s.send(s.rank + 1, sent)
    s.waitall(sends)
