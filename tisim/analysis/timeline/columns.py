"""Columns of a run's tables: state names, units, and data frames of the core's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tisim import _core

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: The states of a rank, in the order used by tables and pictures.
STATES: tuple[str, ...] = tuple(_core.state_names())
#: The wait states, in which a rank waits for another one.
WAITS: tuple[str, ...] = STATES[STATES.index("late sender") :]
#: Kinds of activity between MPI calls.
BETWEEN_CALLS = frozenset({"no action", "nop", "compute", "sleep", "custom"})


#: Columns of the tables of actions and messages.
ACTION_COLUMNS = (
    *("rank", "kind", "start", "end", "bytes"),
    *("volume", "peer", "communicator", "line"),
)
MESSAGE_TIMES = ("posted", "received", "started", "arrived")
MESSAGE_COLUMNS = ("source", "destination", "bytes", "tag", "collective", *MESSAGE_TIMES)


def field_of(column: str) -> str:
    """Return the field of the core's rows for a column."""
    return {"communicator": "comm", "posted": "sent"}.get(column, column)


def kind_names() -> list[str]:
    """Return the names of the kinds of actions by number; empty for unused numbers."""
    return _core.kind_names()


def names_of_kinds(*roles: str, **columns: bool) -> frozenset[str]:
    """Return the names of the kinds of actions with one of these roles in the operation table.

    `columns` are further columns of the table, such as ``blocks=True``.
    """
    names = kind_names()
    traits = {kind: _core.traits_of(kind) for kind in _core.Kind}
    return frozenset(
        names[int(kind)]
        for kind, trait in traits.items()
        if trait.role.name.lower() in roles
        and all(getattr(trait, column) == value for column, value in columns.items())
    )


def collective_waits() -> dict[str, str]:
    """Return the wait state of each collective, by name."""
    collectives = [op for op in _core.Operation if op < _core.Operation.COMM_SPLIT]
    return {op.name.lower(): _core.wait_state(op) for op in collectives}


#: Units of columns, by name; a name has the same unit in all frames.
UNITS = {
    **dict.fromkeys(STATES, "s"),
    **dict.fromkeys(("start", "end", "seconds", "latency"), "s"),
    **dict.fromkeys(("posted", "received", "started", "arrived"), "s"),
    **dict.fromkeys(("finish", "compute", "communication", "other", "transfers"), "s"),
    **dict.fromkeys(("bytes", "collective_bytes", "bytes_sent"), "B"),
    "bandwidth": "B/s",
    "volume": "flop; of a sleep s",
    **dict.fromkeys(("share", "speedup", "mean", "peak", "busy"), "1"),
}


def with_units(table: pd.DataFrame, **others: str) -> pd.DataFrame:
    """Set ``attrs["units"]`` of a frame to the units of its columns and return it.

    `others` are units of columns whose names mean something else in this frame; empty: none.
    """
    units = {name: UNITS[name] for name in table.columns if name in UNITS} | others
    table.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return table


def structured(rows: object) -> NDArray[np.void]:
    """Return the core's rows as a structured array."""
    return cast("NDArray[np.void]", rows)


def categories(numbers: NDArray[np.uint8], names: Sequence[str]) -> pd.Categorical:
    """Return a categorical column with one byte per row from numbers and their names."""
    import numpy as np
    import pandas as pd

    used = np.unique(numbers)
    place = np.zeros(256, dtype=np.int8)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[numbers], categories=[names[number] for number in used])


def frame(columns: Mapping[str, object]) -> pd.DataFrame:
    """Return a data frame with columns copied out of structured arrays, with units."""
    import numpy as np
    import pandas as pd

    return with_units(
        pd.DataFrame(
            {
                name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
                for name, column in columns.items()
            }
        )
    )
