"""Collective reads and writes of files by two-phase I/O.

The ranks tell each other what they want of the file. Then some of them, the *aggregators*, read
and write, each a part of the file, and exchange data with all others in rounds, as many bytes in
each as a buffer holds. Which ranks are aggregators, what each has, and what the rounds are depends
on the MPI library: `romio` and `ompio` say it for theirs, in terms of `plan`.
"""

from tisim.actions.two_phase.plan import Hints, Plan, Request, Striping
from tisim.actions.two_phase.selection import plan_of, write_parts

__all__ = ["Hints", "Plan", "Request", "Striping", "plan_of", "write_parts"]
