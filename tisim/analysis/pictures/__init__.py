"""Pictures of the event log of a replay: files, and axes of matplotlib."""

from tisim.analysis.pictures.gantt_file import draw_gantt

__all__ = ["draw_gantt"]
