"""Operations that move blocks: a scatter down a tree, a ring in pieces, scans."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint

# `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`, in bytes.
_PIECE = 32768


def scatter_binomial(s: Endpoint, nbytes: int, root: int) -> None:
    """Down a tree whose subtrees are intervals, the largest first (`MPIR_Scatter_intra_binomial`).

    Parameters
    ----------
    s
        A rank of the communicator.
    nbytes
        Of a block.
    root
        The rank that has all blocks.
    """
    place = (s.rank - root) % s.size
    mask = 1
    while mask < s.size and not place & mask:
        mask *= 2
    held = min(mask, s.size - place)
    if place:
        s.recv((s.rank - mask) % s.size, held * nbytes)
    while mask := mask // 2:
        if place + mask < s.size:
            s.send((s.rank + mask) % s.size, (held - mask) * nbytes)
            held = mask


def allgatherv_ring(s: Endpoint, counts: Sequence[int], size: int) -> None:
    """Blocks travel around a ring in pieces (`MPIR_Allgatherv_intra_ring`).

    Parameters
    ----------
    s
        A rank of the communicator.
    counts
        Elements of each rank's block.
    size
        Bytes of an element.
    """
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    piece = max(counts)
    if piece * size > _PIECE:
        piece = max(_PIECE // size, 1)
    sent = _pieces(counts, s.rank, piece)
    received = _pieces(counts, left, piece)
    for step in range(max(len(sent), len(received))):
        given = sent[step] * size if step < len(sent) else 0
        taken = received[step] * size if step < len(received) else 0
        if given and taken:
            s.sendrecv(right, given, 0, left, taken, 0)
        elif given:
            s.send(right, given)
        elif taken:
            s.recv(left, taken)


def _pieces(counts: Sequence[int], first: int, piece: int) -> list[int]:
    """Elements of all but one block, in pieces: that of `first` and of the ranks before it.

    An empty block takes a step of its own, in which nothing is moved.
    """
    pieces = []
    for back in range(len(counts) - 1):
        count = counts[(first - back) % len(counts)]
        pieces += [min(piece, count - start) for start in range(0, count, piece)] or [0]
    return pieces


def scan(s: Endpoint, nbytes: int) -> None:
    """Recursive doubling with those partners that exist (`MPIR_Scan_intra_recursive_doubling`).

    `MPIR_Exscan_intra_recursive_doubling` sends the same.
    """
    mask = 1
    while mask < s.size:
        peer = s.rank ^ mask
        if peer < s.size:
            s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        mask *= 2
