"""Timelines in the format of Paje, as SimGrid writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.output import FileOutput

if TYPE_CHECKING:
    from tisim.analysis.timeline.run import Run


def paje_output(path: Path, run: Run) -> FileOutput:
    """The states and links that SimGrid 3.32 writes for a replay with ``-trace``."""
    return FileOutput([(path, _core.PajeWriter(run.ranks))])
