"""Reports: the complete analysis of a result as one HTML page."""

from tisim.analysis.report.report import write_report

__all__ = ["write_report"]
