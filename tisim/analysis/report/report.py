"""Reports: the complete analysis of a result as one HTML page."""

from __future__ import annotations

import os
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tisim.analysis.report.application import application_of, application_page, application_tab
from tisim.analysis.report.files import file_page, file_tab
from tisim.analysis.report.page import page_file, page_script, page_style, with_security_policy
from tisim.analysis.report.page_data import chosen_part, page_data
from tisim.analysis.report.sections import PageParts
from tisim.errors import InputError
from tisim.support.files import write_file

if TYPE_CHECKING:
    from tisim.analysis.result import Result

_SUFFIXES = (".html", ".htm")


def check_report(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` unless a file has the suffix of a report."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise InputError("the suffix of a report must be .html", file=path)


def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    begin: float | None = None,
    end: float | None = None,
) -> None:
    """Write one self-contained page: summary, Gantt, breakdown, waits, critical path, and so on.

    If the trace is a packed one of version 2, a section describes the application's behaviour.

    The page needs no other file and no network. It contains every state and message of small
    replays, and shares and samples of large ones, and says so; it stays below two megabytes.

    Parameters
    ----------
    result
        A result with an event log.
    path
        File with the suffix ``.html``.
    begin, end
        The interval of simulated time that the Gantt chart shows first, in seconds; by default a
        typical part that is readable.

    Raises
    ------
    InputError
        If the suffix is wrong, the file cannot be written, or the interval contains no simulated
        time.
    TisimError
        If the result has no event log.
    """
    check_report(path)
    part = chosen_part(result.require_event_log(), begin, end)
    parts = PageParts(result, part)
    application = application_of(result.trace)
    page = Template(page_file("report.html")).substitute(
        title=parts.title,
        style=page_style("report.css"),
        script=page_script("report.js"),
        data=page_data(result, part),
        legend=parts.legend(),
        summary=parts.summary(),
        application_tab=application_tab(application),
        application=application_page(application),
        gantt_note=parts.gantt_note(),
        breakdown=parts.breakdown(),
        waits=parts.waits(),
        path=parts.path(),
        matrix=parts.matrix(),
        links=parts.links(),
        file_tab=file_tab(result.io),
        files=file_page(result),
        config=parts.config(),
    )
    write_file(path, with_security_policy(page))
