"""Where the time of each rank went."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.names import STATES
from tisim.analysis.timeline.units import with_units

if TYPE_CHECKING:
    import pandas as pd


class Breakdown:
    """Where the time of each rank went, by state and by kind of action.

    A rank is in one state at a time, from 0 to its end: the states of a rank add up to its
    finish time. In a wait state (`tisim.analysis.timeline.names.WAITS`) it can do nothing because
    another rank has not called yet.

    Parameters
    ----------
    profile
        Sums over the events of the run.
    ranks
        Number of ranks.
    """

    def __init__(self, profile: _core.Profile, ranks: int) -> None:
        self._profile = profile
        self._ranks = ranks

    @cached_property
    def table(self) -> pd.DataFrame:
        """Seconds by `rank`, `kind` of action and `state`: the rows that are not zero."""
        import numpy as np
        import pandas as pd

        kinds = _core.kind_names()
        parts = []
        for state, kind, seconds in self._profile.columns():
            (used,) = np.nonzero(seconds)
            parts.append(
                pd.DataFrame(
                    {
                        "rank": used,
                        "kind": kinds[kind],
                        "state": STATES[state],
                        "seconds": seconds[used],
                    }
                )
            )
        empty = pd.DataFrame({"rank": [], "kind": [], "state": [], "seconds": []})
        return with_units(pd.concat(parts, ignore_index=True) if parts else empty)

    @cached_property
    def by_rank(self) -> pd.DataFrame:
        """Seconds, a row a rank and a column a state."""
        import numpy as np
        import pandas as pd

        sums = np.zeros((self._ranks, len(STATES)))
        for state, _, seconds in self._profile.columns():
            sums[:, state] += seconds
        index = pd.RangeIndex(self._ranks, name="rank")
        return with_units(pd.DataFrame(sums, index=index, columns=list(STATES)))

    @cached_property
    def by_kind(self) -> pd.DataFrame:
        """Sums over all ranks: a row a kind of action, its `actions`, and seconds by state.

        Ordered by `seconds`, the most expensive kind first.
        """
        import numpy as np
        import pandas as pd

        kinds = _core.kind_names()
        counts = {kind: int(of_rank.sum()) for kind, of_rank in self._profile.counts().items()}
        sums = {kind: np.zeros(len(STATES)) for kind in counts}
        for state, kind, seconds in self._profile.columns():
            sums.setdefault(kind, np.zeros(len(STATES)))[state] += seconds.sum()
        order = sorted(sums, key=lambda kind: (-sums[kind].sum(), kind))
        index = pd.Index([kinds[kind] for kind in order], name="kind")
        frame = pd.DataFrame([sums[kind] for kind in order], index=index, columns=list(STATES))
        frame.insert(0, "seconds", frame.sum(axis=1))
        frame.insert(0, "actions", [counts.get(kind, 0) for kind in order])
        return with_units(frame)

    def __repr__(self) -> str:
        return f"<Breakdown of {self._ranks} ranks: .by_rank, .by_kind, .table>"
