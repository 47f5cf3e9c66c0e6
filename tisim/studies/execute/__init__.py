"""Executing traces on a real MPI: their calls, and something in place of their computations."""

from tisim.studies.execute.execution import execute
from tisim.studies.execute.result import Execution, Repetition

__all__ = ["execute", "Execution", "Repetition"]
