"""Pictures of what happened in a replay that was recorded."""

from tisim.viz.gantt import draw_gantt
from tisim.viz.report import write_report

__all__ = ["draw_gantt", "write_report"]
