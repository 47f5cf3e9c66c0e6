"""The event log of a replay, what is derived from it, and files of timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.analysis.timeline.capture import EventCapture
    from tisim.analysis.timeline.event_log import EventLog

__all__ = ["EventCapture", "EventLog"]


def __getattr__(name: str) -> object:
    """Event logs are loaded when they are needed: a replay that writes a run file has none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    home = "capture" if name == "EventCapture" else "event_log"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
