"""Spells collectives whose sizes are known, in bytes."""

from __future__ import annotations

from collections.abc import Sequence

# Collectives of one size on all ranks: how their arguments are spelled; {n} is the size that a
# rank contributes or gets, {root} the root.
_UNIFORM = {
    "barrier": "barrier",
    "bcast": "bcast {n} {root}",
    "reduce": "reduce {n} 0 {root}",
    "allreduce": "allreduce {n} 0",
    "scan": "scan {n} 0",
    "exscan": "exscan {n} 0",
    "gather": "gather {n} {n} {root}",
    "scatter": "scatter {n} {n} {root}",
    "allgather": "allgather {n} {n}",
    "alltoall": "alltoall {n} {n}",
}
#: Collectives with a size for each rank.
VECTORS = frozenset({"gatherv", "scatterv", "allgatherv", "alltoallv", "reducescatter"})
#: Those with a root.
ROOTED = frozenset({"bcast", "reduce", "gather", "scatter", "gatherv", "scatterv"})


def uniform_collective(name: str, nbytes: int, root: int) -> str | None:
    """An action of one size, without the rank; None if there is no such collective.

    Parameters
    ----------
    name
        As in a trace: ``bcast``, ``allreduce`` ...; with an ``i`` before it if it does not block.
    nbytes
        What a rank contributes, or gets from each other, in bytes.
    root
        The root, where there is one.
    """
    for prefix in ("", "i"):
        if name.startswith(prefix) and name[len(prefix) :] in _UNIFORM:
            return prefix + _UNIFORM[name[len(prefix) :]].format(n=nbytes, root=root)
    return None


def vector_collective(name: str, shares: Sequence[int], rank: int, root: int) -> str:
    """An action with a size for each rank, without the rank.

    Parameters
    ----------
    name
        One of `VECTORS`, but not alltoallv; with an ``i`` before it if it does not block.
    shares
        The bytes of each rank of the communicator.
    rank, root
        Of this rank and of the root, in the communicator.
    """
    listed = " ".join(map(str, shares))
    own = shares[rank]
    if name.endswith("allgatherv"):
        return f"{name} {own} {listed}"
    if name.endswith("reducescatter"):
        return f"{name} {listed} 0"
    if name.endswith("scatterv"):
        return f"{name} {listed} {own} {root}"
    return f"{name} {own} {listed} {root}"


def all_to_all_of_totals(sent: Sequence[int], received: Sequence[int]) -> list[list[int]]:
    """Sizes of an alltoallv in proportion to what each rank sends and receives in all.

    Parameters
    ----------
    sent, received
        Bytes that each rank sends, and receives, in all.

    Returns
    -------
    list
        Bytes from each rank to each: rows add up to `sent`, columns to `received` where the two
        have the same sum.
    """
    size = len(sent)
    total = sum(received)
    # Rounding the running sums, not the parts, keeps the sums of rows and of columns.
    rows: list[list[int]] = []
    before = [0] * size
    done = 0
    for amount in sent:
        done += amount
        running = 0
        upto: list[int] = []
        for column in received:
            running += column
            upto.append(done * running // total if total else 0)
        row = [upto[0]] + [upto[j] - upto[j - 1] for j in range(1, size)]
        rows.append([value - old for value, old in zip(row, before, strict=True)])
        before = row
    return rows
