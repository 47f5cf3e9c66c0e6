"""The viewer inside a notebook."""

from __future__ import annotations

import os
import socket
import threading

from tisim.errors import InputError
from tisim.timeline.run_file import RunFile
from tisim.view.answers import Answers
from tisim.view.guard import Guard
from tisim.view.server import listen, make_server

# Seconds until the server listens, on a machine with much to do.
_START = 60.0


class NotebookView:
    """The page of the viewer in a frame of a notebook, whose kernel is its server.

    The kernel and the browser have to be on the same machine: the server listens on loopback.

    Parameters
    ----------
    runs
        Run files: one, or two of the same program.
    height
        Of the frame, in pixels.

    Raises
    ------
    InputError
        When a file is no run file, or two runs cannot be aligned.

    Attributes
    ----------
    address
        Of the page.
    """

    def __init__(self, *runs: str | os.PathLike[str], height: int = 800) -> None:
        if not 1 <= len(runs) <= 2:
            raise InputError("show one run file, or two of the same program")
        self._height = height
        answers = Answers([RunFile(path) for path in runs])
        self._listener = listen(0)
        guard = Guard(self._listener.getsockname()[1], framed=True)
        self.address = guard.address
        listens = threading.Event()
        self._server = make_server(answers, guard, lambda _: listens.set())
        self._thread = threading.Thread(target=self._run, args=(self._listener,), daemon=True)
        self._thread.start()
        listens.wait(_START)

    def _run(self, listener: socket.socket) -> None:
        self._server.run(sockets=[listener])

    def close(self) -> None:
        """End the server; the frame answers no more."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self._height}px;border:0"
        return f'<iframe src="{self.address}" style="{style}" title="tisim view"></iframe>'
