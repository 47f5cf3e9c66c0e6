"""Captures the events of one replay: files of timelines, and the event log."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.analysis.timeline.formats import timeline_output
from tisim.analysis.timeline.playback import EventPlayback
from tisim.analysis.timeline.run import Run

if TYPE_CHECKING:
    from array import array

    from tisim import _core
    from tisim.analysis.timeline.event_log import EventLog
    from tisim.analysis.timeline.event_store import EventStore
    from tisim.analysis.timeline.output import Output
    from tisim.models.settings import Settings

_Path = str | os.PathLike[str]


class EventCapture:
    """Captures the events of one replay.

    Parameters
    ----------
    title
        Title for pictures and files, such as ``lu.A.8 on graphene.xml``.
    settings
        Platform, models and algorithms.
    hosts
        Index of the host of each rank.
    keep
        Whether to keep an event log.
    timelines
        Files to write, in the formats that their suffixes name (`tisim.analysis.timeline.formats`).
    trace
        Where the trace is, if there is one.
    part
        The part of the time that timelines show, in seconds; None: all of it.

    Raises
    ------
    InputError
        When a suffix names no format, or a file cannot be created.
    """

    def __init__(
        self,
        title: str,
        settings: Settings,
        hosts: Sequence[int],
        *,
        keep: bool,
        timelines: Sequence[_Path],
        trace: str | None = None,
        part: tuple[float, float] | None = None,
    ) -> None:
        self._run = Run(title, settings, hosts, trace, part=part)
        outputs: list[Output] = []
        self._store: EventStore | None = None
        try:
            for path in timelines:
                outputs.append(timeline_output(path, self._run))
            if keep:
                from tisim.analysis.timeline.event_store import EventStore

                self._run.wants_links = True
                self._store = EventStore(self._run)
                outputs.append(self._store)
        except BaseException:
            for output in outputs:
                output.discard()
            raise
        self._playback = EventPlayback(outputs, self._run.states)

    @property
    def warnings(self) -> list[str]:
        """What has been noticed and may matter."""
        return self._run.warnings

    def start(self, core: _core.Simulation) -> None:
        """Make a simulation log its events from now on."""
        if self._run.wants_links:
            from tisim.analysis.timeline.links import bins_for

            core.record_load(bins_for(len(self._run.settings.routes.link_bandwidth)))
        self._playback.start(core)

    def take(self, core: _core.Simulation) -> None:
        """Take the events that the simulation has logged so far."""
        self._playback.take(core)

    def finish(self, core: _core.Simulation, finish: array[float]) -> EventLog | None:
        """Take the remaining events and complete the files.

        Parameters
        ----------
        core
            The simulation, which is over.
        finish
            Seconds at which each rank finished.

        Returns
        -------
        EventLog or None
            The event log, if it is kept.

        Raises
        ------
        InputError
            When a file cannot be written.
        """
        run = self._run
        run.end = max(finish)
        if run.wants_links:
            from tisim.analysis.timeline.links import Links

            run.links = Links(core, run.settings, run.end)
        self._playback.finish(core)
        self._playback.commit()
        if self._store is None:
            return None
        import numpy as np

        from tisim.analysis.timeline.event_log import EventLog

        return EventLog(self._store, run, np.array(finish, np.float64))

    def discard(self) -> None:
        """Remove everything: the simulation has failed."""
        self._playback.discard()
