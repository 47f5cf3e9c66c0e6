"""The pictures that ``tisim replay`` draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.commands.written import report_written
from tisim.files import check_writable

if TYPE_CHECKING:
    from tisim.result import Result


class Pictures:
    """Files that pictures of a result go to.

    Parameters
    ----------
    gantts
        Files of Gantt charts.
    report
        The file of a page with everything; None: it is not wanted.

    Raises
    ------
    InputError
        When a file cannot be written, or its suffix is another than it must be.
    """

    def __init__(self, gantts: Sequence[str], report: str | None) -> None:
        self._gantts = gantts
        self._report = report
        if gantts:
            from tisim.viz.gantt import check_picture

            for gantt in gantts:
                check_picture(gantt)
                check_writable(gantt)
        if report is not None:
            from tisim.viz.report import check_report

            check_report(report)
            check_writable(report)

    @property
    def wanted(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self._gantts) or self._report is not None

    def draw(self, result: Result) -> None:
        """Draw what is wanted."""
        if self._gantts:
            from tisim.viz.gantt import draw_gantt

            for gantt in self._gantts:
                draw_gantt(result, gantt)
                report_written(gantt)
        if self._report is not None:
            from tisim.viz.report import write_report

            write_report(result, self._report)
            report_written(self._report)
