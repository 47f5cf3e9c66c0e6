"""Reports on sweeps: curves, heat maps, what matters most, and what it costs."""

from tisim.studies.sweep.report.page import write_sweep_report

__all__ = ["write_sweep_report"]
