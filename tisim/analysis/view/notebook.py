"""The viewer inside a notebook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.view.answers import Answers
from tisim.analysis.view.frame import FramedView
from tisim.analysis.view.widget import make_widget
from tisim.errors import InputError

if TYPE_CHECKING:
    from anywidget import AnyWidget

_WITHOUT = (
    "The page is in a frame, which only a browser on the machine of the kernel can show. With "
    "<code>pip install 'tisim[notebook]'</code> (anywidget) any browser can."
)


class NotebookView:
    """The page of the viewer in a notebook.

    It is a widget, whose messages carry questions to the kernel: it works wherever the kernel runs,
    and answers while no cell does. Without anywidget, or with `frame`, it is a frame that asks a
    server in the kernel, which answers also while a cell runs; the browser has to be on the same
    machine, since the server listens on loopback.

    Parameters
    ----------
    runs
        Run files: one, or two of the same program.
    height
        Of the page, in pixels.
    frame
        Whether a frame is wanted, though there is anywidget.

    Raises
    ------
    InputError
        When a file is no run file, two runs cannot be aligned, or a frame needs what is not
        installed.

    Attributes
    ----------
    address
        Of the page in a frame; None where it is a widget.
    widget
        The widget, for layouts of ipywidgets; None where the page is in a frame.
    """

    def __init__(
        self, *runs: str | os.PathLike[str], height: int = 800, frame: bool = False
    ) -> None:
        if not 1 <= len(runs) <= 2:
            raise InputError("show one run file, or two of the same program")
        answers = Answers([RunFile(path) for path in runs])
        self.widget: AnyWidget | None = None if frame else make_widget(answers, height)
        self._frame = FramedView(answers, height) if self.widget is None else None
        self._note = "" if frame else f"<p><small>{_WITHOUT}</small></p>"

    @property
    def address(self) -> str | None:
        return None if self._frame is None else self._frame.address

    def close(self) -> None:
        """End the server or the widget; the page answers no more."""
        for shown in (self._frame, self.widget):
            if shown is not None:
                shown.close()

    def _repr_mimebundle_(self, **options: object) -> tuple[dict[str, object], dict[str, object]]:
        """What notebooks show."""
        if self.widget is not None:
            bundle, metadata = self.widget._repr_mimebundle_(**options)
            return bundle, metadata
        assert self._frame is not None
        text = f"the viewer, at {self._frame.address}"
        return {"text/html": self._frame.html + self._note, "text/plain": text}, {}
