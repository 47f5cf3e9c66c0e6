"""Run files: everything that happened in a run, at all resolutions, in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import RunFile
    from tisim.analysis.timeline.run_file.window import RecordClasses, Tile, Window

__all__ = ["RecordClasses", "RunFile", "Tile", "Window"]


def __getattr__(name: str) -> object:
    """What reads is loaded when it is needed: a replay only writes."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    home = "reader" if name == "RunFile" else "window"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
