"""The run whose events are logged, and the outputs derived from them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import OutputFile

if TYPE_CHECKING:
    from tisim.analysis.timeline.links import Links
    from tisim.analysis.timeline.streams import Streams
    from tisim.simulation.settings import Settings


@dataclass
class Run:
    """The run whose events are logged, as needed by outputs."""

    title: str  # for pictures and files, such as ``lu.A.8 on graphene.xml``
    settings: Settings
    hosts: Sequence[int]  # the index of the host of each rank
    trace: str | None = None
    # The changes to the machine and the mapping, such as the bandwidth: ``x10``.
    changes: Mapping[str, str] = field(default_factory=dict)
    states: _core.States | None = None  # derives states, if `send_states_to` asked for them
    wants_links: bool = False  # whether an output needs `links`
    end: float = 0.0  # simulated seconds, once the simulation is over
    links: Links | None = None  # known at the end too, with `wants_links`
    # The interval in seconds that timelines show, in formats that support it.
    part: tuple[float, float] | None = None
    # Further lanes, which are not ranks: GPU streams, with the rank that each belongs to, its name,
    # and their activities, if an output needs them.
    lanes: Sequence[tuple[int, str]] = ()
    wants_lanes: bool = False
    streams: Streams | None = None
    warnings: list[str] = field(default_factory=list)  # observations of outputs
    errors: list[InputError] = field(default_factory=list)  # of outputs that wrote nothing

    def send_states_to(self, sink: _core.StateSink) -> None:
        """Send the states of all ranks to a sink (`tisim._core.StateSink`)."""
        if self.states is None:
            self.states = _core.States()
        self.states.add(sink)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.hosts)

    def host_name(self, rank: int) -> str:
        """Name of the host of a rank."""
        return self.settings.host_name(self.hosts[rank])


class Output(Protocol):
    """Derives a result from the events of a run: a timeline file, or the event log.

    All methods except `commit` and `discard` are called on the thread of `EventCapture`.
    """

    def listeners(self) -> Sequence[_core.Listener]:
        """Return the core's listeners to which the events are played."""
        ...

    def drain(self, last: bool) -> None:
        """Store the listeners' output so far; `last`: complete the result."""
        ...

    def commit(self) -> None:
        """Keep the result: all outputs have succeeded."""
        ...

    def discard(self) -> None:
        """Remove all output: the simulation or an output has failed."""
        ...


class FileOutput:
    """An output of one or several files, which appear together at the end, or not at all."""

    def __init__(self, *paths: str | os.PathLike[str], random_access: bool = False) -> None:
        self._files: list[OutputFile] = []
        try:
            for path in paths:
                self._files.append(OutputFile(path, random_access=random_access))
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        for file in self._files:
            file.commit()

    def discard(self) -> None:
        for file in self._files:
            file.discard()


class WrittenByCore(FileOutput):
    """Files written by listeners of the core, one each."""

    def __init__(self, files: Mapping[str | os.PathLike[str], _core.Writer]) -> None:
        super().__init__(*files)
        self._writers = [*files.values()]

    def listeners(self) -> list[_core.Writer]:
        return self._writers

    def drain(self, last: bool) -> None:
        for file, writer in zip(self._files, self._writers, strict=True):
            if written := writer.take(last):
                file.write(written)
            if last:
                file.complete()


class StreamsFile(FileOutput):
    """A table of GPU stream activities, next to those of actions and messages."""

    def __init__(self, path: Path, run: Run) -> None:
        super().__init__(path)
        self._run = run
        run.wants_lanes = True

    def listeners(self) -> list[_core.Listener]:
        return []

    def drain(self, last: bool) -> None:
        if not last:
            return
        assert self._run.streams is not None
        (file,), table = self._files, self._run.streams.table
        if file.path.suffix.lower() == ".csv":
            file.write(table.to_csv(index=False, float_format="%.12f", lineterminator="\n"))
        else:
            with file.writing():
                table.to_parquet(file.stream, index=False)
        file.complete()


def is_timed(path: Path) -> bool:
    """Return True for the suffix of a timed trace, which lists each action with its duration."""
    return path.name.lower().endswith(".timed.csv")


def files_of(path: str | os.PathLike[str], *, streams: bool = False) -> list[Path]:
    """Return the files of a timeline: the given one, and those next to it.

    ``run.csv`` comes with ``run.messages.csv`` and, with `streams` of GPUs, ``run.streams.csv``;
    ``run.parquet`` likewise; ``run.prv`` with ``run.pcf`` and ``run.row``.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".prv":
        return [target.with_suffix(each) for each in (".prv", ".pcf", ".row")]
    if suffix == ".parquet" or (suffix == ".csv" and not is_timed(target)):
        beside = ["messages", *(["streams"] if streams else [])]
        return [target, *(target.with_name(f"{target.stem}.{name}{suffix}") for name in beside)]
    return [target]
