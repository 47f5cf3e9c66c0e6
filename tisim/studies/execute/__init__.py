"""Execute traces on a real MPI: their calls, with substitutes for their computations."""

from tisim.studies.execute.execution import execute
from tisim.studies.execute.result import Execution, Repetition

__all__ = ["execute", "Execution", "Repetition"]
