"""Sizes of vector collectives, which are spread over the records of all ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from tisim.traces.importers.importer import Notes
from tisim.traces.importers.rank_calls import Communicators
from tisim.traces.importers.words import all_to_all_of_totals, vector_collective

#: A rank's contribution to a collective, given its name, what the rank sends and receives in all,
#: the ranks of the communicator, and whether it is the root.
Share = Callable[[str, int, int, int, bool], int]
#: By rank and communicator: what it sends and receives in each of its vector collectives, in order.
Records = dict[tuple[int, Hashable], list[tuple[int, int]]]


class VectorSizes:
    """Knows what each rank contributes to each vector collective.

    Formats whose records say what a rank sends and receives in all need those of all ranks. `read`
    reads these when the first vector collective comes, and `share` is what a rank contributes by
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
        """The next vector collective of a rank on a communicator, without the rank. `rank` is one
        of the world, and `root` of the communicator; `position` says which one on the communicator
        it is, from 0, if it is not the one after the last.
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
                "the sizes of alltoallv are spread in proportion to what ranks send and receive "
                "in all, which is what the trace has",
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
            "a rank lacks a collective that the others have",
            f"rank {rank}, {_place(comm, position)}",
        )
        return 0, 0


def _place(comm: int, position: int) -> str:
    return f"collective {position + 1} with a size for each rank on communicator {comm}"


def extrae_share(action: str, sent: int, received: int, size: int, is_root: bool) -> int:
    """The contribution of a rank to a vector collective, by the two sizes that Extrae keeps."""
    return sent if action in ("gatherv", "allgatherv") else received


def extrae_size(action: str, sent: int, received: int) -> int:
    """The size of a collective of one size on all ranks, by the two sizes that Extrae keeps.

    At the root, one of the two may be that of all ranks together.
    """
    if action in ("gather", "allgather", "alltoall"):
        return sent
    return received if action == "scatter" else max(sent, received)
