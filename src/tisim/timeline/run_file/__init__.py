"""Run files: everything that happened in a run, at all resolutions, in one file."""

from tisim.timeline.run_file.reader import RunFile
from tisim.timeline.run_file.window import RecordClasses, Tile, Window

__all__ = ["RecordClasses", "RunFile", "Tile", "Window"]
