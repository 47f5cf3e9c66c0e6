"""Sizes of vector collectives, assembled from the records of all ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from tisim.traces.importers.importer import Notes
from tisim.traces.importers.rank_calls import Communicators
from tisim.traces.importers.words import all_to_all_of_totals, vector_collective

#: A rank's contribution to a collective, given its name, the rank's total bytes sent and received,
#: the size of the communicator, and whether the rank is the root.
Share = Callable[[str, int, int, int, bool], int]
#: Total bytes sent and received in each vector collective, in order, by rank and communicator.
Records = dict[tuple[int, Hashable], list[tuple[int, int]]]


class VectorSizes:
    """Determines each rank's contribution to each vector collective.

    Formats that record only a rank's total bytes sent and received need the records of all ranks.
    `read` reads these on the first vector collective; `share` computes a rank's contribution from
    its record.
    """

    def __init__(
        self,
        read: Callable[[], Records],
        communicators: Communicators,
        share: Share,
        notes: Notes,
    ) -> None:
        self._read = read
        self._communicators = communicators
        self._share = share
        self._notes = notes
        self._records: Records | None = None
        self._next: dict[tuple[int, Hashable], int] = defaultdict(int)

    def words(
        self, action: str, comm: int, rank: int, root: int, position: int | None = None
    ) -> str:
        """Format a rank's next vector collective on a communicator, without the leading rank.
        `rank` is a rank of the world, `root` one of the communicator; `position` is the
        collective's index on the communicator, from 0, if it does not follow the previous one.
        """
        if self._records is None:
            self._records = self._read()
        members = self._communicators.members(comm, rank)
        if position is None:
            position = self._next[rank, comm]
            self._next[rank, comm] += 1
        records = [self._record(member, comm, position) for member in members]
        sent = [record[0] for record in records]
        received = [record[1] for record in records]
        own = members.index(rank)
        if action.endswith("alltoallv"):
            self._notes.add(
                "the sizes of alltoallv are spread in proportion to the totals that ranks send and "
                "receive, which are all the trace contains",
                f"rank {rank}, {_place(comm, position)}",
            )
            rows = all_to_all_of_totals(sent, received)
            sends = rows[own]
            gets = [row[own] for row in rows]
            return " ".join(map(str, (action, sum(sends), *sends, sum(gets), *gets)))
        size = len(members)
        name = action.removeprefix("i")
        shares = [
            self._share(name, *record, size, member == root)
            for member, record in enumerate(records)
        ]
        return vector_collective(action, shares, own, root)

    def _record(self, rank: int, comm: int, position: int) -> tuple[int, int]:
        assert self._records is not None
        records = self._records.get((rank, comm), [])
        if position < len(records):
            return records[position]
        self._notes.add(
            "a rank lacks a collective that the others call",
            f"rank {rank}, {_place(comm, position)}",
        )
        return 0, 0


def _place(comm: int, position: int) -> str:
    return f"collective {position + 1} with a size for each rank on communicator {comm}"


def extrae_share(action: str, sent: int, received: int, size: int, is_root: bool) -> int:
    """Return a rank's contribution to a vector collective, from Extrae's two sizes."""
    return sent if action in ("gatherv", "allgatherv") else received


def extrae_size(action: str, sent: int, received: int) -> int:
    """Return the size of a uniform collective, from Extrae's two sizes.

    At the root, one of the two may be the total over all ranks.
    """
    if action in ("gather", "allgather", "alltoall"):
        return sent
    return received if action == "scatter" else max(sent, received)
