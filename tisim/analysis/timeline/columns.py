"""Columns of the tables of a run: names of states, units, and data frames of the core's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from tisim import _core

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

#: The states that a rank can be in, in the order in which tables and pictures show them.
STATES: tuple[str, ...] = tuple(_core.state_names())
#: The wait states: those in which a rank waits for another one.
WAITS: tuple[str, ...] = STATES[STATES.index("late sender") :]
#: Kinds of what ranks do between their calls of MPI.
BETWEEN_CALLS = frozenset({"no action", "nop", "compute", "sleep", "custom"})


#: Columns of the tables of actions and messages.
ACTION_COLUMNS = (
    *("rank", "kind", "start", "end", "bytes"),
    *("volume", "peer", "communicator", "line"),
)
MESSAGE_TIMES = ("posted", "received", "started", "arrived")
MESSAGE_COLUMNS = ("source", "destination", "bytes", "tag", "collective", *MESSAGE_TIMES)


def field_of(column: str) -> str:
    """The field of the core's rows that a column is made of."""
    return {"communicator": "comm", "posted": "sent"}.get(column, column)


def kind_names() -> list[str]:
    """Names of the kinds of actions by number; empty where a number is not used."""
    return _core.kind_names()


def names_of_kinds(*roles: str, **columns: bool) -> frozenset[str]:
    """Names of the kinds of actions with one of these roles in the table of operations.

    `columns` are others of its columns, such as ``blocks=True``.
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
    """The wait state of each collective, by its name."""
    collectives = [op for op in _core.Operation if op < _core.Operation.COMM_SPLIT]
    return {op.name.lower(): _core.wait_state(op) for op in collectives}


#: Columns that have a unit, by name; one name has one unit in all frames.
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
    """The frame, whose ``attrs["units"]`` say the unit of each column that has one.

    `others` are units of columns whose names mean something else in this frame; empty: none.
    """
    units = {name: UNITS[name] for name in table.columns if name in UNITS} | others
    table.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return table


def structured(rows: object) -> NDArray[np.void]:
    """Rows of the core, which come as a structured array."""
    return cast("NDArray[np.void]", rows)


def categories(numbers: NDArray[np.uint8], names: Sequence[str]) -> pd.Categorical:
    """A categorical column, which takes a byte a row: words by their numbers."""
    import numpy as np
    import pandas as pd

    used = np.unique(numbers)
    place = np.zeros(256, dtype=np.int8)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[numbers], categories=[names[number] for number in used])


def frame(columns: Mapping[str, object]) -> pd.DataFrame:
    """A data frame whose columns are copied out of structured arrays, with their units."""
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
