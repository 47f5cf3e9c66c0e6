"""What results with an event log know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.errors import TisimError

if TYPE_CHECKING:
    import pandas as pd

    from tisim.analysis.timeline.critical_path import CriticalPath
    from tisim.analysis.timeline.event_log import Breakdown, EventLog
    from tisim.analysis.timeline.frames import Frames
    from tisim.analysis.timeline.links import Links
    from tisim.analysis.viz.plots import Plots


class LoggedResult:
    """The part of `tisim.Result` that needs the event log: tables, pictures, other libraries.

    Attributes
    ----------
    event_log
        What happened, if the replay kept it; else None.
    """

    event_log: EventLog | None

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
        collectives, `collective_bytes` and `collective_messages`.
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

    @property
    def frames(self) -> Frames:
        """The run as Hatchet and Pipit read it: `frames.hatchet()`, `frames.pipit()`."""
        from tisim.analysis.timeline.frames import Frames

        return Frames(self.require_event_log())

    @property
    def plot(self) -> Plots:
        """Pictures on axes of matplotlib: `plot.gantt()`, `breakdown()`, `matrix()`, ..."""
        from tisim.analysis.viz.plots import Plots

        return Plots(self.require_event_log())
