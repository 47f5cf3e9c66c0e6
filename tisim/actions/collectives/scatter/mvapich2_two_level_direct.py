"""Scatter: among the hosts one by one, then on every host."""

from __future__ import annotations

from tisim.actions.collectives.scatter.ompi_basic_linear import ompi_basic_linear
from tisim.actions.collectives.scatter.two_levels import scatter_on_two_levels
from tisim.actions.script import Endpoint


def mvapich2_two_level_direct(
    s: Endpoint,
    scount: int,
    ssize: int,
    rcount: int,
    rsize: int,
    root: int,
    *,
    intra: str = "mpich",
) -> None:
    """The leaders of the hosts get their hosts' blocks one by one.

    Parameters
    ----------
    s, scount, ssize, rcount, rsize, root
        See the package.
    intra
        Name of the scatter on a host.

    References
    ----------
    MVAPICH2: two-level scatter (D. K. Panda's group, The Ohio State University).
    """
    scatter_on_two_levels(s, scount, ssize, rcount, rsize, root, ompi_basic_linear, intra)
