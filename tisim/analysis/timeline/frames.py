"""A run in the formats of other libraries: trees for Hatchet, events for Pipit.

Hatchet (Bhatele et al., 2019) reads a *literal*: nested dicts with a frame, metrics and children.
Pipit (Bhatele et al., 2023) uses a data frame of events, with the names of OTF2's events. Both
formats are created without these libraries, which are needed only for their own objects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypedDict

from tisim.analysis.timeline.columns import BETWEEN_CALLS, STATES
from tisim.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.analysis.timeline.event_log import EventLog

#: Kinds that are not MPI calls: their names stay unchanged.
_NO_CALLS = BETWEEN_CALLS | {"file", "request"}
_NAMES = {"reducescatter": "MPI_Reduce_scatter", "ireducescatter": "MPI_Ireduce_scatter"}
#: POSIX calls.
_POSIX = frozenset(
    {"open", "close", "read", "write", "pread", "pwrite"}
    | {"lseek", "fsync", "stat", "unlink", "mkdir"}
)
_NANOSECONDS = 1e9


class HatchetFrame(TypedDict):
    """Name and type of a node."""

    name: str
    type: str


class HatchetNode(TypedDict):
    """A node of a tree, as read by ``hatchet.GraphFrame.from_literal``."""

    frame: HatchetFrame
    metrics: dict[str, float]
    children: list[HatchetNode]


class Frames:
    """A run in the formats of Hatchet and Pipit.

    Parameters
    ----------
    log
        The events of the run.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def hatchet_literal(self, rank: int | None = None) -> list[HatchetNode]:
        """Return the program, its calls, and their states as a tree.

        Parameters
        ----------
        rank
            Only this rank; all ranks by default.

        Returns
        -------
        list
            One tree for ``hatchet.GraphFrame.from_literal``. Its metrics are ``time (inc)`` and
            ``time``, inclusive and exclusive of children, in seconds, summed over the ranks.

        Raises
        ------
        InputError
            If there is no such rank.
        """
        table = self._log.breakdown.table
        if rank is not None:
            if not 0 <= rank < self._log.run.ranks:
                raise InputError(f"ranks are 0 to {self._log.run.ranks - 1}, not {rank}")
            table = table[table["rank"] == rank]
        sums = table.groupby(["kind", "state"])["seconds"].sum()
        calls: dict[str, list[HatchetNode]] = {}
        for kind, state in sums.index:
            seconds = float(sums[kind, state])
            node = _node(str(state), "state", seconds, seconds)
            calls.setdefault(str(kind), []).append(node)
        nodes = []
        for kind, states in calls.items():
            below = sum(state["metrics"]["time (inc)"] for state in states)
            nodes.append(_node(call_name(kind), "function", below, 0.0, _longest_first(states)))
        whole = sum(node["metrics"]["time (inc)"] for node in nodes)
        return [_node(self._log.run.title, "program", whole, 0.0, _longest_first(nodes))]

    def hatchet(self, rank: int | None = None) -> object:
        """Return `hatchet_literal` as a ``hatchet.GraphFrame``.

        Raises
        ------
        InputError
            If Hatchet is not installed, or there is no such rank.
        """
        literal = self.hatchet_literal(rank)
        return _library("hatchet", "hatchet").GraphFrame.from_literal(literal)

    def pipit_events(self) -> pd.DataFrame:
        """Return every call and message as events.

        Returns
        -------
        DataFrame
            The columns of Pipit: ``Timestamp (ns)``; ``Event Type``, which is ``Enter``, ``Leave``
            or ``Instant``; ``Name``: the call, ``compute`` etc., or ``MpiSend`` and ``MpiRecv``,
            the instants at which a send was posted and at which a message arrived;
            ``Process``, the rank; ``Attributes``, a dict for instants, with `sender` or `receiver`,
            `msg_tag` and `msg_length` (bytes), as in OTF2. Sorted by time.
        """
        import numpy as np
        import pandas as pd

        actions = self._log.timeline
        actions = actions[actions["end"] > actions["start"]].sort_values(
            ["rank", "end"], kind="stable"
        )
        names = actions["kind"].astype(str).map(call_name).to_numpy()
        calls = pd.DataFrame(
            {
                "Timestamp (ns)": np.stack([actions["start"], actions["end"]], axis=1).ravel(),
                "Event Type": np.tile(["Enter", "Leave"], len(actions)),
                "Name": np.repeat(names, 2),
                "Process": np.repeat(actions["rank"].to_numpy(), 2),
                "Attributes": None,
            }
        )
        events = pd.concat([calls, *self._instants()], ignore_index=True)
        events["Timestamp (ns)"] *= _NANOSECONDS
        events = events.sort_values("Timestamp (ns)", kind="stable", ignore_index=True)
        kinds = dict.fromkeys(("Event Type", "Name"), "category")
        events = events.astype({**kinds, "Process": "int32"})
        events.attrs["units"] = {"Timestamp (ns)": "ns"}
        return events

    def pipit(self) -> object:
        """Return `pipit_events` as a ``pipit.Trace``.

        Raises
        ------
        InputError
            If Pipit is not installed.
        """
        events = self.pipit_events()
        return _library("pipit", "pipit from its repository").Trace(None, events)

    def _instants(self) -> list[pd.DataFrame]:
        """Return the events of sends and arrivals; missing times have no event."""
        import pandas as pd

        messages = self._log.messages
        events = []
        for name, time, rank, other, end in (
            ("MpiSend", "posted", "source", "destination", "receiver"),
            ("MpiRecv", "arrived", "destination", "source", "sender"),
        ):
            known = messages[messages[time].notna()]
            peers = (known[column].to_numpy() for column in (other, "tag", "bytes"))
            events.append(
                pd.DataFrame(
                    {
                        "Timestamp (ns)": known[time].to_numpy(),
                        "Event Type": "Instant",
                        "Name": name,
                        "Process": known[rank].to_numpy(),
                        "Attributes": _attributes(end, *peers),
                    }
                )
            )
        return [table for table in events if len(table)]


def call_name(kind: str) -> str:
    """Return the MPI or POSIX function of a kind of action; else the kind itself."""
    if kind in _NO_CALLS or kind in _POSIX or kind in STATES:
        return kind
    return _NAMES.get(kind, f"MPI_{kind.capitalize()}")


def _attributes(
    end: str, peer: NDArray[np.int32], tag: NDArray[np.int32], size: NDArray[np.int64]
) -> list[dict[str, int]]:
    rows = zip(peer.tolist(), tag.tolist(), size.tolist(), strict=True)
    return [{end: peer, "msg_tag": tag, "msg_length": size} for peer, tag, size in rows]


def _node(
    name: str, kind: str, inclusive: float, own: float, children: list[HatchetNode] | None = None
) -> HatchetNode:
    metrics = {"time (inc)": inclusive, "time": own}
    return {"frame": {"name": name, "type": kind}, "metrics": metrics, "children": children or []}


def _longest_first(nodes: list[HatchetNode]) -> list[HatchetNode]:
    return sorted(nodes, key=lambda node: -node["metrics"]["time (inc)"])


def _library(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is required but not installed: install {package}") from None
