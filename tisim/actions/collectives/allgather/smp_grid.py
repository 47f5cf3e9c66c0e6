"""Ranks as a grid of hosts and cores, as the SMP allgathers of STAR-MPI's kind number them."""

from __future__ import annotations

from typing import NamedTuple

from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


class Grid(NamedTuple):
    """The place of a rank, counted as if the ranks of each host were consecutive.

    Attributes
    ----------
    cores
        Ranks on every host; 1 when the hosts have different numbers of ranks.
    hosts
        The number of hosts.
    core, host
        This rank's place.
    first
        The first rank of this rank's host.
    """

    cores: int
    hosts: int
    core: int
    host: int
    first: int


def smp_grid(s: Endpoint) -> Grid:
    """The place of `s`; asks where the ranks are, as the first call on a communicator does."""
    found = nodes(s)
    cores = found.intra.size if found.layout.uniform else 1
    host, core = divmod(s.rank, cores)
    return Grid(cores, s.size // cores, core, host, host * cores)


def exchange_within_host(s: Endpoint, grid: Grid, sent: int, received: int) -> None:
    """Step i sends i cores ahead and receives from i cores behind, around the host."""
    for step in range(1, grid.cores):
        ahead = grid.first + (grid.core + step) % grid.cores
        behind = grid.first + (grid.core - step) % grid.cores
        s.sendrecv(ahead, sent, 0, behind, received, 0)
