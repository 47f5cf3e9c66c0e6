"""Timelines as comma-separated values, and the timed trace of the literature."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tisim import _core
from tisim.recording.files import NewFile


class WrittenFiles:
    """Files that listeners of the core write, one each.

    Parameters
    ----------
    files
        Name of each file, and its listener (`tisim._core.Writer`).
    """

    def __init__(self, files: Sequence[tuple[str | os.PathLike[str], Any]]) -> None:
        self._files: list[tuple[NewFile, Any]] = []
        try:
            for path, writer in files:
                self._files.append((NewFile(path), writer))
        except BaseException:
            self.discard()
            raise

    def listeners(self) -> list[Any]:
        return [writer for _, writer in self._files]

    def drain(self, last: bool) -> None:
        for file, writer in self._files:
            if written := writer.take(last):
                file.write(written)
            if last:
                file.complete()

    def commit(self) -> None:
        for file, _ in self._files:
            file.commit()

    def discard(self) -> None:
        for file, _ in self._files:
            file.discard()


def csv_output(path: Path) -> WrittenFiles:
    """A row an action in `path`; a row a message in a file beside it.

    ``run.csv`` goes with ``run.messages.csv``. A name that ends in ``.timed.csv`` gives the timed
    trace instead: each action with its duration.
    """
    if path.name.endswith(".timed.csv"):
        return WrittenFiles([(path, _core.TimedCsv())])
    messages = companion(path, "messages")
    return WrittenFiles([(path, _core.ActionsCsv()), (messages, _core.MessagesCsv())])


def companion(path: Path, word: str) -> Path:
    """The name of the file that goes with another: ``run.csv``, ``run.messages.csv``."""
    return path.with_name(f"{path.stem}.{word}{path.suffix}")
