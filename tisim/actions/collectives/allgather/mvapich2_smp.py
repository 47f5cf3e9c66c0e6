"""Allgather: a gather on every host, an allgather among the hosts, a broadcast on every host."""

from __future__ import annotations

from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint
from tisim.errors import InputError


def mvapich2_smp(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The leaders' allgather is MPICH's, the gather and the broadcast are those chosen.

    References
    ----------
    MVAPICH2: allgather for SMP hosts (D. K. Panda's group, The Ohio State University).

    Raises
    ------
    InputError
        When hosts have different numbers of ranks, or those of one host are not consecutive.
    """
    from tisim.actions.collectives.catalogue import algorithm

    found = nodes(s)
    if not (found.layout.uniform and found.layout.blocked):
        raise InputError(
            "allgather algorithm mvapich2_smp needs the same number of ranks on every host, with "
            "consecutive numbers: deploy them so, or choose another algorithm"
        )
    if rcount == 0:
        return
    s.chosen("gather")(found.intra, scount, ssize, rcount, rsize, 0)
    if found.leaders is not None and found.leaders.size > 1:
        count = rcount * found.intra.size
        algorithm("allgather", "mpich")(found.leaders, count, rsize, count, rsize)
    s.chosen("bcast")(found.intra, rcount * s.size, rsize, 0)
