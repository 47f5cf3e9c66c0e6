"""The algorithms of Open MPI's `coll/base`, as its component `coll/tuned` calls them.

Written from the sources of Open MPI 4.1.4 (`ompi/mca/coll/base/coll_base_*.c`, which every
function names): each makes the same messages, in the same order on each rank. The fixed decisions
of `coll/tuned` pass a segment size of 0 and a fan-out of 0, so nothing is cut and every chain is
one chain (`coll_tuned_decision_fixed.c`). The algorithms of SimGrid's selector, which cut, are in
the modules of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tisim.actions.collectives.halving import power_of_two_up_to
from tisim.actions.collectives.trees import (
    Place,
    binary_tree,
    binomial_tree,
    chains,
    in_order_binary_tree,
    in_order_binomial_tree,
    knomial_tree,
)
from tisim.actions.script import Endpoint

_RADIX = 4  # coll_tuned_bcast_decision.c: coll_tuned_bcast_knomial_radix


# Operations with a root


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
        return _knomial(s.rank, s.size, root, _RADIX)
    return (binary_tree if name == "binary" else binomial_tree)(s.rank, s.size, root)


def bcast_tree(s: Endpoint, nbytes: int, root: int, tree: str) -> None:
    """Along a tree, the message in one piece.

    `ompi_coll_base_bcast_intra_chain`, `_pipeline` (the same), `_bintree`, `_binomial` and
    `_knomial`.
    """
    _send_down(s, nbytes, _tree(tree, s, root))


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
        _send_up(s, nbytes, in_order_binomial_tree(s.rank, s.size, root))
    else:
        _send_up(s, nbytes, _tree(tree, s, root))


def reduce_in_order_binary(s: Endpoint, nbytes: int, root: int) -> None:
    """To the last rank, which passes the result on (`..._reduce_intra_in_order_binary`)."""
    last = s.size - 1
    _send_up(s, nbytes, in_order_binary_tree(s.rank, s.size))
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
    state = _reduce_scatter_halves(s, count, size)
    _gather_halves(s, state, count, size, root)


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


# Operations in which every rank receives


def allgather_bruck(s: Endpoint, blocks: Sequence[int]) -> None:
    """As many blocks as are held go 1, 2, 4... ranks back.

    `ompi_coll_base_allgather_intra_bruck`, `_allgatherv_intra_bruck`; recursive doubling too on
    a number of ranks that is not a power of two (`coll_base_allgather.c`).

    Parameters
    ----------
    s
        A rank of the communicator.
    blocks
        Bytes of each rank's block.
    """
    distance = 1
    while distance < s.size:
        number = min(distance, s.size - distance)
        source = (s.rank + distance) % s.size
        sent = sum(blocks[(s.rank + i) % s.size] for i in range(number))
        received = sum(blocks[(source + i) % s.size] for i in range(number))
        s.sendrecv((s.rank - distance) % s.size, sent, 0, source, received, 0)
        distance *= 2


def allgather_doubling(s: Endpoint, block: int) -> None:
    """Recursive doubling (`ompi_coll_base_allgather_intra_recursivedoubling`)."""
    if s.size & (s.size - 1):
        allgather_bruck(s, [block] * s.size)
        return
    distance = 1
    while distance < s.size:
        peer = s.rank ^ distance
        s.sendrecv(peer, distance * block, 0, peer, distance * block, 0)
        distance *= 2


def allgather_ring(s: Endpoint, blocks: Sequence[int]) -> None:
    """Blocks travel around a ring (`..._allgather_intra_ring`, `_allgatherv_intra_ring`)."""
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    for step in range(s.size - 1):
        sent = blocks[(s.rank - step) % s.size]
        s.sendrecv(right, sent, 0, left, blocks[(left - step) % s.size], 0)


def allgather_neighbours(s: Endpoint, blocks: Sequence[int]) -> None:
    """Exchanges with the two neighbours in turn; a ring on an odd number of ranks.

    `ompi_coll_base_allgather_intra_neighborexchange`, `_allgatherv_intra_neighborexchange`.
    """
    if s.size % 2:
        allgather_ring(s, blocks)
        return
    sign = 1 if s.rank % 2 == 0 else -1
    peers = [(s.rank + sign) % s.size, (s.rank - sign) % s.size]
    s.sendrecv(peers[0], blocks[s.rank], 0, peers[0], blocks[peers[0]], 0)
    first = s.rank - s.rank % 2  # the pair of blocks that is sent next
    incoming = [first, first]
    for step in range(1, s.size // 2):
        turn = step % 2
        incoming[turn] = (incoming[turn] + (2 * sign if turn == 0 else -2 * sign)) % s.size
        sent = blocks[first] + blocks[first + 1]
        received = blocks[incoming[turn]] + blocks[incoming[turn] + 1]
        s.sendrecv(peers[turn], sent, 0, peers[turn], received, 0)
        first = incoming[turn]


def exchange_of_two(s: Endpoint, sent: int, received: int) -> None:
    """Between two ranks (`..._allgather_intra_two_procs`, `_alltoall_intra_two_procs`)."""
    s.sendrecv(1 - s.rank, sent, 0, 1 - s.rank, received, 0)


def alltoall_linear(s: Endpoint, sent: int, received: int) -> None:
    """All messages at once, the sends in reverse order.

    `ompi_coll_base_alltoall_intra_basic_linear`, and `_linear_sync` whose number of requests is
    not limited (`coll_tuned_alltoall_max_requests` is 0).
    """
    others = [(s.rank + step) % s.size for step in range(1, s.size)]
    requests = s.irecvs(others, [received] * len(others))
    requests += s.isends(others[::-1], [sent] * len(others))
    s.waitall(requests)


def alltoall_pairwise(s: Endpoint, sent: int, received: int) -> None:
    """Exchanges at growing distance (`ompi_coll_base_alltoall_intra_pairwise`)."""
    for step in range(1, s.size):
        s.sendrecv((s.rank + step) % s.size, sent, 0, (s.rank - step) % s.size, received, 0)


def alltoall_bruck(s: Endpoint, block: int) -> None:
    """Blocks go 1, 2, 4... ranks on, as their distances say (`..._alltoall_intra_bruck`)."""
    distance = 1
    while distance < s.size:
        nbytes = block * sum(1 for i in range(1, s.size) if i & distance)
        s.sendrecv((s.rank + distance) % s.size, nbytes, 0, (s.rank - distance) % s.size, nbytes, 0)
        distance *= 2


def alltoallv_linear(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """All messages at once, by rank (`ompi_coll_base_alltoallv_intra_basic_linear`).

    Parameters
    ----------
    s
        A rank of the communicator.
    sent, received
        Bytes to and from each rank.
    empty
        Whether empty messages are sent too, as before Open MPI 5.
    """
    sources = [r for r in range(s.size) if r != s.rank and (empty or received[r] > 0)]
    targets = [r for r in range(s.size) if r != s.rank and (empty or sent[r] > 0)]
    requests = s.irecvs(sources, [received[r] for r in sources])
    requests += s.isends(targets, [sent[r] for r in targets])
    s.waitall(requests)


def alltoallv_pairwise(
    s: Endpoint, sent: Sequence[int], received: Sequence[int], *, empty: bool
) -> None:
    """Exchanges at growing distance (`ompi_coll_base_alltoallv_intra_pairwise`)."""
    for step in range(1, s.size):
        target, source = (s.rank + step) % s.size, (s.rank - step) % s.size
        request = s.irecv(source, received[source]) if empty or received[source] > 0 else None
        if empty or sent[target] > 0:
            s.send(target, sent[target])
        if request is not None:
            s.wait(request)


def allreduce_doubling(s: Endpoint, nbytes: int) -> None:
    """Recursive doubling (`ompi_coll_base_allreduce_intra_recursivedoubling`)."""
    number = 1 << (s.size.bit_length() - 1)
    extra = s.size - number
    joined = s.rank < 2 * extra
    if joined and s.rank % 2 == 0:
        s.send(s.rank + 1, nbytes)
        s.recv(s.rank + 1, nbytes)
        return
    if joined:
        s.recv(s.rank - 1, nbytes)
    place = s.rank // 2 if joined else s.rank - extra
    distance = 1
    while distance < number:
        other = place ^ distance
        peer = 2 * other + 1 if other < extra else other + extra
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        distance *= 2
    if joined:
        s.send(s.rank - 1, nbytes)


def allreduce_ring(s: Endpoint, count: int, size: int) -> None:
    """A reduce-scatter and an allgather around a ring.

    `ompi_coll_base_allreduce_intra_ring`; `_ring_segmented` is the same without a segment size.
    """
    if count < s.size:
        allreduce_doubling(s, count * size)
        return
    short, longer = divmod(count, s.size)
    blocks = [(short + (rank < longer)) * size for rank in range(s.size)]
    most = blocks[0]
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    request = s.irecv(left, most)
    s.send(right, blocks[s.rank])
    for step in range(2, s.size):
        following = s.irecv(left, most)
        s.wait(request)
        s.send(right, blocks[(s.rank - step + 1) % s.size])
        request = following
    s.wait(request)
    for step in range(s.size - 1):
        s.sendrecv(right, blocks[(s.rank + 1 - step) % s.size], 0, left, most, 0)


def allreduce_halving(s: Endpoint, count: int, size: int) -> None:
    """Rabenseifner's, or linear where the vector is too short to halve."""
    if count < 1 << (s.size.bit_length() - 1):
        reduce_linear(s, count * size, 0)
        bcast_linear(s, count * size, 0)
        return
    _allgather_halves(s, _reduce_scatter_halves(s, count, size), count, size)


