"""Reports: the whole analysis of a result as one page of HTML."""

from tisim.analysis.report.report import write_report

__all__ = ["write_report"]
