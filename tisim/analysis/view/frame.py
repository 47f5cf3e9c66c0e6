"""The viewer in a frame of a notebook, whose kernel is the server."""

from __future__ import annotations

import socket
import threading

from tisim.analysis.view.answers import Answers
from tisim.analysis.view.guard import Guard
from tisim.analysis.view.server import listen, make_server

# Seconds until the server listens, on a machine with much to do.
_START = 60.0


class FramedView:
    """A server in a thread of this process, for a frame of a page on this machine.

    Parameters
    ----------
    answers
        To the questions of the page.
    height
        Of the frame, in pixels.

    Attributes
    ----------
    address
        Of the page.
    """

    def __init__(self, answers: Answers, height: int) -> None:
        self._height = height
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

    @property
    def html(self) -> str:
        """The frame."""
        style = f"width:100%;height:{self._height}px;border:0"
        return f'<iframe src="{self.address}" style="{style}" title="tisim view"></iframe>'
