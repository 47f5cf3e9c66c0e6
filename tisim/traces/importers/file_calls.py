"""File calls in the vocabulary of a trace."""

from __future__ import annotations

import re
from collections.abc import Hashable

from tisim.traces.importers.rank_calls import RankCalls, RequestNumbers

_NUMBER = re.compile(r"\d+")


def trace_name(path: str, rank: int) -> str:
    """Return the name of a file in a trace.

    The last number in the file name that equals the rank is replaced by a pattern, so that the
    files of all ranks have one name. Blanks and ``#``, which a word cannot contain, become ``_``.
    """
    folder, slash, name = path.rpartition("/")
    folder, name = (_word(part.replace("%", "%%")) for part in (folder, name))
    for match in reversed([*_NUMBER.finditer(name)]):
        digits = match[0]
        if int(digits) == rank:
            pattern = f"%0{len(digits)}d" if len(digits) > len(str(rank)) else "%d"
            name = name[: match.start()] + pattern + name[match.end() :]
            break
    return f"{folder}{slash}{name}"


def _word(text: str) -> str:
    return re.sub(r"[\s#]", "_", text) if text else text


class FileCalls:
    """The open files of a rank, by their identifiers in the other format."""

    def __init__(self, rank: int, calls: RankCalls) -> None:
        self._rank = rank
        self._calls = calls
        self._handles = RequestNumbers()

    def is_open(self, file: Hashable) -> bool:
        """Return whether a file is open."""
        return self._handles.number(file) is not None

    def open(self, file: Hashable, path: str, flags: str) -> None:
        """Open a file with the flags of a trace; an open one is closed first."""
        self.close(file)
        handle = self._handles.give(file)
        self._calls.action(f"open {handle} {trace_name(path, self._rank)} {flags}".rstrip())

    def close(self, file: Hashable) -> None:
        """Close a file; does nothing if it is not open."""
        handle = self._handles.release(file)
        if handle is not None:
            self._calls.action(f"close {handle}")

    def close_all(self) -> None:
        """Close the files that are still open, in the order of opening."""
        for file in list(self._handles):
            self.close(file)

    def transfer(
        self, file: Hashable, nbytes: int, *, writes: bool, offset: int | None = None
    ) -> None:
        """Read or write an open file, at an offset or at its position."""
        word = "write" if writes else "read"
        handle = self._handles.number(file)
        if offset is None:
            self._calls.action(f"{word} {handle} {nbytes}")
        else:
            self._calls.action(f"p{word} {handle} {nbytes} {offset}")

    def seek(self, file: Hashable, offset: int, origin: str) -> None:
        """Move the position of an open file: ``set``, ``cur`` or ``end``."""
        self._calls.action(f"lseek {self._handles.number(file)} {offset} {origin}")

    def sync(self, file: Hashable) -> None:
        """Flush the data of an open file to its disk."""
        self._calls.action(f"fsync {self._handles.number(file)}")

    def name(self, word: str, path: str) -> None:
        """Call ``stat``, ``unlink`` or ``mkdir`` with a file name."""
        self._calls.action(f"{word} {trace_name(path, self._rank)}")
