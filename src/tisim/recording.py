"""Deprecated: the names of this module moved to `tisim.timeline`."""

from __future__ import annotations

import importlib
import warnings

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
    if name not in _MOVED:
        raise AttributeError(f"module 'tisim.recording' has no attribute {name!r}")
    module, new = _MOVED[name]
    warnings.warn(
        f"tisim.recording.{name} is deprecated; use {module}.{new}",
        DeprecationWarning,
        stacklevel=2,
    )
    value: object = getattr(importlib.import_module(module), new)
    return value
