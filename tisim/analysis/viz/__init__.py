"""Pictures of the event log of a replay."""

from tisim.analysis.viz.gantt import draw_gantt
from tisim.analysis.viz.report import write_report

__all__ = ["draw_gantt", "write_report"]
