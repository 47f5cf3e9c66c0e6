"""What the events of a run are turned into while it is simulated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tisim.support.files import OutputFile

if TYPE_CHECKING:
    from tisim import _core


class Output(Protocol):
    """Makes something of the events of a run: a file of timelines, or the event log.

    All methods but `commit` and `discard` are called on the thread of `EventPlayback`.
    """

    def listeners(self) -> Sequence[_core.Listener]:
        """The listeners of the core that the events are played to."""
        ...

    def drain(self, last: bool) -> None:
        """Store what the listeners have made so far; `last`: complete the result."""
        ...

    def commit(self) -> None:
        """Keep the result: all outputs have succeeded."""
        ...

    def discard(self) -> None:
        """Remove everything: the simulation or an output has failed."""
        ...


class FileOutput:
    """Files that listeners of the core write, one each.

    Parameters
    ----------
    files
        Name of each file, and its listener.
    """

    def __init__(self, files: Sequence[tuple[str | os.PathLike[str], _core.Writer]]) -> None:
        self._files: list[tuple[OutputFile, _core.Writer]] = []
        try:
            for path, writer in files:
                self._files.append((OutputFile(path), writer))
        except BaseException:
            self.discard()
            raise

    def listeners(self) -> list[_core.Writer]:
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
