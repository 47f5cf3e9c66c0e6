"""All-to-all: every rank has a block for every rank; blocks have equal sizes."""

from __future__ import annotations

from tisim.actions.collectives.exchanges import (
    exchange_pairwise,
    exchange_shifted,
    exchange_throttled,
    paced_variants,
)
from tisim.actions.collectives.halving import exchange_doubling, require_power_of_two
from tisim.actions.collectives.mesh import along_2d, along_3d
from tisim.actions.collectives.nonblocking import ialltoall
from tisim.actions.script import Endpoint

_HANDLE = 8  # bytes per rank of the exchange of window handles
_PUT_TAG = 2  # keeps the puts apart from the messages of the calls around them


def _blocks(s: Endpoint, sent: int, received: int) -> tuple[list[int], list[int]]:
    return [sent] * s.size, [received] * s.size


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, then along the columns of a mesh.

    All of a rank's data go along its row, then the data for each column down that column.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh (SimGrid then
    sends nothing).
    """
    block = scount * ssize
    along_2d(s, "alltoall algorithm 2dmesh", block * s.size, block)


def mesh_3d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, the columns and the depth of a mesh.

    All data are spread over the rank's plane, then sent to the other planes.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh of square planes
    (SimGrid then sends nothing).
    """
    block = scount * ssize
    along_3d(s, "alltoall algorithm 3dmesh", block * s.size, block)


def basic_linear(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """All messages at once.

    Post all receives, then all sends in the opposite order, and wait. Open MPI, ``coll/basic``
    and ``coll/tuned``: linear alltoall.
    """
    s.waitall(ialltoall(s, scount, ssize, rcount, rsize))


def bruck(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Ceil(log2 P) exchanges that forward blocks.

    In step k, the blocks whose remaining distance has bit k set go 2^k ranks ahead. [Bruck]; as
    in MPICH. SimGrid computes a block as `scount` elements of `rsize` bytes: too few, or so many
    that it crashes, if the types of the two sides differ in width; here whole blocks are sent.
    """
    rank, size = s.rank, s.size
    block = scount * ssize
    distance = 1
    while distance < size:
        # how many of the distances 1 to P - 1 have this bit
        whole, part = divmod(size, 2 * distance)
        blocks = whole * distance + max(0, part - distance)
        nbytes = blocks * block
        s.sendrecv((rank + distance) % size, nbytes, 0, (rank - distance) % size, nbytes, 0)
        distance *= 2


def pair(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, pace: str = "") -> None:
    """P - 1 pairwise exchanges.

    This and the next three raise an `InputError` when the number of ranks is not a power of two.
    """
    exchange_pairwise(s, "alltoall", *_blocks(s, scount * ssize, rcount * rsize), pace)


pair_light_barrier, pair_mpi_barrier, pair_one_barrier = paced_variants("pair", pair)


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Recursive doubling, in which every rank gets all blocks.

    Exchange all blocks held, for all destinations, with the rank that differs in bit 0, 1, 2...
    This is an allgather of all send buffers; a rank picks its blocks at the end. [Thakur]; used
    this way by A. Faraj. If the types of the two sides differ in width, SimGrid confuses their
    element counts and sends too few, or so many that it crashes; here all blocks are sent.
    """
    share = rcount * rsize * s.size
    exchange_doubling(s, lambda ranks: len(ranks) * share, lambda step: step.width * share)


def ring(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, pace: str = "") -> None:
    """P - 1 exchanges at growing distance.

    Other libraries call it pairwise exchange.
    """
    exchange_shifted(s, *_blocks(s, scount * ssize, rcount * rsize), pace)


ring_light_barrier, ring_mpi_barrier, ring_one_barrier = paced_variants("ring", ring)


def mvapich2_scatter_dest(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Messages to four ranks at a time, including the rank itself.

    MVAPICH2 took it from MPICH.
    """
    if rcount:
        exchange_throttled(s, *_blocks(s, scount * ssize, rcount * rsize), own=True)


def pair_rma(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """One-sided: every rank puts its blocks into the memory of the other ranks.

    Put a block to all ranks, in the order of the exchanges of `pair`, between two fences.
    Creating the window takes an allgather, a fence two barriers, freeing the window two more;
    all use the configured algorithms. A target waits for the puts at the second fence; its
    receives are posted at the start, so that every put starts at once. [Faraj]; the one-sided
    form is SimGrid's. A put never waits for its target. With non-zero send and receive
    overheads, a put too large to be detached is charged none here, but those of a detached one
    in SimGrid. Raises an `InputError` when the number of ranks is not a power of two.
    """
    require_power_of_two(s.size, "alltoall algorithm pair_rma")
    barrier = s.chosen("barrier")
    peers = [s.rank ^ step for step in range(1, s.size)]
    block = scount * ssize
    arrivals = [s.irecv(peer, block, _PUT_TAG) for peer in peers]
    s.chosen("allgather")(s, _HANDLE, 1, _HANDLE, 1)
    barrier(s)
    barrier(s)
    puts = [s.isend(peer, block, _PUT_TAG) for peer in peers]
    barrier(s)
    s.waitall(arrivals)
    barrier(s)
    barrier(s)
    barrier(s)
    s.waitall(puts)
