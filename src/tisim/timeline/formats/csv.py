"""Timelines as comma-separated values, and the timed trace of the literature."""

from __future__ import annotations

from pathlib import Path

from tisim import _core
from tisim.timeline.output import FileOutput


def csv_output(path: Path) -> FileOutput:
    """A row an action in `path`; a row a message in a file beside it.

    ``run.csv`` goes with ``run.messages.csv``. A name that ends in ``.timed.csv`` gives the timed
    trace instead: each action with its duration.
    """
    if path.name.endswith(".timed.csv"):
        return FileOutput([(path, _core.TimedCsv())])
    messages = companion(path, "messages")
    return FileOutput([(path, _core.ActionsCsv()), (messages, _core.MessagesCsv())])


def companion(path: Path, word: str) -> Path:
    """The name of the file that goes with another: ``run.csv``, ``run.messages.csv``."""
    return path.with_name(f"{path.stem}.{word}{path.suffix}")
