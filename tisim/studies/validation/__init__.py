"""Comparison of predictions with real runs: studies, their errors, and a page that shows them."""

from tisim.studies.validation.comparison import CaseResult, Summary, summarize
from tisim.studies.validation.study import Case, Study, Thresholds, load_study
from tisim.studies.validation.validation import Validation, validate

__all__ = [
    "Case",
    "CaseResult",
    "Study",
    "Summary",
    "Thresholds",
    "Validation",
    "load_study",
    "summarize",
    "validate",
]
