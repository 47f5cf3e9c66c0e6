"""What a replay gives."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tisim.errors import TisimError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.timeline.breakdown import Breakdown
    from tisim.timeline.critical_path import CriticalPath
    from tisim.timeline.event_log import EventLog
    from tisim.timeline.links import Links

#: Columns of `Result.ranks`, in order.
COLUMNS = (
    "rank",
    "host",
    "finish",
    "compute",
    "communication",
    "actions",
    "bytes_sent",
    "messages_sent",
)

# So many ranks are written at once.
_PIECE = 4096


class Result:
    """The outcome of a replay.

    Attributes
    ----------
    hosts
        Name of the host of each rank.
    finish
        Seconds at which each rank has done its last action, shape (ranks,).
    compute, communication, other
        Seconds that each rank spent computing, in MPI calls, and in sleeps and custom actions;
        together they are its `finish`. Shape (ranks,).
    rank_actions, bytes_sent, messages_sent
        Actions of each rank; bytes and messages that it sent, those inside collectives
        included. Shape (ranks,).
    wall_time
        Seconds that reading the files and simulating took.
    trace, platform
        What was replayed, and on what: names of files.
    config
        The configuration that was used, canonical key to value.
    warnings
        What was noticed and may matter.
    event_log
        What happened, if the replay kept it (``replay(..., event_log=True)``); else None.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        hosts: Sequence[str],
        *,
        start: float = 0.0,
        wall_time: float = 0.0,
        trace: str = "",
        platform: str = "",
        config: Mapping[str, object],
        warnings: Sequence[str] = (),
    ) -> None:
        self.hosts = list(hosts)
        self.finish: NDArray[np.float64] = columns["finish"] - start if start else columns["finish"]
        self.compute: NDArray[np.float64] = columns["compute"]
        self.other: NDArray[np.float64] = columns["other"]
        self.communication: NDArray[np.float64] = self.finish - self.compute - self.other
        self.rank_actions: NDArray[np.int64] = columns["actions"]
        self.bytes_sent: NDArray[np.int64] = columns["bytes_sent"]
        self.messages_sent: NDArray[np.int64] = columns["messages_sent"]
        self.wall_time = wall_time
        self.trace = trace
        self.platform = platform
        self.config = dict(config)
        self.warnings = list(warnings)
        self.event_log: EventLog | None = None

    @property
    def simulated_time(self) -> float:
        """Seconds until the last rank has finished."""
        return float(self.finish.max())

    @property
    def actions(self) -> int:
        """Actions of all ranks."""
        return int(self.rank_actions.sum())

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """One row a rank, with the columns `rank`, `host`, `finish`, ... (`COLUMNS`)."""
        import pandas as pd

        return pd.DataFrame(
            {
                "rank": range(len(self.hosts)),
                "host": self.hosts,
                "finish": self.finish,
                "compute": self.compute,
                "communication": self.communication,
                "actions": self.rank_actions,
                "bytes_sent": self.bytes_sent,
                "messages_sent": self.messages_sent,
            }
        )

    @property
    def timeline(self) -> pd.DataFrame:
        """What every rank did: one row an action. Like all that follows it needs the event log."""
        return self.require_event_log().timeline

    @property
    def breakdown(self) -> Breakdown:
        """Where the time of each rank went, by state and by kind of action."""
        return self.require_event_log().breakdown

    @property
    def states(self) -> pd.DataFrame:
        """What every rank was in at every time: one row a state, in the order of their ends.

        Columns: `rank`, `state`, `kind` of action, `start`, `end` (s), `cause`, the rank that
        was waited for (-1: none), and `line`, of the action in the trace.
        """
        return self.require_event_log().states

    @property
    def messages(self) -> pd.DataFrame:
        """Every message: one row each, in the order in which their receivers went on."""
        return self.require_event_log().messages

    @property
    def waits(self) -> pd.DataFrame:
        """Who waited for whom, the longest first.

        One row for each `rank`, `cause` (the rank that was waited for), `state` (the pattern, such
        as `late sender`) and `kind` of action: `seconds` that the rank waited, and how often
        (`count`).
        """
        return self.require_event_log().waits

    @property
    def matrix(self) -> pd.DataFrame:
        """Who sent how much to whom: one row a pair of ranks that has exchanged messages.

        Columns: `source`, `destination`, `bytes`, `messages`, and those among them that belong to
        collectives, `collective_bytes` and `collective_messages`. The whole matrix of few ranks:
        ``matrix.pivot(index="source", columns="destination", values="bytes")``.
        """
        return self.require_event_log().matrix

    @property
    def critical_path(self) -> CriticalPath:
        """What the simulated time consists of, and what better machines could gain."""
        return self.require_event_log().critical_path

    @property
    def links(self) -> Links:
        """What each link carried over time."""
        return self.require_event_log().links

    def require_event_log(self) -> EventLog:
        """The event log.

        Raises
        ------
        TisimError
            When the replay kept none.
        """
        if self.event_log is None:
            raise TisimError("the result has no event log: replay with event_log=True")
        return self.event_log

    @property
    def recorded(self) -> EventLog | None:
        """Deprecated spelling of `event_log`."""
        _warn_of_old_name("recorded", "event_log")
        return self.event_log

    def known(self) -> EventLog:
        """Deprecated spelling of `require_event_log`."""
        _warn_of_old_name("known()", "require_event_log()")
        return self.require_event_log()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers, lists and dicts: what `to_json` writes.

        With `breakdown` if there is an event log (`tisim.timeline.EventLog.to_dict`).
        """
        rows = self._rows(0, len(self.hosts))
        return {**self._summary(), "ranks": [dict(zip(COLUMNS, row, strict=True)) for row in rows]}

    def to_json(self) -> str:
        """The result as JSON, numbers in full precision."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """What `to_json` returns, a piece at a time: with a million ranks it is long."""
        yield json.dumps(self._summary(), indent=1).removesuffix("\n}") + ',\n "ranks": ['
        fields = ",\n".join(f'   "{name}": %s' for name in COLUMNS)
        # As json.dumps(..., indent=1) writes them, in a tenth of its time.
        form = f"\n  {{\n{fields}\n  }}"
        for first in range(0, len(self.hosts), _PIECE):
            rows = self._rows(first, first + _PIECE)
            texts = (form % (row[0], json.dumps(row[1]), *row[2:]) for row in rows)
            yield ("," if first else "") + ",".join(texts)
        yield "\n ]\n}"

    def _summary(self) -> dict[str, Any]:
        """What is said of the whole."""
        from tisim import __version__

        summary = {
            "tisim": __version__,
            "trace": self.trace,
            "platform": self.platform,
            "simulated_time": self.simulated_time,
            "actions": self.actions,
            "wall_time": self.wall_time,
            "config": self.config,
        }
        if self.event_log is not None:
            summary["breakdown"] = self.event_log.to_dict()
        return summary

    def _rows(self, first: int, end: int) -> Iterator[tuple[Any, ...]]:
        """`COLUMNS` of some ranks, as plain numbers and texts."""
        part = slice(first, end)
        columns = (
            self.finish,
            self.compute,
            self.communication,
            self.rank_actions,
            self.bytes_sent,
            self.messages_sent,
        )
        hosts = self.hosts[part]
        values = (column[part].tolist() for column in columns)
        return zip(range(first, first + len(hosts)), hosts, *values, strict=True)

    def __repr__(self) -> str:
        return (
            f"<Result: {self.simulated_time:.9g} s simulated, {len(self.hosts)} ranks, "
            f"{self.actions:,} actions>"
        )


def _warn_of_old_name(old: str, new: str) -> None:
    warnings.warn(f"Result.{old} is deprecated; use Result.{new}", DeprecationWarning, stacklevel=3)
