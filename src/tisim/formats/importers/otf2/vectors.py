"""Sizes of vector collectives, which are spread over the records of all ranks."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tisim.formats.importers.collectives import (
    VECTORS,
    all_to_all_of_totals,
    vector_collective,
)
from tisim.formats.importers.communicators import Communicators
from tisim.formats.importers.notes import Notes
from tisim.formats.importers.otf2.definitions import Definitions
from tisim.formats.importers.otf2.events import LocationEvents
from tisim.formats.importers.otf2.sizes import ACTIONS, own_share

# The bytes that a rank sends and receives in one collective, and its root.
_Record = tuple[int, int, int]


class VectorSizes:
    """Knows what each rank contributes to each vector collective.

    OTF2 keeps for each rank what it sends and receives in all. The records of all ranks are read
    once, when the first vector collective comes.

    Parameters
    ----------
    anchor, definitions, communicators
        The trace.
    notes
        Is told of the sizes that are not known.
    """

    def __init__(
        self, anchor: Path, definitions: Definitions, communicators: Communicators, notes: Notes
    ) -> None:
        self._anchor = anchor
        self._definitions = definitions
        self._communicators = communicators
        self._notes = notes
        # By rank and communicator: the records of its vector collectives, in order.
        self._records: dict[tuple[int, int], list[_Record]] | None = None
        self._next: dict[tuple[int, int], int] = defaultdict(int)

    def words(self, action: str, comm: int, rank: int, root: int) -> str:
        """The next vector collective of a rank on a communicator, without the rank.

        Parameters
        ----------
        action
            One of `VECTORS`.
        comm
            OTF2's reference of the communicator.
        rank, root
            In the world, and in the communicator.
        """
        if self._records is None:
            self._records = self._read()
        members = self._communicators.members(comm, rank)
        position = self._next[rank, comm]
        self._next[rank, comm] += 1
        records = [self._record(member, comm, position) for member in members]
        sent = [record[0] for record in records]
        received = [record[1] for record in records]
        own = members.index(rank)
        if action == "alltoallv":
            self._notes.add(
                "the sizes of alltoallv are spread in proportion to what ranks send and receive "
                "in all, which is what OTF2 has",
                f"rank {rank}",
            )
            rows = all_to_all_of_totals(sent, received)
            sends = rows[own]
            gets = [row[own] for row in rows]
            return " ".join(map(str, ("alltoallv", sum(sends), *sends, sum(gets), *gets)))
        size = len(members)
        shares = [
            own_share(action, *record[:2], size, member == root)
            for member, record in enumerate(records)
        ]
        return vector_collective(action, shares, own, root)

    def _record(self, rank: int, comm: int, position: int) -> _Record:
        assert self._records is not None
        records = self._records.get((rank, comm), [])
        if position < len(records):
            return records[position]
        self._notes.add("a rank lacks a collective that the others have", f"rank {rank}")
        return 0, 0, 0

    def _read(self) -> dict[tuple[int, int], list[_Record]]:
        found: dict[tuple[int, int], list[_Record]] = defaultdict(list)
        names = self._definitions.operations
        for rank, location in enumerate(self._definitions.locations):
            for _, _, numbers in LocationEvents(
                self._anchor, location, ("collective", "icollective")
            ):
                operation, comm, root, sent, received = numbers[:5]
                if ACTIONS.get(names.get(operation, "")) in VECTORS:
                    found[rank, comm].append((sent, received, root))
        return found
