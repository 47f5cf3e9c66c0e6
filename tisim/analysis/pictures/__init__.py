"""Pictures of a replay's event log: files, and matplotlib axes."""

from tisim.analysis.pictures.gantt_file import draw_gantt

__all__ = ["draw_gantt"]
