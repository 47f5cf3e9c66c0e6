"""Names of the states of ranks and of the kinds of actions."""

from __future__ import annotations

from tisim import _core

#: The states that a rank can be in, in the order in which tables and pictures show them.
STATES: tuple[str, ...] = tuple(_core.state_names())

#: The wait states: those in which a rank waits for another one.
WAITS: tuple[str, ...] = STATES[STATES.index("late sender") :]

#: Kinds of what ranks do between their calls of MPI.
BETWEEN_CALLS = frozenset({"no action", "nop", "compute", "sleep", "custom"})


def kind_names() -> list[str]:
    """Names of the kinds of actions by number; empty where a number is not used."""
    return _core.kind_names()
