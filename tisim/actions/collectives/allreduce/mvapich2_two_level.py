"""MVAPICH2's reduction in two levels: on each host, then among the hosts' leaders."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def mvapich2_two_level(
    s: Endpoint, count: int, size: int, *, intra: str = "mpich", inter: str = "rdb"
) -> None:
    """Reduce on each host, exchange among the leaders, and broadcast on each host.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    intra
        The reduction on a host, an allreduce; or `reduce`: the reduction of the host's ranks to
        their leader that the configuration names.
    inter
        The reduction among the leaders: `rdb` or `mvapich2_rs`.

    Notes
    -----
    MVAPICH2's `MPIR_Allreduce_two_level_MV2`: A. Mamidala, R. Kumar, D. De, D. K. Panda, "MPI
    collectives on modern multicore clusters: performance optimizations and communication
    characteristics", CCGrid 2008. The broadcast is the one that the configuration names.
    """
    where = nodes(s)
    if count == 0:
        return
    if intra == "reduce":
        s.chosen("reduce")(where.intra, count, size, 0)
    else:
        algorithm("allreduce", intra)(where.intra, count, size)
    if where.leaders is not None and where.leaders.size > 1:
        algorithm("allreduce", inter)(where.leaders, count, size)
    s.chosen("bcast")(where.intra, count, size, 0)
