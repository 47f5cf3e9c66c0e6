"""The composition of a run time: its critical path by kinds of time with similar errors."""

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

#: Time that depends on the processors of a calibrated machine and not on its network.
COMPUTING = "computing"
#: The kinds. Time ended by a wait or test, or spent on non-blocking collectives, is overlap; the
#: excess of a transfer over its time on idle links is contention, also in collectives.
KINDS = (
    COMPUTING,
    "short messages",
    "short collectives",
    "transfers",
    "collectives",
    "overlap",
    "contention",
)
# Messages up to this size in bytes, and the processor overhead of calls, are short.
_SMALL = 4096
# Minimum fraction of a transfer's time that counts as contention.
_MIN_CONTENTION_SHARE = 0.05
# States that depend only on the rank itself.
_OWN = ("compute", "sleep", "custom", "I/O")
# The kinds of waits and tests in the operation table.
_COMPLETING = [f"complete_{of}" for of in ("one", "last", "all", "any", "some")]


def shares_of_time(rows: NDArray[np.void], alone: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of each kind in the time of a critical path.

    The arguments are the parts of the path, and the seconds that each would take on idle links.
    """
    seconds = rows["end"] - rows["start"]
    names = kind_names()
    collective = _is_of(rows, names, frozenset(collective_waits()))
    waits = _is_of(rows, names, names_of_kinds(*_COMPLETING))
    moves = rows["state"] == STATES.index("transfer")
    computing = np.isin(rows["state"], [STATES.index(name) for name in _OWN])
    computing &= rows["kind"] != names.index("no action")  # before its first action
    short = ~computing & np.where(moves, rows["bytes"] <= _SMALL, ~waits)
    long = ~computing & ~short
    more = np.where(long & ~waits, np.maximum(seconds - alone, 0.0), 0.0)
    more[more < _MIN_CONTENTION_SHARE * seconds] = 0.0
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
    """Return a mask of the rows that belong to actions of these kinds."""
    return np.isin(rows["kind"], [place for place, name in enumerate(names) if name in wanted])
