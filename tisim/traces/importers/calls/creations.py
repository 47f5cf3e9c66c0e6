"""Numbers of communicators that are the same on all ranks that make them."""

from __future__ import annotations

from tisim.traces.importers.rank_calls import WORLD

#: The handles of those that are always there, as DUMPI numbers them.
NULL, WORLD_HANDLE, SELF_HANDLE = 1, 2, 3

# The creations that led to a communicator: the third of the first of the world is (0, 2).
_Path = tuple[int, ...]


class CreationNumbers:
    """Numbers communicators by how they were made, over all ranks.

    A rank's handles are its own. But the members of a communicator make new ones of it in the same
    order, so that the path of creations is the same on all of them.
    """

    def __init__(self) -> None:
        self._number: dict[_Path, int] = {(): WORLD}

    def number(self, path: _Path) -> int:
        """The number of a path, which is new or was given before."""
        return self._number.setdefault(path, len(self._number))


class RankCommunicators:
    """The communicators of one rank, by its handles.

    Parameters
    ----------
    numbers
        Of all ranks.
    """

    def __init__(self, numbers: CreationNumbers) -> None:
        self._numbers = numbers
        self._path: dict[int, _Path] = {WORLD_HANDLE: ()}
        self._made: dict[_Path, int] = {}

    def number(self, handle: int) -> int | None:
        """The number of a communicator; None if the handle is not known."""
        path = self._path.get(handle)
        return None if path is None else self._numbers.number(path)

    def make(self, parent: int, handle: int) -> tuple[int, int] | None:
        """Make a communicator of another.

        Returns
        -------
        tuple or None
            The numbers of the parent and of the new one; None if the parent is not known.
        """
        path = self._path.get(parent)
        if path is None:
            return None
        place = self._made.get(path, 0)
        self._made[path] = place + 1
        child = (*path, place)
        if handle != NULL:
            self._path[handle] = child
        return self._numbers.number(path), self._numbers.number(child)

    def free(self, handle: int) -> int | None:
        """Forget a communicator; its number, or None if the handle is not known."""
        path = self._path.pop(handle, None)
        return None if path is None else self._numbers.number(path)
