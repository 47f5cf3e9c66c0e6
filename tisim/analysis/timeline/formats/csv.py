"""Timelines as comma-separated values, and the timed trace of the literature."""

from __future__ import annotations

from pathlib import Path

from tisim import _core
from tisim.analysis.timeline.formats.names import files_of, is_timed
from tisim.analysis.timeline.output import FileOutput


def csv_output(path: Path) -> FileOutput:
    """A row an action in `path`; a row a message in a file beside it.

    ``run.csv`` goes with ``run.messages.csv``. A name that ends in ``.timed.csv`` gives the timed
    trace instead: each action with its duration.
    """
    if is_timed(path):
        return FileOutput([(path, _core.TimedCsv())])
    actions, messages = files_of(path)
    return FileOutput([(actions, _core.ActionsCsv()), (messages, _core.MessagesCsv())])
