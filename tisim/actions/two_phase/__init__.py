"""Collective reads and writes of files by two-phase I/O.

The ranks first exchange which parts of the file they access. Then some of them, the *aggregators*,
each read or write a part of the file and exchange data with all ranks in rounds of one buffer
each. The choice of aggregators, their parts and the rounds depend on the MPI library: `romio` and
`ompio` describe theirs in terms of `plan`.
"""

from __future__ import annotations

from tisim.actions.script import Script
from tisim.actions.two_phase import dynamic_gen2, lustre, ompio, romio
from tisim.actions.two_phase.plan import Hints as Hints
from tisim.actions.two_phase.plan import Plan as Plan
from tisim.actions.two_phase.plan import Request as Request
from tisim.actions.two_phase.plan import Striping as Striping


def write_parts(implementation: str, script: Script) -> None:
    """Write the exchange of the ranks' parts of the file, of ``romio`` or ``ompio``."""
    (romio if implementation == "romio" else ompio).write_parts(script)


def plan_of(implementation: str, request: Request) -> Plan:
    """Return the plan of a library, ``romio`` or ``ompio``, for a request."""
    striping = request.striping if request.writes else None
    if implementation == "romio":
        return romio.plan_of(request) if striping is None else lustre.plan_of(request, striping)
    return ompio.plan_of(request) if striping is None else dynamic_gen2.plan_of(request, striping)
