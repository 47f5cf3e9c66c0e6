"""The ranks of the communicators that the rows of a table name."""

from __future__ import annotations

from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.communicators import Communicator
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.table.columns import Row

_WORLDS = frozenset({"", "0", "WORLD", "MPI_COMM_WORLD"})


class Members:
    """Collects which ranks name which communicator.

    A communicator is of the ranks whose rows name it, in the order of the column
    ``communicator_rank``, or else in the world's.
    """

    def __init__(self) -> None:
        # By name: the rank in the communicator, where a row says it, by rank of the world.
        self._ranks: dict[str, dict[int, int | None]] = {}
        self._number: dict[str, int] = {}

    def learn(self, rank: int, row: Row, file: Path) -> None:
        """Take the communicator of a row.

        Raises
        ------
        InputError
            If its rank in the communicator is no number, or another one than before.
        """
        name = row.get("communicator", "")
        if name.upper() in _WORLDS:
            return
        self._number.setdefault(name, len(self._number))
        text = row.get("communicator_rank")
        members = self._ranks.setdefault(name, {})
        known = members.get(rank)
        if text is None:
            members.setdefault(rank, None)
            return
        if not text.isdecimal() or known not in (None, int(text)):
            raise InputError(
                f"the communicator_rank {text!r} of rank {rank} is no number, or was another one "
                "above",
                file=file,
                line=int(row["line"]),
            )
        members[rank] = int(text)

    def number(self, name: str) -> int | None:
        """The number of a communicator; None: it is the world."""
        return None if name.upper() in _WORLDS else self._number[name]

    def communicators(self, notes: Notes) -> dict[int, Communicator]:
        """The ranks of each communicator by its number, in their order.

        Raises
        ------
        InputError
            If two ranks have the same place in one.
        """
        found = {}
        for name, members in self._ranks.items():
            places = [place for place in members.values() if place is not None]
            if not places:
                notes.add(
                    "the ranks of a communicator without communicator_rank are those that name it, "
                    "in the world's order",
                    f"communicator {name}",
                )
            elif sorted(places) != list(range(len(members))):
                raise InputError(
                    f"the communicator {name!r} has {len(members)} ranks whose communicator_rank "
                    f"are not 0 to {len(members) - 1}"
                )
            order = sorted(members, key=lambda rank: (members[rank] or 0, rank))
            found[self._number[name]] = Communicator(tuple(order))
        return found
