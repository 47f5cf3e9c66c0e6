"""Deprecated: the names of this module moved to `tisim.analysis.timeline`."""

from __future__ import annotations

from tisim.deprecation import moved

# Old name -> module and name of today.
_MOVED = {
    "Recorded": ("tisim.analysis.timeline", "EventLog"),
    "Session": ("tisim.analysis.timeline", "EventCapture"),
    "Recording": ("tisim.analysis.timeline.capture", "EventPlayback"),
    "Breakdown": ("tisim.analysis.timeline.event_log", "Breakdown"),
    "CriticalPath": ("tisim.analysis.timeline.critical_path", "CriticalPath"),
    "Links": ("tisim.analysis.timeline.links", "Links"),
    "STATES": ("tisim.analysis.timeline.columns", "STATES"),
    "WAITS": ("tisim.analysis.timeline.columns", "WAITS"),
}


def __getattr__(name: str) -> object:
    return moved("tisim.recording", name, _MOVED)
