"""The viewer as a widget of a notebook, whose messages carry questions and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from tisim.analysis.view.answers import Answers
from tisim.analysis.view.server import page_files
from tisim.errors import InputError

if TYPE_CHECKING:
    from anywidget import AnyWidget


def make_widget(answers: Answers, height: int) -> AnyWidget | None:
    """A widget that shows the page of the viewer; None when anywidget is not installed.

    Parameters
    ----------
    answers
        To the questions of the page.
    height
        Of the page, in pixels.
    """
    try:
        from anywidget import AnyWidget
    except ImportError:
        return None
    script = (resources.files("tisim.analysis.view") / "widget.js").read_text(encoding="utf-8")
    widget = AnyWidget(_esm=script)
    answer = KernelAnswers(answers, height)

    def reply(sender: AnyWidget, question: object, buffers: Sequence[memoryview]) -> None:
        told, body = answer(question)
        sender.send(told, [] if body is None else [body])

    widget.on_msg(reply)
    return widget


class KernelAnswers:
    """Answers the messages of a page in a notebook.

    Parameters
    ----------
    answers
        To the questions of the page.
    height
        Of the page, in pixels.
    """

    def __init__(self, answers: Answers, height: int) -> None:
        self._answers = answers
        self._height = height

    def __call__(self, question: object) -> tuple[dict[str, str], bytes | None]:
        """The answer to a message: what it says, and bytes.

        A message has the ``id`` of a question, its ``name`` and its ``query``, texts by name. The
        answer has the same ``id``, and ``error`` where there are no bytes. The question ``page``
        asks for the files of the page, and how high it is.
        """
        content = question if isinstance(question, Mapping) else {}
        told = {"id": str(content.get("id", ""))[:100]}
        name, query = content.get("name"), content.get("query")
        try:
            body = self._answer(name, query)
        except InputError as error:
            return {**told, "error": error.message}, None
        return told, body

    def _answer(self, name: object, query: object) -> bytes:
        if name == "page":
            files = {file: content.decode() for file, content in page_files().items()}
            return json.dumps({"height": self._height, "files": files}).encode()
        if not isinstance(name, str) or not isinstance(query, Mapping):
            raise InputError("a question has a name and a query")
        if not all(isinstance(text, str) for one in query.items() for text in one):
            raise InputError("a query has texts by name")
        body = self._answers.answer(name, query)
        if body is None:
            raise InputError("there is no such question")
        return body
