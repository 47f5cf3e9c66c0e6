"""Allgather: all messages at once, starting with the next rank."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def spreading_simple(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Post the receives from all ranks ahead, then the sends in the same order, then wait.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    others = [(s.rank + step) % s.size for step in range(1, s.size)]
    requests = [s.irecv(peer, rcount * rsize) for peer in others]
    requests += [s.isend(peer, scount * ssize) for peer in others]
    s.waitall(requests)
