"""The event log of a replay, what is derived from it, and files of timelines."""

from tisim.timeline.capture import EventCapture
from tisim.timeline.event_log import EventLog

__all__ = ["EventCapture", "EventLog"]
