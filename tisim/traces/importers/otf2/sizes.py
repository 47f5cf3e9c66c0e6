"""Sizes of collectives, from what a rank sends and receives in all.

OTF2 keeps two numbers of a collective and rank: the bytes sent and the bytes received. What they
are made of is a convention of the writer; this is Score-P's, in which a rank also sends to itself
unless the call is in place.
"""

from __future__ import annotations

from tisim.traces.importers.notes import Notes


def uniform_size(action: str, sent: int, received: int, size: int, rank: int, is_root: bool) -> int:
    """The bytes that a rank contributes to a collective in which all contribute as much.

    Parameters
    ----------
    action
        The collective.
    sent, received
        The bytes of OTF2's record.
    size, rank
        Of the communicator, and the rank in it.
    is_root
        Whether this rank is the root.
    """
    if action in ("gather", "reduce"):
        if not is_root:
            return sent
        return sent if sent else received // max(size - 1, 1)
    if action in ("bcast", "scatter"):
        if not is_root:
            return received
        return received if received else sent // max(size - 1, 1)
    if action == "scan":
        return received // (rank + 1) if received % (rank + 1) == 0 else received // max(rank, 1)
    if action == "exscan":
        return received // rank if rank else sent // max(size - 1, 1)
    if action == "barrier":
        return 0
    return _part(sent, size)


def own_share(action: str, sent: int, received: int, size: int, is_root: bool) -> int:
    """The bytes of one rank in a collective in which each has its own.

    In a gatherv or scatterv in place the root's own share is not in the record; it moves nowhere.
    """
    if action == "gatherv":
        return sent
    if action == "scatterv":
        return received
    if action == "allgatherv":
        return _part(sent, size)
    return _part(received, size)  # reducescatter


def note_ambiguity(action: str, sent: int, size: int, notes: Notes, place: str) -> None:
    """Note a size that is another one if the call was in place."""
    if action in ("allreduce", "allgather", "alltoall") and size > 1 and sent:
        others = size - 1
        if sent % size == 0 and sent % others == 0 and others > 1:
            notes.add(f"the size of {action} is taken as not in place, which it may be", place)


def _part(total: int, size: int) -> int:
    """The part of each of all ranks, or of each other rank where only that is whole."""
    if total % size == 0 or size < 2 or total % (size - 1):
        return total // size
    return total // (size - 1)
