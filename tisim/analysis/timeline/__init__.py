"""The event log of a replay, data derived from it, and timeline files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.analysis.timeline.capture import EventCapture
    from tisim.analysis.timeline.event_log import EventLog

__all__ = ["EventCapture", "EventLog"]


if not TYPE_CHECKING:  # a replay that writes a run file needs no event log
    __getattr__, __dir__ = lazy_names(
        __name__, {".capture": "EventCapture", ".event_log": "EventLog"}
    )
