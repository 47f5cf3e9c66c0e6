"""All-to-all: every rank has a block for every rank; blocks have equal sizes."""

from __future__ import annotations

from tisim.actions.collectives.exchanges import a_few_at_a_time, around, in_pairs, paced
from tisim.actions.collectives.halving import demand_power_of_two, exchange_doubling
from tisim.actions.collectives.mesh import along_2d, along_3d
from tisim.actions.collectives.nonblocking import ialltoall
from tisim.actions.script import Endpoint

_HANDLE = 8  # bytes by which the ranks make their windows known
_PUT_TAG = 2  # keeps the puts apart from the messages of the calls around them


def _blocks(s: Endpoint, sent: int, received: int) -> tuple[list[int], list[int]]:
    return [sent] * s.size, [received] * s.size


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, then along the columns of a mesh.

    All that a rank has to send goes along its row, what is for a column then down that column.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh (SimGrid then
    sends nothing).
    """
    block = scount * ssize
    along_2d(s, "alltoall algorithm 2dmesh", block * s.size, block)


def mesh_3d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, the columns and the depth of a mesh.

    All that ranks have to send is spread over their plane, then goes to the other planes.
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
    """Ceil(log2 P) exchanges, blocks are forwarded.

    In step k the blocks whose distance to travel has bit k set go 2^k ranks ahead. [Bruck]; as
    in MPICH. SimGrid gives a block `scount` elements of `rsize` bytes, too few or fatally many
    when the types of the two sides differ in width; here all of it travels.
    """
    rank, size = s.rank, s.size
    block = scount * ssize
    distance = 1
    while distance < size:
        # how many of 1 to P - 1 have this bit
        whole, part = divmod(size, 2 * distance)
        blocks = whole * distance + max(0, part - distance)
        nbytes = blocks * block
        s.sendrecv((rank + distance) % size, nbytes, 0, (rank - distance) % size, nbytes, 0)
        distance *= 2


def pair(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, pace: str = "") -> None:
    """P - 1 exchanges in pairs.

    This and the next three raise an `InputError` when the number of ranks is not a power of two.
    """
    in_pairs(s, "alltoall", *_blocks(s, scount * ssize, rcount * rsize), pace)


pair_light_barrier, pair_mpi_barrier, pair_one_barrier = paced("pair", pair)


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Recursive doubling, everything goes everywhere.

    Exchange all blocks held, for whomever, with the rank that differs in bit 0, 1, 2... An
    allgather of what all ranks have to send; a rank picks its blocks at the end. [Thakur]; used
    so by A. Faraj. When the types of the two sides differ in width SimGrid takes the elements
    of one for those of the other, and sends too few or fatally many; here all blocks travel.
    """
    share = rcount * rsize * s.size
    exchange_doubling(s, lambda ranks: len(ranks) * share, lambda step: step.width * share)


def ring(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, pace: str = "") -> None:
    """P - 1 exchanges with partners at growing distance.

    Other libraries call it pairwise exchange.
    """
    around(s, *_blocks(s, scount * ssize, rcount * rsize), pace)


ring_light_barrier, ring_mpi_barrier, ring_one_barrier = paced("ring", ring)


def mvapich2_scatter_dest(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Messages to four ranks at a time, the own rank included.

    MVAPICH2 has it from MPICH.
    """
    if rcount:
        a_few_at_a_time(s, *_blocks(s, scount * ssize, rcount * rsize), own=True)


def pair_rma(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """One-sided, every rank puts its blocks into the others' memory.

    Put a block to all ranks, in the order of the exchanges of `pair`, between two fences.
    Making the window is an allgather, a fence two barriers, freeing the window two more; all
    with the algorithms chosen. A target's share is to wait, at the second fence, for what was
    put: its receives, posted at the start, let every put go at once. [Faraj]; the one-sided form
    is SimGrid's. Raises an `InputError` when the
    number of ranks is not a power of two. A put never waits for its target. With sending and
    receiving overheads other than 0, one that is too large to be detached is charged none here,
    in SimGrid those of a detached one.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_rma")
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
