"""The pictures that ``tisim replay`` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.files import check_writable

if TYPE_CHECKING:
    from tisim.result import Result


class Pictures:
    """Files that pictures of a result go to.

    Parameters
    ----------
    gantt, report
        A Gantt chart, and a page with everything; None: it is not wanted.

    Raises
    ------
    InputError
        When a file cannot be written, or its suffix is another than it must be.
    """

    def __init__(self, gantt: str | None, report: str | None) -> None:
        self._gantt = gantt
        self._report = report
        if gantt is not None:
            from tisim.viz.gantt import check_picture

            check_picture(gantt)
            check_writable(gantt)
        if report is not None:
            from tisim.viz.report import check_report

            check_report(report)
            check_writable(report)

    @property
    def wanted(self) -> bool:
        """Whether there is anything to draw."""
        return self._gantt is not None or self._report is not None

    def draw(self, result: Result) -> None:
        """Draw what is wanted."""
        if self._gantt is not None:
            from tisim.viz.gantt import draw_gantt

            draw_gantt(result, self._gantt)
        if self._report is not None:
            from tisim.viz.report import write_report

            write_report(result, self._report)
