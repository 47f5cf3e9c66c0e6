"""Executing traces on a real MPI: their calls, and something in place of their computations."""

from tisim.execute.execution import execute
from tisim.execute.result import Execution, Repetition

__all__ = ["execute", "Execution", "Repetition"]
