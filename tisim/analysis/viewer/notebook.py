"""The viewer in a notebook: as a widget, or in a frame."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tisim.analysis.report.page import page_file
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.server import Guard, listen, make_server, page_files
from tisim.errors import InputError

if TYPE_CHECKING:
    from anywidget import AnyWidget

# Timeout in seconds until the server listens, on a busy machine.
_START = 60.0


class FramedView:
    """A server in a thread of this process, for a frame in a local page."""

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
        """Stop the server; the frame no longer works."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    @property
    def html(self) -> str:
        """The frame as HTML."""
        style = f"width:100%;height:{self._height}px;border:0"
        return f'<iframe src="{self.address}" style="{style}" title="tisim view"></iframe>'


def make_widget(answers: Answers, height: int) -> AnyWidget | None:
    """Return a widget that shows the viewer's page; None if anywidget is not installed."""
    try:
        from anywidget import AnyWidget
    except ImportError:
        return None
    widget = AnyWidget(_esm=page_file("widget.js"))
    answer = KernelAnswers(answers, height)

    def reply(sender: AnyWidget, question: object, buffers: Sequence[memoryview]) -> None:
        header, body = answer(question)
        sender.send(header, [] if body is None else [body])

    widget.on_msg(reply)
    return widget


class KernelAnswers:
    """Answers the messages of a page in a notebook."""

    def __init__(self, answers: Answers, height: int) -> None:
        self._answers = answers
        self._height = height

    def __call__(self, question: object) -> tuple[dict[str, str], bytes | None]:
        """Return the answer to a message: its content, and bytes.

        A message contains the ``id`` of a query, its ``name`` and its ``query``, texts by name. The
        answer has the same ``id``, and ``error`` if there are no bytes. The query ``page`` requests
        the files of the page, and its height.
        """
        content = question if isinstance(question, Mapping) else {}
        header = {"id": str(content.get("id", ""))[:100]}
        name, query = content.get("name"), content.get("query")
        try:
            body = self._answer(name, query)
        except InputError as error:
            return {**header, "error": error.message}, None
        return header, body

    def _answer(self, name: object, query: object) -> bytes:
        if name == "page":
            files = {file: content.decode() for file, content in page_files().items()}
            return json.dumps({"height": self._height, "files": files}).encode()
        if not isinstance(name, str) or not isinstance(query, Mapping):
            raise InputError("a question must have a name and a query")
        if not all(isinstance(text, str) for pair in query.items() for text in pair):
            raise InputError("a query has texts by name")
        body = self._answers.answer(name, query)
        if body is None:
            raise InputError("no such question")
        return body


_WITHOUT = (
    "The page is in a frame, which only works in a browser on the kernel's machine. With <code>pip "
    "install 'tisim[notebook]'</code> (anywidget), any browser works."
)


class NotebookView:
    """The viewer's page in a notebook.

    By default it is a widget, whose messages carry queries to the kernel: it works wherever the
    kernel runs, and answers while no cell is running. Without anywidget, or with `frame`, it is a
    frame that queries a server in the kernel, which also answers while a cell is running; the
    browser has to be on the same machine, since the server listens on loopback.

    Parameters
    ----------
    runs
        Run files: one, or two of the same program.
    height
        Height of the page, in pixels.
    frame
        Whether to use a frame even if anywidget is installed.

    Raises
    ------
    InputError
        If a file is not a run file, two runs cannot be aligned, or a package needed by the frame is
        not installed.

    Attributes
    ----------
    address
        Address of the page in a frame; None for a widget.
    widget
        The widget, for layouts of ipywidgets; None for a frame.
    """

    def __init__(
        self, *runs: str | os.PathLike[str], height: int = 800, frame: bool = False
    ) -> None:
        if not 1 <= len(runs) <= 2:
            raise InputError("give one run file, or two of the same program")
        answers = Answers([RunFile(path) for path in runs])
        self.widget: AnyWidget | None = None if frame else make_widget(answers, height)
        self._frame = FramedView(answers, height) if self.widget is None else None
        self._note = "" if frame else f"<p><small>{_WITHOUT}</small></p>"

    @property
    def address(self) -> str | None:
        return None if self._frame is None else self._frame.address

    def close(self) -> None:
        """Close the server or the widget; the page no longer works."""
        for shown in (self._frame, self.widget):
            if shown is not None:
                shown.close()

    def _repr_mimebundle_(self, **options: object) -> tuple[dict[str, object], dict[str, object]]:
        """Return the output of a notebook cell."""
        if self.widget is not None:
            bundle, metadata = self.widget._repr_mimebundle_(**options)
            return bundle, metadata
        assert self._frame is not None
        text = f"the viewer, at {self._frame.address}"
        return {"text/html": self._frame.html + self._note, "text/plain": text}, {}
