"""Plays the events of a running simulation to outputs, on a thread of their own."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim import _core

if TYPE_CHECKING:
    from tisim.analysis.timeline.output import Output

# Events that the core collects before it hands them over, and how many such batches may wait for
# the outputs: few, so that memory stays small, yet enough to keep both threads busy.
_BATCH = 16_384
_WAITING = 2


class EventPlayback:
    """Plays the events of a running simulation to outputs, on a thread of their own.

    Parameters
    ----------
    outputs
        The outputs.
    states
        Derives the states of ranks, for the outputs that take states; None: there are none.
    """

    def __init__(self, outputs: Sequence[Output], states: _core.States | None) -> None:
        self._outputs = outputs
        self._playback = _core.Playback()
        if states is not None:
            self._playback.add(states)
        for output in outputs:
            for listener in output.listeners():
                self._playback.add(listener)
        self._queue: queue.Queue[_core.Records | None] = queue.Queue(_WAITING)
        # Records that have been played, whose memory the core uses again.
        self._played: deque[_core.Records] = deque()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tisim events", daemon=True)

    def start(self, core: _core.Simulation) -> None:
        """Make a simulation log its events from now on."""
        core.record(_BATCH)
        self._thread.start()

    def take(self, core: _core.Simulation) -> None:
        """Take the events that the simulation has logged so far."""
        spare = self._played.popleft() if self._played else None
        self._pass_on(core.take_records(False, spare))

    def finish(self, core: _core.Simulation) -> None:
        """Take the remaining events, and wait until the outputs are complete.

        Raises
        ------
        InputError
            When a file cannot be written.
        """
        self._pass_on(core.take_records(True))
        self._stop()
        if self._error is not None:
            raise self._error
        for output in self._outputs:
            output.drain(True)

    def commit(self) -> None:
        """Keep what the outputs have made."""
        for output in self._outputs:
            output.commit()

    def discard(self) -> None:
        """Stop, and remove what the outputs have made."""
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
                continue  # drain the queue, so that the simulation does not wait for room in it
            try:
                self._playback.play(events)
                self._played.append(events)
                for output in self._outputs:
                    output.drain(False)
            except BaseException as error:
                self._error = error
