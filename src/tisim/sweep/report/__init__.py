"""Reports on sweeps: curves, heat maps, what matters most, and what it costs."""

from tisim.sweep.report.page import check_sweep_report, write_sweep_report

__all__ = ["check_sweep_report", "write_sweep_report"]
