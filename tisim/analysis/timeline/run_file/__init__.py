"""Run files: all events of a run, at all resolutions, in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import RunFile
    from tisim.analysis.timeline.run_file.window import RecordClasses, Tile, Window

__all__ = ["RecordClasses", "RunFile", "Tile", "Window"]


if not TYPE_CHECKING:  # the reader is loaded on demand: a replay only writes
    __getattr__, __dir__ = lazy_names(
        __name__, {".reader": "RunFile", ".window": "RecordClasses Tile Window"}
    )
