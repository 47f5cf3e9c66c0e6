"""Allgatherv: a gatherv and a broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def gb(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Rank 0 collects all blocks and broadcasts them, with the broadcast chosen.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Notes
    -----
    The blocks lie side by side: gaps between them, which SimGrid would broadcast too, are not
    part of the call.
    """
    s.chosen("gatherv")(s, scount, ssize, rcounts, rsize, 0)
    s.chosen("bcast")(s, sum(rcounts), rsize, 0)