def scan_linear(s: Endpoint, nbytes: int) -> None:
    """From rank to rank (`ompi_coll_base_scan_intra_linear`, `_exscan_intra_linear`)."""
    if s.rank > 0:
        s.recv(s.rank - 1, nbytes)
    if s.rank < s.size - 1:
        s.send(s.rank + 1, nbytes)


# Trees, a vector in one piece


def _knomial(rank: int, size: int, root: int, radix: int) -> Place:
    """A rank's place in a tree of up to ``radix - 1`` children on each level.

    `ompi_coll_base_topo_build_kmtree` (`coll_base_topo.c`).
    """
    parent, levels = knomial_tree(rank, size, root, radix)
    return Place(parent, tuple(child for level in levels for child in level))


def _send_down(s: Endpoint, nbytes: int, place: Place) -> None:
    """Receive from the parent, then send to all children at once.

    `ompi_coll_base_bcast_intra_generic` (`coll_base_bcast.c`) with one segment.
    """
    if place.parent is not None:
        s.wait(s.irecv(place.parent, nbytes))
    s.waitall([s.isend(child, nbytes) for child in place.children])


def _send_up(s: Endpoint, nbytes: int, place: Place) -> None:
    """Receive from the children, the receive from the next one posted ahead; send to the parent.

    `ompi_coll_base_reduce_generic` (`coll_base_reduce.c`) with one segment.
    """
    last = None
    for child in place.children:
        request = s.irecv(child, nbytes)
        if last is not None:
            s.wait(last)
        last = request
    if last is not None:
        s.wait(last)
    if place.parent is not None:
        s.send(place.parent, nbytes)


