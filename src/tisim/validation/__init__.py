"""Predictions beside real runs: studies, their errors, and a page that shows them."""

from tisim.validation.case import Case
from tisim.validation.comparison import CaseResult, Summary, summarize
from tisim.validation.study import Study, Thresholds, load_study
from tisim.validation.validation import Validation, validate

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
