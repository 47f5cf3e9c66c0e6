"""Allgather: one ring of hosts for every core, the hosts' exchange proceeding beside it."""

from __future__ import annotations

from tisim.actions.collectives.allgather.smp_grid import smp_grid
from tisim.actions.script import Endpoint


def loosely_lr(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In each step pass a block to the same core of the next host, and it to the own host's cores.

    Only the block from the host before is waited for in each step ("loosely" synchronous logical
    ring); all else is at the end.

    References
    ----------
    A. Faraj, X. Yuan, D. Lowenthal: STAR-MPI: Self Tuned Adaptive Routines for MPI Collective
    Operations. Int. Conf. on Supercomputing, 2006 (SimGrid names no source of this one).

    Notes
    -----
    Takes the ranks of a host to be consecutive, and hosts with different numbers of ranks to have
    one rank each. SimGrid has room for 128 requests and crashes beyond.
    """
    grid = smp_grid(s)
    sent, received = scount * ssize, rcount * rsize
    ahead, behind = (s.rank + grid.cores) % s.size, (s.rank - grid.cores) % s.size
    receives, sends, ring_sends = [], [], []
    for step in range(1, grid.hosts + 1):
        arrival = None
        for core in range(grid.cores):
            if core != grid.core:
                receives.append(s.irecv(grid.first + core, received))
                sends.append(s.isend(grid.first + core, sent))
            elif step < grid.hosts:
                arrival = s.irecv(behind, received)
                ring_sends.append(s.isend(ahead, sent))
        if arrival is not None:
            s.wait(arrival)
    s.waitall(receives)
    s.waitall(sends)
    s.waitall(ring_sends)
