"""Alltoall: along the rows, then along the columns of a mesh."""

from __future__ import annotations

from tisim.actions.collectives.mesh import exchange_along_line, lines_2d, mesh_2d_sides
from tisim.actions.script import Endpoint


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """All that a rank has to send goes along its row, what is for a column then down that column.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the ranks cannot be arranged as a mesh (SimGrid then sends nothing).
    """
    rows, columns = mesh_2d_sides(s.size, "alltoall algorithm 2dmesh")
    row, column = lines_2d(s.rank, rows, columns)
    block = scount * ssize
    exchange_along_line(s, row, block * s.size)
    exchange_along_line(s, column, block * columns)
