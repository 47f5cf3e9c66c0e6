"""Captures the events of one replay: timeline files and the event log."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.formats import timeline_output
from tisim.analysis.timeline.run import Run, StreamsFile, files_of

if TYPE_CHECKING:
    from array import array

    from tisim.analysis.timeline.event_log import EventLog
    from tisim.analysis.timeline.event_store import EventStore
    from tisim.analysis.timeline.run import Output
    from tisim.analysis.timeline.streams import Streams
    from tisim.errors import InputError
    from tisim.simulation.settings import Settings

# Number of events that the core collects per batch, and maximum number of batches waiting for the
# outputs: small to save memory, yet large enough to keep both threads busy.
_BATCH = 16_384
_WAITING = 2


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
        Files to write, in the formats of their suffixes (`tisim.analysis.timeline.formats`).
    trace
        Path of the trace, if there is one.
    changes
        Changes of the machine and the mapping, by name; None: none.
    part
        The interval that timelines show, in seconds; None: all of the time.
    lanes
        GPU streams: the rank that each belongs to, and its name.

    Raises
    ------
    InputError
        If a suffix is unknown, or a file cannot be created.
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
        changes: Mapping[str, str] | None = None,
        part: tuple[float, float] | None = None,
        lanes: Sequence[tuple[int, str]] = (),
    ) -> None:
        self._run = Run(title, settings, hosts, trace, changes or {}, part=part, lanes=lanes)
        self._outputs: list[Output] = []
        self._store: EventStore | None = None
        try:
            for path in timelines:
                self._outputs.append(timeline_output(path, self._run))
                if lanes and len(files := files_of(path, streams=True)) > len(files_of(path)):
                    self._outputs.append(StreamsFile(files[-1], self._run))
            if keep:
                from tisim.analysis.timeline.event_store import EventStore

                self._run.wants_links = True
                self._run.wants_lanes = bool(lanes)
                self._store = EventStore(self._run)
                self._outputs.append(self._store)
        except BaseException:
            for output in self._outputs:
                output.discard()
            raise
        self._playback = _core.Playback()
        if self._run.states is not None:
            self._playback.add(self._run.states)
        for output in self._outputs:
            for listener in output.listeners():
                self._playback.add(listener)
        # The events are played on a separate thread.
        self._queue: queue.Queue[_core.Records | None] = queue.Queue(_WAITING)
        # Played batches, whose memory the core reuses.
        self._played: deque[_core.Records] = deque()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tisim events", daemon=True)

    @property
    def warnings(self) -> list[str]:
        """Observations that may matter."""
        return self._run.warnings

    @property
    def errors(self) -> list[InputError]:
        """Errors of outputs that have written nothing, once the simulation is over."""
        return self._run.errors

    @property
    def wants_lanes(self) -> bool:
        """True if an output shows GPU streams."""
        return self._run.wants_lanes

    def add_streams(self, streams: Streams) -> None:
        """Set the activities of GPU streams."""
        self._run.streams = streams

    def start(self, core: _core.Simulation) -> None:
        """Make a simulation log its events from here on."""
        if self._run.wants_links:
            from tisim.analysis.timeline.links import bins_for

            core.record_load(bins_for(len(self._run.settings.routes.link_bandwidth)))
        core.record(_BATCH)
        self._thread.start()

    def take(self, core: _core.Simulation) -> None:
        """Take the events logged by the simulation since the last call."""
        spare = self._played.popleft() if self._played else None
        self._pass_on(core.take_records(False, spare))

    def finish(self, core: _core.Simulation, finish: array[float]) -> EventLog | None:
        """Take the remaining events and complete the files.

        Parameters
        ----------
        core
            The finished simulation.
        finish
            Seconds at which each rank finished.

        Returns
        -------
        EventLog or None
            The event log, if it is kept.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        run = self._run
        run.end = max(finish)
        if run.wants_lanes:  # GPUs may continue after the last rank
            run.end = max(run.end, core.now)
        if run.wants_links:
            from tisim.analysis.timeline.links import Links

            run.links = Links(core, run.settings, run.end)
        self._pass_on(core.take_records(True))
        self._stop()
        if self._error is not None:
            raise self._error
        for output in self._outputs:
            output.drain(True)
        for output in self._outputs:
            output.commit()
        if self._store is None:
            return None
        import numpy as np

        from tisim.analysis.timeline.event_log import EventLog

        return EventLog(self._store, run, np.array(finish, np.float64))

    def discard(self) -> None:
        """Remove all outputs: the simulation has failed."""
        self._stop()
        for output in self._outputs:
            output.discard()

    def _pass_on(self, events: _core.Records) -> None:
        if self._error is not None:
            raise self._error
        self._queue.put(events)

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (events := self._queue.get()) is not None:
            if self._error is not None:
                continue  # drain the queue, so that the simulation does not block on it
            try:
                self._playback.play(events)
                self._played.append(events)
                for output in self._outputs:
                    output.drain(False)
            except BaseException as error:
                self._error = error
