"""Barrier: no rank leaves before all have entered."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import Algorithm, algorithm
from tisim.actions.collectives.halving import power_of_two_up_to
from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.nodes import Nodes, nodes
from tisim.actions.script import Endpoint
from tisim.errors import InputError


def ompi_basic_linear(s: Endpoint) -> None:
    """Linear barrier through rank 0, as in Open MPI's `coll/basic`.

    Rank 0 receives a message from every rank, then answers every rank. The linear barrier of
    Open MPI (`coll/basic`), with non-blocking messages on rank 0.
    """
    if s.rank > 0:
        s.send(0, 0)
        s.recv(0, 0)
        return
    s.waitall([s.irecv(other, 0) for other in range(1, s.size)])
    s.waitall([s.isend(other, 0) for other in range(1, s.size)])


def ompi_two_procs(s: Endpoint) -> None:
    """Barrier of two ranks.

    Exchange one message. Open MPI's `coll/base` (`barrier_intra_two_procs`). Raises an
    `InputError` if there are not two ranks.
    """
    if s.size != 2:
        raise InputError(
            f"barrier algorithm ompi_two_procs is for 2 ranks, not {s.size}: choose another one"
        )
    s.sendrecv(1 - s.rank, 0, 0, 1 - s.rank, 0, 0)


def ompi_tree(s: Endpoint) -> None:
    """Barrier up and down a binomial tree.

    Receive from the children, send to the parent, receive from it, send to the children. Open
    MPI's `coll/base` (`barrier_intra_tree`).
    """
    parent, children = in_order_binomial_tree(s.rank, s.size, 0)
    for child in children:
        s.recv(child, 0)
    if parent is not None:
        s.send(parent, 0)
        s.recv(parent, 0)
    for child in reversed(children):
        s.send(child, 0)


def ompi_bruck(s: Endpoint) -> None:
    """Barrier by dissemination.

    Send to the rank 1, 2, 4... ahead, receive from the one as far behind. D. Hensgen, R.
    Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988); Open MPI
    names it after J. Bruck.
    """
    distance = 1
    while distance < s.size:
        s.sendrecv((s.rank + distance) % s.size, 0, 0, (s.rank - distance) % s.size, 0, 0)
        distance <<= 1


def ompi_recursivedoubling(s: Endpoint) -> None:
    """Barrier by recursive doubling.

    Exchange with ranks at distance 1, 2, 4...; the ranks beyond a power of two have a proxy.
    Open MPI's `coll/base` (`barrier_intra_recursivedoubling`), and MVAPICH2's pairwise
    exchange: R. Gupta, V. Tipparaju, J. Nieplocha, D. K. Panda, "Efficient barrier using remote
    memory operations on VIA-based clusters", Cluster 2002.
    """
    inside = power_of_two_up_to(s.size)
    if s.rank >= inside:
        s.sendrecv(s.rank - inside, 0, 0, s.rank - inside, 0, 0)
        return
    proxy = s.rank + inside < s.size
    if proxy:
        s.recv(s.rank + inside, 0)
    distance = 1
    while distance < inside:
        s.sendrecv(s.rank ^ distance, 0, 0, s.rank ^ distance, 0, 0)
        distance <<= 1
    if proxy:
        s.send(s.rank + inside, 0)


def ompi_doublering(s: Endpoint) -> None:
    """Barrier with a token that circulates twice around a ring.

    Pass two messages around the ring of ranks, one after the other. Open MPI's `coll/base`
    (`barrier_intra_doublering`). As in SimGrid, a rank that is alone in its communicator sends
    to itself.
    """
    left, right = (s.rank - 1) % s.size, (s.rank + 1) % s.size
    for _ in range(2):
        if s.rank:
            s.recv(left, 0)
            s.send(right, 0)
        else:
            s.send(right, 0)
            s.recv(left, 0)


def mpich_smp(s: Endpoint) -> None:
    """MPICH's two-level barrier.

    A barrier on each host, one among the hosts' leaders, then a broadcast on each host. MPICH's
    `MPIR_Barrier_intra_smp`: H. Zhu, D. Goodell, W. Gropp, R. Thakur, "Hierarchical collectives
    in MPICH2", EuroPVM/MPI 2009.
    """
    two_level_barrier(nodes(s), algorithm("barrier", "mpich"), algorithm("bcast", "mpich"))


def two_level_barrier(where: Nodes, barrier: Algorithm, bcast: Algorithm) -> None:
    """Barrier on each host, barrier among the leaders, then a one-byte broadcast on each host."""
    barrier(where.intra)
    if where.leaders is not None:
        barrier(where.leaders)
    bcast(where.intra, 1, 1, 0)


# `MPIR_Pairwise_Barrier_MV2`
mvapich2_pair = ompi_recursivedoubling
