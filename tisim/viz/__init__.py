"""Pictures of what happened in a replay that was recorded."""

from tisim.viz.gantt import draw_gantt

__all__ = ["draw_gantt"]
