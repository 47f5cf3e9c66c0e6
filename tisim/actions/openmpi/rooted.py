"""Operations with a root: broadcast, reduce, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.topology import (
    Place,
    binary_tree,
    binomial_tree,
    chains,
    in_order_binary_tree,
    in_order_binomial_tree,
)
from tisim.actions.openmpi import halving
from tisim.actions.openmpi.trees import knomial, send_down, send_up
from tisim.actions.script import Endpoint

_RADIX = 4  # coll_tuned_bcast_decision.c: coll_tuned_bcast_knomial_radix


def bcast_linear(s: Endpoint, nbytes: int, root: int) -> None:
    """The root sends to everybody at once (`ompi_coll_base_bcast_intra_basic_linear`)."""
    if s.rank != root:
        s.recv(root, nbytes)
        return
    s.waitall([s.isend(other, nbytes) for other in range(s.size) if other != root])


def _tree(name: str, s: Endpoint, root: int) -> Place:
    if name == "chain":
        return chains(s.rank, s.size, root, 1)
    if name == "knomial":
        return knomial(s.rank, s.size, root, _RADIX)
    return (binary_tree if name == "binary" else binomial_tree)(s.rank, s.size, root)


def bcast_tree(s: Endpoint, nbytes: int, root: int, tree: str) -> None:
    """Along a tree, the message in one piece.

    `ompi_coll_base_bcast_intra_chain`, `_pipeline` (the same), `_bintree`, `_binomial` and
    `_knomial`.
    """
    send_down(s, nbytes, _tree(tree, s, root))


def bcast_split_binary(s: Endpoint, count: int, size: int, root: int) -> None:
    """One half down each side of a binary tree, then pairs exchange the halves.

    `ompi_coll_base_bcast_intra_split_bintree`.
    """
    halves = [count - count // 2, count // 2]
    if 0 in halves:
        bcast_tree(s, count * size, root, "chain")
        return
    sizes = [half * size for half in halves]
    place = binary_tree(s.rank, s.size, root)
    side = ((s.rank - root) % s.size + 1) % 2
    if s.rank == root:
        for child, nbytes in zip(place.children, sizes, strict=False):
            s.send(child, nbytes)
    else:
        assert place.parent is not None
        if place.children:
            s.wait(s.irecv(place.parent, sizes[side]))
        else:
            s.recv(place.parent, sizes[side])
        for child in place.children:
            s.send(child, sizes[side])
    last = (root - 1) % s.size
    if s.size % 2 == 0 and s.rank == root:
        s.send(last, sizes[1])
    elif s.size % 2 == 0 and s.rank == last:
        s.recv(root, sizes[1])
    elif s.rank != root:
        pair = (s.rank + (1 if side == 0 else -1)) % s.size
        s.sendrecv(pair, sizes[side], 0, pair, sizes[1 - side], 0)


def bcast_scatter_allgather(s: Endpoint, count: int, size: int, root: int) -> None:
    """A binomial scatter, then an allgather by recursive doubling.

    `ompi_coll_base_bcast_intra_scatter_allgather`.
    """
    if count < s.size:
        bcast_linear(s, count * size, root)
        return
    place = (s.rank - root) % s.size
    part = -(-count // s.size)

    def rank(at: int) -> int:
        return (at + root) % s.size

    def left(at: int, parts: int) -> int:
        """Elements of so many parts from a place on."""
        return max(0, min(parts * part, count - at * part))

    mask = 1
    while mask < s.size and not place & mask:
        mask <<= 1
    held = left(place, mask) if place else count
    if place and held:
        s.recv(rank(place - mask), held * size)
    mask >>= 1
    while mask:
        if place + mask < s.size and held > part * mask:
            s.send(rank(place + mask), (held - part * mask) * size)
            held = part * mask
        mask >>= 1
    held = left(place, 1)
    got = 0
    mask = 1
    while mask < s.size:
        other = place ^ mask
        mine, theirs = place & -mask, other & -mask
        if other < s.size:
            got = left(theirs, mask)
            s.sendrecv(rank(other), held * size, 0, rank(other), got * size, 0)
            held += got
        if theirs + mask > s.size:
            complete = s.size - mine - mask
            half = mask >> 1
            while half:
                other = place ^ half
                base = place & -(half << 1)
                if other > place and place < base + complete <= other:
                    s.send(rank(other), got * size)
                elif other < place and other < base + complete <= place:
                    got = left(mine + mask, mask)
                    s.recv(rank(other), got * size)
                    held += got
                half >>= 1
        mask <<= 1


def reduce_linear(s: Endpoint, nbytes: int, root: int) -> None:
    """The root receives from the last rank to the first (`ompi_coll_base_reduce_..._linear`)."""
    if s.rank != root:
        s.send(root, nbytes)
        return
    for other in reversed(range(s.size)):
        if other != root:
            s.recv(other, nbytes)


def reduce_tree(s: Endpoint, nbytes: int, root: int, tree: str) -> None:
    """Along a tree, the vector in one piece.

    `ompi_coll_base_reduce_intra_chain`, `_pipeline` (the same), `_binary`, and `_binomial`, whose
    tree keeps the ranks in order.
    """
    if tree == "binomial":
        send_up(s, nbytes, in_order_binomial_tree(s.rank, s.size, root))
    else:
        send_up(s, nbytes, _tree(tree, s, root))


def reduce_in_order_binary(s: Endpoint, nbytes: int, root: int) -> None:
    """To the last rank, which passes the result on (`..._reduce_intra_in_order_binary`)."""
    last = s.size - 1
    send_up(s, nbytes, in_order_binary_tree(s.rank, s.size))
    if root != last and s.rank == last:
        s.send(root, nbytes)
    elif root != last and s.rank == root:
        s.recv(last, nbytes)


def reduce_halving(s: Endpoint, count: int, size: int, root: int) -> None:
    """Rabenseifner's, or linear where the vector is too short to halve."""
    number = 1 << (s.size.bit_length() - 1)
    if number < 2 or count < number:
        reduce_linear(s, count * size, root)
        return
    state = halving.reduce_scatter(s, count, size)
    halving.gather(s, state, count, size, root)


