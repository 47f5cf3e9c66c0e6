"""Reduction of long messages as a reduce-scatter and a gather."""

from __future__ import annotations

from tisim.actions.collectives.halving import halving_blocks
from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


def scatter_gather(s: Endpoint, count: int, size: int, root: int) -> None:
    """Halve the vector recursively while reducing it, then collect the blocks at the root.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    MPICH's for long messages: R. Rabenseifner, "Optimization of collective reduction operations",
    ICCS 2004. The ranks beyond a power of two hand their data to a neighbour first. A vector of
    fewer elements than ranks is lengthened to one element a rank.
    """
    if count == 0:
        return
    count = max(count, s.size)
    workers = power_of_two_up_to(s.size)
    pairs = s.size - workers
    worker = _fold_odd(s, pairs, count * size)
    steps = []
    if worker is not None:
        steps = halving_blocks(worker, workers, count, size)
        for partner, kept, given in steps:
            peer = _rank_of(partner, pairs)
            s.sendrecv(peer, given, 0, peer, kept, 0)
    head, stand_in = _worker_of_root(root, pairs)
    if stand_in:  # the root is not among the workers: it takes the place of the first
        if s.rank == root:
            worker = 0
            steps = halving_blocks(0, workers, count, size)
            s.recv(0, count // workers * size)
        elif worker == 0:
            s.send(root, count // workers * size)
            return
    if worker is None:
        return
    for bit in range(len(steps) - 1, -1, -1):
        partner, kept, given = steps[bit]
        peer = root if stand_in and partner == 0 else _rank_of(partner, pairs)
        if partner >> bit == head >> bit:
            s.send(peer, kept)
            return
        s.recv(peer, given)


def _fold_odd(s: Endpoint, pairs: int, nbytes: int) -> int | None:
    """Of the first `pairs` pairs the odd ranks send their data; the number of this worker."""
    if s.rank >= 2 * pairs:
        return s.rank - pairs
    if s.rank % 2:
        s.send(s.rank - 1, nbytes)
        return None
    s.recv(s.rank + 1, nbytes)
    return s.rank // 2


def _rank_of(worker: int, pairs: int) -> int:
    return 2 * worker if worker < pairs else worker + pairs


def _worker_of_root(root: int, pairs: int) -> tuple[int, bool]:
    """The worker that collects the result, and whether the root has to take its place."""
    if root >= 2 * pairs:
        return root - pairs, False
    return (0, True) if root % 2 else (root // 2, False)
