"""MVAPICH2's barrier: pairwise exchange."""

from __future__ import annotations

from tisim.actions.collectives.barrier.ompi_recursivedoubling import ompi_recursivedoubling
from tisim.actions.script import Endpoint


def mvapich2_pair(s: Endpoint) -> None:
    """Do what `ompi_recursivedoubling` does.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    MVAPICH2's `MPIR_Pairwise_Barrier_MV2`; its messages are those of Open MPI's recursive doubling.
    """
    ompi_recursivedoubling(s)
