"""What one replay records: where it goes, and what is known afterwards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tisim.recording.formats import timeline_output
from tisim.recording.links import Links, bins_for
from tisim.recording.recorded import Recorded
from tisim.recording.recording import Output, Recording
from tisim.recording.scene import Scene
from tisim.recording.spool import Spool

if TYPE_CHECKING:
    from tisim.models.settings import Settings

_Path = str | os.PathLike[str]


class Session:
    """What one replay records.

    Parameters
    ----------
    title
        What is simulated, in words.
    settings
        The same as the core knows it.
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
        self,
        title: str,
        settings: Settings,
        hosts: Sequence[int],
        *,
        keep: bool,
        timelines: Sequence[_Path],
    ) -> None:
        self._scene = Scene(title, settings, hosts)
        outputs: list[Output] = []
        self._spool: Spool | None = None
        try:
            for path in timelines:
                outputs.append(timeline_output(path, self._scene))
            if keep:
                self._scene.wants_links = True
                self._spool = Spool(self._scene)
                outputs.append(self._spool)
        except BaseException:
            for output in outputs:
                output.discard()
            raise
        self._recording = Recording(outputs, self._scene.states)

    def start(self, core: Any) -> None:
        """Make a simulation record from now on."""
        if self._scene.wants_links:
            core.record_load(bins_for(len(self._scene.settings.routes.link_bandwidth)))
        self._recording.start(core)

    def take(self, core: Any) -> None:
        """Take what has been recorded up to now."""
        self._recording.take(core)

    def finish(self, core: Any, finish: Any) -> Recorded | None:
        """Take the rest and complete the files.

        Parameters
        ----------
        core
            The simulation, which is over.
        finish
            Seconds at which each rank ended, shape (ranks,).

        Returns
        -------
        Recorded
            What is known of the simulation, if it is kept.
        """
        scene = self._scene
        scene.end = float(finish.max())
        if scene.wants_links:
            scene.links = Links(core, scene.settings, scene.end)
        self._recording.finish(core)
        self._recording.commit()
        return None if self._spool is None else Recorded(self._spool, scene, finish)

    def discard(self) -> None:
        """The simulation has failed: leave nothing behind."""
        self._recording.discard()
