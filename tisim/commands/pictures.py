"""The pictures that ``tisim replay`` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.commands.output import check_writable

if TYPE_CHECKING:
    from tisim.result import Result


class Pictures:
    """Files that pictures of a result go to.

    Parameters
    ----------
    gantt
        A Gantt chart; None: none is wanted.

    Raises
    ------
    InputError
        When a file cannot be written, or its suffix is not one of a picture.
    """

    def __init__(self, gantt: str | None) -> None:
        self._gantt = gantt
        if gantt is not None:
            from tisim.viz.gantt import check_picture

            check_picture(gantt)
            check_writable(gantt)

    @property
    def wanted(self) -> bool:
        """Whether there is anything to draw."""
        return self._gantt is not None

    def draw(self, result: Result) -> None:
        """Draw what is wanted."""
        if self._gantt is not None:
            from tisim.viz.gantt import draw_gantt

            draw_gantt(result, self._gantt)
