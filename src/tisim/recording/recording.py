"""Takes what a simulation records, while it goes on, and hands it to outputs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from typing import Any, Protocol

from tisim import _core

# Records that the core collects before it hands them over, and how often it may do so before the
# outputs have dealt with the first: few, so that memory stays small, yet enough to keep both busy.
_ROOM = 16_384
_AHEAD = 2


class Output(Protocol):
    """Makes something of what happened."""

    def listeners(self) -> Sequence[Any]:
        """What takes part in the playback (`tisim._core.Listener`)."""
        ...

    def drain(self, last: bool) -> None:
        """Deal with what has been played; `last`: nothing more will be, complete the result."""
        ...

    def commit(self) -> None:
        """Everything went well, for all outputs: keep the result."""
        ...

    def discard(self) -> None:
        """It did not: leave nothing behind."""
        ...


class Recording:
    """What a simulation records, on its way to outputs, which work on a thread of their own.

    Parameters
    ----------
    outputs
        Who is told.
    states
        Names the states of ranks, for those of them who take states (`tisim._core.States`, or
        None).
    """

    def __init__(self, outputs: Sequence[Output], states: Any) -> None:
        self._outputs = outputs
        self._playback = _core.Playback()
        if states is not None:
            self._playback.add(states)
        for output in outputs:
            for listener in output.listeners():
                self._playback.add(listener)
        self._queue: queue.Queue[Any] = queue.Queue(_AHEAD)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tisim recording", daemon=True)

    def start(self, core: Any) -> None:
        """Make a simulation record from now on."""
        core.record(_ROOM)
        self._thread.start()

    def take(self, core: Any) -> None:
        """Take what has been recorded up to now."""
        self._pass_on(core.take_records(False))

    def finish(self, core: Any) -> None:
        """Take the rest, and wait until all of it has been dealt with.

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
        """Leave nothing behind."""
        self._stop()
        for output in self._outputs:
            output.discard()

    def _pass_on(self, records: Any) -> None:
        if self._error is not None:
            raise self._error
        self._queue.put(records)

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (records := self._queue.get()) is not None:
            if self._error is not None:
                continue  # nobody needs it any more, but the simulation must not wait
            try:
                self._playback.play(records)
                for output in self._outputs:
                    output.drain(False)
            except BaseException as error:
                self._error = error
