"""Allgather: along the rows, then along the columns of a mesh."""

from __future__ import annotations

from tisim.actions.collectives.mesh import exchange_along_line, lines_2d, mesh_2d_sides
from tisim.actions.script import Endpoint


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Blocks go to all ranks of the row, then the row's blocks to all ranks of the column.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the ranks cannot be arranged as a mesh.
    """
    rows, columns = mesh_2d_sides(s.size, "allgather algorithm 2dmesh")
    row, column = lines_2d(s.rank, rows, columns)
    block = scount * ssize
    exchange_along_line(s, row, block)
    exchange_along_line(s, column, columns * block)
