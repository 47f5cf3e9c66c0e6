"""Broadcast of medium messages as a scatter and a recursive doubling."""

from __future__ import annotations

from tisim.actions.collectives.recursive_doubling import recursive_doubling_steps
from tisim.actions.collectives.scatter_pieces import Pieces, scatter_pieces
from tisim.actions.script import Endpoint


def scatter_rdb_allgather(s: Endpoint, count: int, size: int, root: int) -> None:
    """Scatter the bytes in equal pieces along a binomial tree, then double what ranks hold.

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
    R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
    MPICH", IJHPCA 19 (2005); the code is MPICH's `MPIR_Bcast_scatter_doubling_allgather`.
    """
    if count * size == 0:
        return
    pieces = Pieces(count * size, s.size)
    scatter_pieces(s, pieces, root)
    place = (s.rank - root) % s.size
    for step in recursive_doubling_steps(place, s.size):
        theirs = pieces.nbytes(step.theirs.start, len(step.theirs))
        if step.partner is not None:
            peer = (step.partner + root) % s.size
            mine = pieces.nbytes(step.mine.start, len(step.mine))
            s.sendrecv(peer, mine, 0, peer, pieces.nbytes(step.theirs.start, s.size), 0)
        for sends, partner in step.relays:
            peer = (partner + root) % s.size
            if sends:
                s.send(peer, theirs)
            else:
                s.recv(peer, pieces.nbytes(step.mine.start + step.width, s.size))
