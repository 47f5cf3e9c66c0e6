"""Rows of many ranks, added in any order and kept by rank in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

# Maximum total size of rows kept in memory, in characters.
_IN_MEMORY = 32 << 20


class RankSpool:
    """Sorts rows by rank: in memory, or if there are many, in a temporary file per rank."""

    def __init__(self) -> None:
        self._rows: dict[int, list[str]] = {}
        self._size = 0
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove the temporary files."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

    def add(self, rank: int, row: str) -> None:
        """Add a row, which must not contain a newline."""
        self._rows.setdefault(rank, []).append(row)
        self._size += len(row) + 1
        if self._size > _IN_MEMORY:
            self._flush()

    def ranks(self) -> list[int]:
        """Return the ranks that have rows, in order."""
        return sorted(self._rows)

    def rows(self, rank: int) -> Iterator[str]:
        """Yield the rows of a rank in the order of addition."""
        if self._directory is not None:
            path = self._path(rank)
            if path.exists():
                with path.open(encoding="utf-8") as file:
                    for line in file:
                        yield line.rstrip("\n")
        yield from self._rows.get(rank, ())

    def _flush(self) -> None:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="tisim-")
        for rank, rows in self._rows.items():
            if rows:
                with self._path(rank).open("a", encoding="utf-8") as file:
                    file.writelines(f"{row}\n" for row in rows)
                rows.clear()
        self._size = 0

    def _path(self, rank: int) -> Path:
        assert self._directory is not None
        return Path(self._directory.name) / str(rank)
