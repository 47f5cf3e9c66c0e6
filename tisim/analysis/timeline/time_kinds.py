"""The composition of a run time: its critical path by kinds of time that err alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.columns import (
    STATES,
    collective_waits,
    kind_names,
    names_of_kinds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Decided by the processors of a calibrated machine and not by its network.
COMPUTING = "computing"
#: The kinds. What a wait or test ends, or spends on non-blocking collectives, is overlap; what a
#: transfer takes longer than it would on idle links is contention, in collectives too.
KINDS = (
    COMPUTING,
    "short messages",
    "short collectives",
    "transfers",
    "collectives",
    "overlap",
    "contention",
)
# Messages up to this size in bytes, and what calls cost a processor, are short.
_SMALL = 4096
# A smaller part of a transfer's time is not contention.
_LEAST = 0.05
# States that the rank itself decides.
_OWN = ("compute", "sleep", "custom", "I/O")
# The kinds of waits and tests in the table of operations.
_COMPLETING = [f"complete_{of}" for of in ("one", "last", "all", "any", "some")]


def shares_of_time(rows: NDArray[np.void], alone: NDArray[np.float64]) -> dict[str, float]:
    """The share of each kind in the time of a critical path.

    Takes the parts of the path, and the seconds that each would take on idle links.
    """
    seconds = rows["end"] - rows["start"]
    names = kind_names()
    collective = _is_of(rows, names, frozenset(collective_waits()))
    waits = _is_of(rows, names, names_of_kinds(*_COMPLETING))
    moves = rows["state"] == STATES.index("transfer")
    computing = np.isin(rows["state"], [STATES.index(name) for name in _OWN])
    computing &= rows["kind"] != names.index("no action")  # until the first one begins
    short = ~computing & np.where(moves, rows["bytes"] <= _SMALL, ~waits)
    long = ~computing & ~short
    more = np.where(long & ~waits, np.maximum(seconds - alone, 0.0), 0.0)
    more[more < _LEAST * seconds] = 0.0
    sums = {
        COMPUTING: seconds[computing].sum(),
        "short messages": seconds[short & ~collective].sum(),
        "short collectives": seconds[short & collective].sum(),
        "transfers": (seconds - more)[long & ~collective & ~waits].sum(),
        "collectives": (seconds - more)[long & collective].sum(),
        "overlap": seconds[long & waits].sum(),
        "contention": more.sum(),
    }
    whole = float(seconds.sum())
    return {kind: float(sums[kind]) / whole for kind in KINDS} if whole > 0 else {}


def _is_of(rows: NDArray[np.void], names: list[str], wanted: frozenset[str]) -> NDArray[np.bool_]:
    """True if each row is of an action of these kinds."""
    return np.isin(rows["kind"], [place for place, name in enumerate(names) if name in wanted])
