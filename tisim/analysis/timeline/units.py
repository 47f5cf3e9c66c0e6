"""Units of the columns of data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.analysis.timeline.names import STATES

if TYPE_CHECKING:
    import pandas as pd

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

    Parameters
    ----------
    table
        A data frame.
    others
        Units of columns whose names mean something else in this frame; empty: none.
    """
    units = {name: UNITS[name] for name in table.columns if name in UNITS} | others
    table.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return table
