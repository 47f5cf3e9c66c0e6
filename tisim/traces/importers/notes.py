"""What an import had to guess, to leave out, or to change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

#: What traces of several formats lack.
NO_FINALIZE = "a rank without MPI_Finalize, which is added"
NO_WAIT = "a request that nothing waits for is waited for at the end"


@dataclass(frozen=True, slots=True)
class Note:
    """One kind of guess or loss.

    Attributes
    ----------
    text
        What was guessed or lost, such as ``MPI_Put is left out``.
    count
        How often.
    first
        The first place, such as ``rank 3, event 120``.
    """

    text: str
    count: int
    first: str

    def __str__(self) -> str:
        times = f"{self.count:,} times, " if self.count > 1 else ""
        return f"{self.text} ({times}first at {self.first})"


class Notes:
    """Collects the guesses and losses of one import, by kind."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._count: dict[str, int] = {}

    def add(self, text: str, place: str, times: int = 1) -> None:
        """Count a guess or loss.

        Parameters
        ----------
        text
            Its kind; the same text is the same kind.
        place
            Where it is.
        times
            How often it stands there.
        """
        self._first.setdefault(text, place)
        self._count[text] = self._count.get(text, 0) + times

    def clear(self) -> None:
        """Forget all kinds."""
        self._first.clear()
        self._count.clear()

    def __iter__(self) -> Iterator[Note]:
        """The kinds in the order of their first places."""
        for text, first in self._first.items():
            yield Note(text, self._count[text], first)

    def __len__(self) -> int:
        return len(self._first)
