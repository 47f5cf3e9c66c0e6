"""Writes run files while a replay runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file.writer import RunDescription, RunFileWriter
from tisim.errors import InputError
from tisim.platform import Platform

if TYPE_CHECKING:
    from tisim import _core
    from tisim.analysis.timeline.run import Run
    from tisim.config.platform_like import PlatformLike


class RunFileOutput:
    """Writes states, actions and messages in blocks, and their sums once the run is over.

    Parameters
    ----------
    path
        The file.
    run
        What is simulated.

    Raises
    ------
    InputError
        When a file cannot be made.
    """

    def __init__(self, path: Path, run: Run) -> None:
        self._run = run
        self._writer = RunFileWriter(path, run.ranks)
        for sink in self._writer.sinks:
            run.send_states_to(sink)
        self._xml: str | None = None
        self._has_begun = False

    def listeners(self) -> list[_core.Listener]:
        return self._writer.listeners

    def drain(self, last: bool) -> None:
        if not self._has_begun:
            # By the thread that writes, while the simulation goes on.
            self._xml = _xml_of(self._run.settings.platform)
            self._has_begun = True
        self._writer.drain(last)
        if last:
            self._writer.finish(self._description())

    def commit(self) -> None:
        self._writer.commit()

    def discard(self) -> None:
        self._writer.discard()

    def _description(self) -> RunDescription:
        run = self._run
        used = list(dict.fromkeys(int(host) for host in run.hosts))
        place = {host: number for number, host in enumerate(used)}
        return RunDescription(
            title=run.title,
            ranks=run.ranks,
            end=run.end,
            hosts=[run.settings.host_name(host) for host in used],
            host_of=[place[int(host)] for host in run.hosts],
            trace=run.trace,
            config=run.settings.config.as_dict(),
            platform_xml=self._xml,
        )


def _xml_of(platform: PlatformLike) -> str | None:
    """The platform as a file; None where the format cannot say it, or nothing describes it."""
    if not isinstance(platform, Platform):
        return None
    try:
        return platform.to_xml()
    except InputError:
        return None
