"""Alltoall: along the rows, the columns and the depth of a mesh."""

from __future__ import annotations

from tisim.actions.collectives.mesh import exchange_along_line, lines_3d, mesh_3d_sides
from tisim.actions.script import Endpoint


def mesh_3d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """All that ranks have to send is spread over their plane, then goes to the other planes.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the ranks cannot be arranged as a mesh of square planes (SimGrid then sends nothing).
    """
    side, _ = mesh_3d_sides(s.size, "alltoall algorithm 3dmesh")
    row, column, depth = lines_3d(s.rank, s.size, side)
    block = scount * ssize
    exchange_along_line(s, row, block * s.size)
    exchange_along_line(s, column, block * s.size * side)
    exchange_along_line(s, depth, block * side * side)
