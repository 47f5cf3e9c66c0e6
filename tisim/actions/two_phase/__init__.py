"""Collective reads and writes of files by two-phase I/O.

The ranks tell each other what they want of the file. Then some of them, the *aggregators*, read
and write, each a part of the file, and exchange data with all others in rounds, as many bytes in
each as a buffer holds. Which ranks are aggregators, what each has, and what the rounds are depends
on the MPI library: `romio` and `ompio` say it for theirs, in terms of `plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tisim.actions.script import Script
from tisim.actions.two_phase import dynamic_gen2, lustre, ompio, romio
from tisim.actions.two_phase.plan import Hints, Plan, Request, Striping

__all__ = ["Hints", "Plan", "Request", "Striping", "plan_of", "write_parts"]


class Way(NamedTuple):
    """How ranks tell each other their parts, and how they carry out what they want."""

    write_parts: Callable[[Script], None]
    plan: Callable[[Request], Plan]


def _romio_plan(request: Request) -> Plan:
    if request.writes and request.striping is not None:
        return lustre.plan_of(request, request.striping)
    return romio.plan_of(request)


def _ompio_plan(request: Request) -> Plan:
    if request.writes and request.striping is not None:
        return dynamic_gen2.plan_of(request, request.striping)
    return ompio.plan_of(request)


_WAYS: Final = {
    "romio": Way(romio.write_parts, _romio_plan),
    "ompio": Way(ompio.write_parts, _ompio_plan),
}


def write_parts(way: str, script: Script) -> None:
    """Write how the ranks of a collective call tell each other what they want of the file."""
    _WAYS[way].write_parts(script)


def plan_of(way: str, request: Request) -> Plan:
    """How a library carries out a request."""
    return _WAYS[way].plan(request)
