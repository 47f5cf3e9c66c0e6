"""Declares the communicators of another format at the beginning of each rank's trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tisim.traces.importers.rank_calls import WORLD


@dataclass(frozen=True, slots=True)
class Communicator:
    """The ranks of a communicator.

    Attributes
    ----------
    ranks
        In their order in the communicator; None: each rank has one of itself alone.
    """

    ranks: tuple[int, ...] | None


class Communicators:
    """Numbers communicators as a trace does, and declares them by ``comm_split``.

    Communicators that have no rank in common share a number, as those of one split do: a program on
    a process grid of 100 rows needs one number for all rows.

    Parameters
    ----------
    ranks
        How many ranks the world has.
    known
        The communicators, by their names in the other format.
    """

    def __init__(self, ranks: int, known: Mapping[int, Communicator]) -> None:
        self._world = tuple(range(ranks))
        self._number: dict[int, int] = {}
        # For each number above the world's: the color and the key of each rank that is in one.
        self._splits: list[dict[int, tuple[int, int]]] = []
        self._known = dict(known)
        # The places of ranks in communicators, each made when it is first asked for.
        self._places: dict[int, dict[int, int]] = {}
        for name, communicator in self._known.items():
            self._number[name] = self._number_for(communicator)

    def number(self, name: int) -> int | None:
        """The number of a communicator in the trace; None if it was not defined."""
        return self._number.get(name)

    def rank_in(self, name: int, rank: int) -> int:
        """The rank of a rank of the world in a communicator that it belongs to."""
        members = self._known[name].ranks
        return 0 if members is None else self._places_in(name, members)[rank]

    def has(self, name: int, rank: int) -> bool:
        """Whether a communicator is known and a rank of the world belongs to it."""
        if name not in self._known:
            return False
        members = self._known[name].ranks
        return members is None or rank in self._places_in(name, members)

    def _places_in(self, name: int, members: tuple[int, ...]) -> dict[int, int]:
        if name not in self._places:
            self._places[name] = {member: place for place, member in enumerate(members)}
        return self._places[name]

    def size(self, name: int) -> int:
        """How many ranks a communicator has."""
        members = self._known[name].ranks
        return 1 if members is None else len(members)

    def members(self, name: int, rank: int) -> tuple[int, ...]:
        """The ranks of the world that are in the communicator of a rank, in their order."""
        members = self._known[name].ranks
        return (rank,) if members is None else members

    def declarations(self, rank: int) -> Iterator[str]:
        """Yield the actions, without the rank, that make the communicators on one rank."""
        for number, split in enumerate(self._splits, WORLD + 1):
            color, key = split.get(rank, (-1, 0))
            yield f"comm_split {WORLD} {number} {color} {key}"

    def _number_for(self, communicator: Communicator) -> int:
        if communicator.ranks == self._world:
            return WORLD
        members = communicator.ranks
        if members is None:
            self._splits.append({rank: (rank, 0) for rank in self._world})
        elif self._splits and not any(rank in self._splits[-1] for rank in members):
            split = self._splits[-1]
            color = 1 + max(color for color, _ in split.values())
            split.update({rank: (color, key) for key, rank in enumerate(members)})
        else:
            self._splits.append({rank: (0, key) for key, rank in enumerate(members)})
        return len(self._splits)