def gather_linear(s: Endpoint, sent: int, received: Sequence[int], root: int) -> None:
    """The root receives one after the other (`ompi_coll_base_gather_intra_basic_linear`).

    Parameters
    ----------
    s
        A rank of the communicator.
    sent
        Bytes that this rank sends.
    received
        Bytes that the root receives from each rank.
    root
        The rank that gathers.
    """
    if s.rank != root:
        s.send(root, sent)
        return
    for other in range(s.size):
        if other != root:
            s.recv(other, received[other])


def gatherv_linear(s: Endpoint, sent: int, received: Sequence[int], root: int) -> None:
    """The root posts all receives (`mca_coll_basic_gatherv_intra`); nothing is empty."""
    if s.rank != root:
        if sent > 0:
            s.send(root, sent)
        return
    for other in range(s.size):
        if other != root and received[other] > 0:
            s.recv(other, received[other])


def gather_synchronised(s: Endpoint, sent: int, received: int, root: int) -> None:
    """The root calls each rank in turn (`ompi_coll_base_gather_intra_linear_sync`).

    With a segment size of 0 the first segment is the whole block, and the second is empty.
    """
    if s.rank != root:
        s.recv(root, 0)
        s.send(root, sent)
        s.send(root, 0)
        return
    rests = []
    for other in range(s.size):
        if other == root:
            continue
        first = s.irecv(other, received)
        s.send(other, 0)
        rests.append(s.irecv(other, 0))
        s.wait(first)
    s.waitall(rests)


def scatter_binomial(s: Endpoint, nbytes: int, root: int) -> None:
    """Down a tree whose subtrees are intervals (`ompi_coll_base_scatter_intra_binomial`)."""
    place = (s.rank - root) % s.size
    tree = in_order_binomial_tree(s.rank, s.size, root)
    if tree.parent is not None:
        reach = place & -place
        s.recv(tree.parent, min(reach, s.size - place) * nbytes)
    for child in reversed(tree.children):
        at = (child - root) % s.size
        s.send(child, min(at - place, s.size - at) * nbytes)


def scatter_linear(s: Endpoint, sent: Sequence[int], received: int, root: int) -> None:
    """The root sends one after the other (`ompi_coll_base_scatter_intra_basic_linear`)."""
    if s.rank != root:
        s.recv(root, received)
        return
    for other in range(s.size):
        if other != root:
            s.send(other, sent[other])


def scatterv_linear(s: Endpoint, sent: Sequence[int], received: int, root: int) -> None:
    """The same without empty messages (`mca_coll_basic_scatterv_intra`)."""
    if s.rank != root:
        if received > 0:
            s.recv(root, received)
        return
    for other in range(s.size):
        if other != root and sent[other] > 0:
            s.send(other, sent[other])


def scatter_nonblocking(s: Endpoint, sent: int, received: int, root: int) -> None:
    """The root sends to all at once (`..._scatter_intra_linear_nb`; blocking_send_ratio 0)."""
    if s.rank != root:
        s.recv(root, received)
        return
    s.waitall([s.isend(other, sent) for other in range(s.size) if other != root])
