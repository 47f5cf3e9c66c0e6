"""What is known of a simulation that was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tisim import _core
from tisim.recording.breakdown import STATES, Breakdown

if TYPE_CHECKING:
    import pandas as pd

    from tisim.recording.scene import Scene
    from tisim.recording.spool import Spool


class Recorded:
    """What is known of a simulation that was recorded; see `tisim.Result` for what is what.

    Parameters
    ----------
    spool
        The records.
    scene
        What was simulated.
    finish
        Seconds at which each rank ended.
    """

    def __init__(self, spool: Spool, scene: Scene, finish: Any) -> None:
        self.spool = spool
        self.scene = scene
        self.finish = finish

    @cached_property
    def breakdown(self) -> Breakdown:
        """Where the time of each rank went."""
        return Breakdown(self.spool.profile, self.scene.ranks)

    @property
    def timeline(self) -> pd.DataFrame:
        """One row an action, in the order of their ends."""
        rows = self.spool.read("actions")
        return _frame(
            rows,
            {
                "rank": rows["rank"],
                "kind": _words(rows["kind"], _core.kind_names()),
                "start": rows["start"],
                "end": rows["end"],
                "bytes": rows["bytes"],
                "volume": rows["volume"],
                "peer": rows["peer"],
                "communicator": rows["comm"],
                "line": rows["line"],
            },
        )

    @property
    def states(self) -> pd.DataFrame:
        """One row for each time that a rank spends in one state, in the order of their ends."""
        rows = self.spool.read("states")
        return _frame(
            rows,
            {
                "rank": rows["rank"],
                "state": _words(rows["state"], STATES),
                "kind": _words(rows["kind"], _core.kind_names()),
                "start": rows["start"],
                "end": rows["end"],
                "cause": rows["cause"],
            },
        )

    @property
    def messages(self) -> pd.DataFrame:
        """One row a message, in the order in which their receivers went on."""
        import numpy as np

        rows = self.spool.read("messages")
        times = {
            name: np.where(rows[field] < 0, np.nan, rows[field])
            for name, field in (
                ("posted", "sent"),
                ("received", "received"),
                ("started", "started"),
                ("arrived", "arrived"),
            )
        }
        return _frame(
            rows,
            {
                "source": rows["source"],
                "destination": rows["destination"],
                "bytes": rows["bytes"],
                "tag": rows["tag"],
                "collective": rows["collective"].astype(bool),
                **times,
            },
        )


def _words(numbers: Any, words: Sequence[str]) -> Any:
    """A column of words, which takes a byte a row."""
    import numpy as np
    import pandas as pd

    used = np.unique(numbers)
    place = np.zeros(256, dtype=np.int8)
    place[used] = np.arange(len(used))
    return pd.Categorical.from_codes(place[numbers], categories=[words[number] for number in used])


def _frame(rows: Any, columns: dict[str, Any]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    return pd.DataFrame(
        {
            name: np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
            for name, column in columns.items()
        }
    )