# Rabenseifner's reductions: a reduce-scatter by halving, then a gather or an allgather.
# `ompi_coll_base_allreduce_intra_redscat_allgather` (`coll_base_allreduce.c`) and
# `ompi_coll_base_reduce_intra_redscat_gather` (`coll_base_reduce.c`) [Thakur].


@dataclass(slots=True)
class _Halving:
    """The elements that a rank sends and keeps in each round.

    Attributes
    ----------
    place
        The rank among those that halve; None: a neighbour does it instead.
    number
        How many ranks halve: a power of two.
    extra
        How many neighbours are left out.
    sent, kept
        The elements of each round.
    """

    place: int | None
    number: int
    extra: int
    sent: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def rank(self, place: int) -> int:
        """The rank at a place."""
        return 2 * place if place < self.extra else place + self.extra


def _reduce_scatter_halves(s: Endpoint, count: int, size: int) -> _Halving:
    """Join neighbours until a power of two of ranks is left, then halve the vector in rounds."""
    number = power_of_two_up_to(s.size)
    extra = s.size - number
    left = count // 2
    right = count - left
    if s.rank >= 2 * extra:
        halving = _Halving(s.rank - extra, number, extra)
    elif s.rank % 2:
        s.sendrecv(s.rank - 1, left * size, 0, s.rank - 1, right * size, 0)
        s.send(s.rank - 1, right * size)
        return _Halving(None, number, extra)
    else:
        s.sendrecv(s.rank + 1, right * size, 0, s.rank + 1, left * size, 0)
        s.recv(s.rank + 1, right * size)
        halving = _Halving(s.rank // 2, number, extra)
    assert halving.place is not None
    window = count
    mask = 1
    while mask < number:
        peer = halving.rank(halving.place ^ mask)
        lower = window // 2
        kept = lower if s.rank < peer else window - lower
        s.sendrecv(peer, (window - kept) * size, 0, peer, kept * size, 0)
        halving.sent.append(window - kept)
        halving.kept.append(kept)
        window = kept
        mask <<= 1
    return halving


def _allgather_halves(s: Endpoint, halving: _Halving, count: int, size: int) -> None:
    """Undo the rounds, then tell the neighbours that were left out."""
    if halving.place is not None:
        mask = halving.number >> 1
        for sent, kept in zip(reversed(halving.sent), reversed(halving.kept), strict=True):
            peer = halving.rank(halving.place ^ mask)
            s.sendrecv(peer, kept * size, 0, peer, sent * size, 0)
            mask >>= 1
    if s.rank < 2 * halving.extra:
        if s.rank % 2:
            s.recv(s.rank - 1, count * size)
        else:
            s.send(s.rank + 1, count * size)


def _gather_halves(s: Endpoint, halving: _Halving, count: int, size: int, root: int) -> None:
    """Collect the parts at the root along a binomial tree."""
    place, extra = halving.place, halving.extra
    left_out = root < 2 * extra and root % 2 == 1
    rounds = halving.number.bit_length() - 1
    if left_out and s.rank == root:
        # It takes the place of rank 0, whose part it gets first.
        window = count
        for _ in range(rounds):
            halving.kept.append(window // 2)
            halving.sent.append(window - window // 2)
            window //= 2
        s.recv(0, halving.kept[-1] * size)
        place = 0
    elif left_out and place == 0:
        s.send(root, halving.kept[-1] * size)
        place = None
    top = 0 if left_out else root // 2 if root < 2 * extra else root - extra
    if place is None:
        return
    for step in reversed(range(rounds)):
        other = place ^ (1 << step)
        peer = root if left_out and other == 0 else halving.rank(other)
        if other >> step == top >> step:
            s.send(peer, halving.kept[step] * size)
            return
        s.recv(peer, halving.sent[step] * size)
