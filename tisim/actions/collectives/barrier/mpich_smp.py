"""MPICH's barrier in two levels."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def mpich_smp(s: Endpoint) -> None:
    """A barrier on each host, one among the hosts' leaders, then a broadcast on each host.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    MPICH's `MPIR_Barrier_intra_smp`: H. Zhu, D. Goodell, W. Gropp, R. Thakur, "Hierarchical
    collectives in MPICH2", EuroPVM/MPI 2009.
    """
    where = nodes(s)
    barrier = algorithm("barrier", "mpich")
    barrier(where.intra)
    if where.leaders is not None:
        barrier(where.leaders)
    algorithm("bcast", "mpich")(where.intra, 1, 1, 0)
