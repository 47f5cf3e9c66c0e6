"""Allgather: on every host, among the first ranks of the hosts, then from them to the others."""

from __future__ import annotations

from tisim.actions.collectives.allgather.smp_grid import exchange_within_host, smp_grid
from tisim.actions.script import Endpoint


def smp_simple(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchange on the host; the first ranks exchange hosts' blocks and send all to their host.

    References
    ----------
    A. Faraj, X. Yuan, D. Lowenthal: STAR-MPI: Self Tuned Adaptive Routines for MPI Collective
    Operations. Int. Conf. on Supercomputing, 2006 (SimGrid names no source of this one).

    Notes
    -----
    Takes the ranks of a host to be consecutive, and hosts with different numbers of ranks to have
    one rank each.
    """
    grid = smp_grid(s)
    sent, received = scount * ssize, rcount * rsize
    exchange_within_host(s, grid, sent, received)
    if grid.core:
        s.recv(grid.first, received * s.size)
        return
    distances = [step * grid.cores for step in range(1, grid.hosts)]
    requests = [
        s.irecv((s.rank - distance) % s.size, received * grid.cores) for distance in distances
    ]
    requests += [s.isend((s.rank + distance) % s.size, sent * grid.cores) for distance in distances]
    s.waitall(requests)
    for core in range(1, grid.cores):
        s.send(s.rank + core, sent * s.size)
