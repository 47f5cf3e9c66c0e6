"""Deprecated: the names of this module moved to `tisim.timeline`."""

from __future__ import annotations

from tisim.deprecation import moved

# Old name -> module and name of today.
_MOVED = {
    "Recorded": ("tisim.timeline", "EventLog"),
    "Session": ("tisim.timeline", "EventCapture"),
    "Recording": ("tisim.timeline.playback", "EventPlayback"),
    "Breakdown": ("tisim.timeline.breakdown", "Breakdown"),
    "CriticalPath": ("tisim.timeline.critical_path", "CriticalPath"),
    "Links": ("tisim.timeline.links", "Links"),
    "STATES": ("tisim.timeline.names", "STATES"),
    "WAITS": ("tisim.timeline.names", "WAITS"),
}


def __getattr__(name: str) -> object:
    return moved("tisim.recording", name, _MOVED)
