"""MVAPICH2's one-level reduction: recursive halving for vectors long enough."""

from __future__ import annotations

from tisim.actions.collectives.allreduce.rab_rdb import rab_rdb
from tisim.actions.collectives.allreduce.rdb import rdb
from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


def mvapich2_rs(s: Endpoint, count: int, size: int) -> None:
    """Recursive halving and doubling, or doubling alone for fewer elements than ranks.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    MVAPICH2's `MPIR_Allreduce_pt2pt_rs_MV2`, which is MPICH's: R. Thakur, R. Rabenseifner,
    W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005).
    """
    if count == 0:
        return
    if count < power_of_two_up_to(s.size):
        rdb(s, count, size)
    else:
        rab_rdb(s, count, size)
