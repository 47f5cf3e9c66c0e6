"""States, actions and messages of a run, stored on disk for later queries."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.errors import TisimError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run import Run


class EventStore:
    """The states, actions and messages of a run in temporary files."""

    def __init__(self, run: Run) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="tisim-"))
        # The files are removed together with the last reference to this object.
        self._remove = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        self._rows = _core.StateRows()
        run.send_states_to(self._rows)
        self._actions = _core.ActionRows()
        self._messages = _core.MessageRows()
        self._files = {
            name: self.path(name).open("wb") for name in ("states", "actions", "messages")
        }

    def path(self, name: str) -> Path:
        """Return the file of `states`, `actions` or `messages`."""
        return self._directory / name

    def listeners(self) -> list[_core.Listener]:
        return [self._actions, self._messages]

    def drain(self, last: bool) -> None:
        try:
            self._files["states"].write(self._rows.take())
            self._files["actions"].write(self._actions.take(last))
            self._files["messages"].write(self._messages.take(last))
            if last:
                for file in self._files.values():
                    file.close()
        except OSError as error:
            raise TisimError(
                f"no room for the event log in {self._directory}: {error.strerror}; set TMPDIR to "
                "another directory"
            ) from None

    def commit(self) -> None:
        pass

    def discard(self) -> None:
        for file in self._files.values():
            file.close()
        self._remove()

    def read(self, name: str) -> NDArray[np.void]:
        """Return all rows of `states`, `actions` or `messages`, as a structured array.

        Rows are read from disk when they are accessed.
        """
        import numpy as np

        dtype = self._type(name)
        if not self.path(name).stat().st_size:
            return np.zeros(0, dtype=dtype)
        rows: NDArray[np.void] = np.memmap(self.path(name), dtype=dtype, mode="r")
        return rows

    def count(self, name: str) -> int:
        """Return the number of rows of `states`, `actions` or `messages`."""
        return self.path(name).stat().st_size // int(self._type(name).itemsize)

    @staticmethod
    def _type(name: str) -> np.dtype[np.void]:
        types = {
            "states": _core.state_type,
            "actions": _core.action_type,
            "messages": _core.message_type,
        }
        return cast("np.dtype[np.void]", types[name]())
