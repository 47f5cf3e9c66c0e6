"""Broadcast of long messages as a scatter and a ring."""

from __future__ import annotations

from tisim.actions.collectives.scatter_pieces import Pieces, scatter_pieces
from tisim.actions.script import Endpoint


def scatter_lr_allgather(s: Endpoint, count: int, size: int, root: int) -> None:
    """Scatter the bytes in equal pieces along a binomial tree, then pass them around a ring.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    The van de Geijn broadcast: M. Barnett, S. Gupta, D. Payne, L. Shuler, R. van de Geijn and
    J. Watts, "Interprocessor collective communication library (InterCom)", SHPCC 1994; with a
    logical ring ("LR") in STAR-MPI and MPICH.
    """
    pieces = Pieces(count * size, s.size)
    scatter_pieces(s, pieces, root)
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    place = (s.rank - root) % s.size
    for step in range(s.size - 1):
        sent, received = (place - step) % s.size, (place - step - 1) % s.size
        s.sendrecv(right, pieces.nbytes(sent), 0, left, pieces.nbytes(received), 0)
