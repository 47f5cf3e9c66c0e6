"""What one replay records: where it goes, and what is known afterwards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tisim.recording.formats import timeline_output
from tisim.recording.recorded import Recorded
from tisim.recording.recording import Output, Recording
from tisim.recording.spool import Spool

if TYPE_CHECKING:
    from tisim.models.settings import Settings

_Path = str | os.PathLike[str]


class Session:
    """What one replay records.

    Parameters
    ----------
    settings
        What is simulated.
    hosts
        Index of the host of each rank.
    keep
        Whether everything is kept for `Recorded`.
    timelines
        Files to write, whose suffixes say how (`tisim.recording.formats`).

    Raises
    ------
    InputError
        When a suffix says nothing, or a file cannot be made.
    """

    def __init__(
        self, settings: Settings, hosts: Sequence[int], keep: bool, timelines: Sequence[_Path]
    ) -> None:
        self._settings = settings
        self._hosts = hosts
        outputs: list[Output] = []
        try:
            for path in timelines:
                outputs.append(timeline_output(path, settings, hosts))
            self._spool = Spool(len(hosts)) if keep else None
        except BaseException:
            for output in outputs:
                output.discard()
            raise
        if self._spool is not None:
            outputs.append(self._spool)
        self._recording = Recording(outputs)

    def start(self, core: Any) -> None:
        """Make a simulation record from now on."""
        self._recording.start(core)

    def take(self, core: Any) -> None:
        """Take what has been recorded up to now."""
        self._recording.take(core)

    def finish(self, core: Any, finish: Any) -> Recorded | None:
        """Take the rest and complete the files; what is known of the simulation if it is kept."""
        self._recording.finish(core)
        self._recording.commit()
        if self._spool is None:
            return None
        return Recorded(self._spool, self._settings, self._hosts, finish)

    def discard(self) -> None:
        """The simulation has failed: leave nothing behind."""
        self._recording.discard()
