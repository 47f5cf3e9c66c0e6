"""The pictures that ``tisim replay`` draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.commands.written import report_written
from tisim.errors import InputError
from tisim.support.files import check_writable
from tisim.support.quantities import parse_time

if TYPE_CHECKING:
    from tisim.analysis.result import Result


class Pictures:
    """Files that pictures of a result go to.

    Parameters
    ----------
    gantts
        Files of Gantt charts.
    report
        The file of a page with everything; None: it is not wanted.
    begin, end
        The part of the time that charts show (in a page: first), with units; None: no bound.
    timelines
        Files of timelines, which show that part too.

    Raises
    ------
    InputError
        When a file cannot be written, its suffix is another than it must be, or a time is none.
    """

    def __init__(
        self,
        gantts: Sequence[str],
        report: str | None,
        begin: str | None = None,
        end: str | None = None,
        timelines: Sequence[str] = (),
    ) -> None:
        self._gantts = gantts
        self._report = report
        self._begin = None if begin is None else parse_time(begin, "--begin")
        self._end = None if end is None else parse_time(end, "--end")
        if (begin or end) and not self.wanted and not timelines:
            raise InputError(
                "--begin and --end are a part of --gantt, --report or --timeline: give one too"
            )
        if gantts:
            from tisim.analysis.pictures.gantt_file import check_picture

            for gantt in gantts:
                check_picture(gantt)
                check_writable(gantt)
        if report is not None:
            from tisim.analysis.report.report import check_report

            check_report(report)
            check_writable(report)

    @property
    def part(self) -> tuple[float, float] | None:
        """The part of the time, in seconds; None: all of it."""
        if self._begin is None and self._end is None:
            return None
        return self._begin or 0.0, math.inf if self._end is None else self._end

    @property
    def wanted(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self._gantts) or self._report is not None

    def draw(self, result: Result) -> None:
        """Draw what is wanted."""
        if self._gantts:
            from tisim.analysis.pictures.gantt_file import draw_gantt

            for gantt in self._gantts:
                draw_gantt(result, gantt, begin=self._begin or 0.0, end=self._end)
                report_written(gantt)
        if self._report is not None:
            from tisim.analysis.report.report import write_report

            write_report(result, self._report, begin=self._begin, end=self._end)
            report_written(self._report)
