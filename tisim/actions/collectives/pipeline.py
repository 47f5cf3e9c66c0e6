"""A vector that passes through a rank piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def relay(s: Endpoint, source: int | None, targets: Sequence[int], pieces: Sequence[int]) -> None:
    """Pass pieces on with non-blocking sends: each as soon as it is there.

    Parameters
    ----------
    s
        This rank.
    source
        Where the pieces come from; None when they are here.
    targets
        Where each piece goes.
    pieces
        Their sizes in bytes.
    """
    receives = [] if source is None else [s.irecv(source, nbytes) for nbytes in pieces]
    if receives and not targets:
        s.waitall(receives)
        return
    sends = []
    for i, nbytes in enumerate(pieces):
        if receives:
            s.wait(receives[i])
        sends += [s.isend(target, nbytes) for target in targets]
    s.waitall(sends)


def forward(s: Endpoint, source: int | None, targets: Sequence[int], pieces: Sequence[int]) -> None:
    """Pass pieces on with blocking sends; the parameters are those of `relay`."""
    receives = [] if source is None else [s.irecv(source, nbytes) for nbytes in pieces]
    for i, nbytes in enumerate(pieces):
        if receives:
            s.wait(receives[i])
        for target in targets:
            s.send(target, nbytes)


def to_rank_zero(s: Endpoint, nbytes: int, root: int) -> None:
    """Move the data of a broadcast from the root to rank 0, whose tree is the only one there is."""
    if root != 0 and s.rank == root:
        s.send(0, nbytes)
    elif root != 0 and s.rank == 0:
        s.recv(root, nbytes)
