"""All-to-all: every rank has a block for every rank; blocks have equal sizes."""

from __future__ import annotations

from tisim.actions.collectives.halving import demand_power_of_two, recursive_doubling_steps
from tisim.actions.collectives.mesh import (
    exchange_along_line,
    lines_2d,
    lines_3d,
    mesh_2d_sides,
    mesh_3d_sides,
)
from tisim.actions.collectives.nonblocking import ialltoall
from tisim.actions.script import Endpoint

_RANKS_AT_A_TIME = 4
_HANDLE = 8  # bytes by which the ranks make their windows known
_PUT_TAG = 2  # keeps the puts apart from the messages of the calls around them


def mesh_2d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, then along the columns of a mesh.

    All that a rank has to send goes along its row, what is for a column then down that column.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh (SimGrid then
    sends nothing).
    """
    rows, columns = mesh_2d_sides(s.size, "alltoall algorithm 2dmesh")
    row, column = lines_2d(s.rank, rows, columns)
    block = scount * ssize
    exchange_along_line(s, row, block * s.size)
    exchange_along_line(s, column, block * columns)


def mesh_3d(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Along the rows, the columns and the depth of a mesh.

    All that ranks have to send is spread over their plane, then goes to the other planes.
    [Faraj]. Raises an `InputError` when the ranks cannot be arranged as a mesh of square planes
    (SimGrid then sends nothing).
    """
    side, _ = mesh_3d_sides(s.size, "alltoall algorithm 3dmesh")
    row, column, depth = lines_3d(s.rank, s.size, side)
    block = scount * ssize
    exchange_along_line(s, row, block * s.size)
    exchange_along_line(s, column, block * s.size * side)
    exchange_along_line(s, depth, block * side * side)


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


def pair(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """P - 1 exchanges in pairs.

    In step i exchange blocks with the rank whose number differs by exclusive or with i.
    [Faraj]. Raises an `InputError` when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair")
    rank, sendrecv = s.rank, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, s.size):
        sendrecv(rank ^ step, sent, 0, rank ^ step, received, 0)


def pair_light_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `pair`, each after a message that its partner is ready.

    In step i exchange with the rank whose number differs by exclusive or with i. Before each
    exchange but the first, one byte tells the partner to go on. [Faraj]. Raises an `InputError`
    when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_light_barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        peer = rank ^ step
        if step > 1:
            sendrecv(peer, 1, 0, peer, 1, 0)
        sendrecv(peer, sent, 0, peer, received, 0)


def pair_mpi_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `pair`, each after a barrier.

    In step i exchange with the rank whose number differs by exclusive or with i. Before each
    step, that with itself included, comes the barrier that is chosen. [Faraj]. Raises an
    `InputError` when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_mpi_barrier")
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    barrier(s)
    for step in range(1, size):
        barrier(s)
        peer = rank ^ step
        sendrecv(peer, sent, 0, peer, received, 0)


def pair_one_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `pair`, after one barrier.

    In step i exchange with the rank whose number differs by exclusive or with i. The barrier
    that is chosen makes all ranks start together. [Faraj]. Raises an `InputError` when the
    number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_one_barrier")
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        peer = rank ^ step
        sendrecv(peer, sent, 0, peer, received, 0)


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Recursive doubling, everything goes everywhere.

    Exchange all blocks held, for whomever, with the rank that differs in bit 0, 1, 2... An
    allgather of what all ranks have to send; a rank picks its blocks at the end. [Thakur]; used
    so by A. Faraj. When the types of the two sides differ in width SimGrid takes the elements
    of one for those of the other, and sends too few or fatally many; here all blocks travel.
    """
    share = rcount * rsize * s.size
    for step in recursive_doubling_steps(s.rank, s.size):
        room = step.width * share
        if step.partner is not None:
            s.sendrecv(step.partner, len(step.mine) * share, 0, step.partner, room, 0)
        for is_sent, peer in step.relays:
            if is_sent:
                s.send(peer, len(step.theirs) * share)
            else:
                s.recv(peer, room)


def ring(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """P - 1 exchanges with partners at growing distance.

    In step i send to the rank i ahead and receive from the rank i behind. [Faraj]. Other
    libraries call it pairwise exchange.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        sendrecv((rank + step) % size, sent, 0, (rank - step) % size, received, 0)


def ring_light_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `ring`, each after a message that its partner is ready.

    In step i send to the rank i ahead and receive from the rank i behind. Before each exchange
    but the first, one byte tells the sender to go on. [Faraj].
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        if step > 1:
            sendrecv(behind, 1, 0, ahead, 1, 0)
        sendrecv(ahead, sent, 0, behind, received, 0)


def ring_mpi_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `ring`, each after a barrier.

    In step i send to the rank i ahead and receive from the rank i behind. Before each step,
    that with itself included, comes the barrier that is chosen. [Faraj].
    """
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    barrier(s)
    for step in range(1, size):
        barrier(s)
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, sent, 0, behind, received, 0)


def ring_one_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The exchanges of `ring`, after one barrier.

    In step i send to the rank i ahead and receive from the rank i behind. The barrier that is
    chosen makes all ranks start together. [Faraj].
    """
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, sent, 0, behind, received, 0)


def mvapich2_scatter_dest(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Messages to four ranks at a time, the own rank included.

    Receive from four ranks ahead while sending to four behind; the own block is a message too.
    MVAPICH2 and MPICH: throttled linear ("scattered destination") alltoall.
    """
    if rcount == 0:
        return
    rank, size = s.rank, s.size
    sent, received = scount * ssize, rcount * rsize
    for start in range(0, size, _RANKS_AT_A_TIME):
        distances = range(start, min(start + _RANKS_AT_A_TIME, size))
        requests = [s.irecv((rank + distance) % size, received) for distance in distances]
        requests += [s.isend((rank - distance) % size, sent) for distance in distances]
        s.waitall(requests)


def pair_rma(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """One-sided, every rank puts its blocks into the others' memory.

    Put a block to all ranks, in the order of the exchanges of `pair`, between two fences.
    Making the window is an allgather, a fence two barriers, freeing the window two more; all
    with the algorithms chosen. A target's share is to wait, at the second fence, for what was
    put: its receives, posted at the start, let every put go at once. A. Faraj, X. Yuan:
    Automatic Generation and Tuning of MPI Collective Communication Routines. Int. Conf. on
    Supercomputing, 2005; the one-sided form is SimGrid's. Raises an `InputError` when the
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
