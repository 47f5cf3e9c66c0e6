"""The run whose events are logged, and what outputs are made of them."""

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
    """The run whose events are logged, as far as outputs need to know it."""

    title: str  # for pictures and files, such as ``lu.A.8 on graphene.xml``
    settings: Settings
    hosts: Sequence[int]  # the index of the host of each rank
    trace: str | None = None
    # The changes to the machine and the mapping, such as the bandwidth: ``x10``.
    changes: Mapping[str, str] = field(default_factory=dict)
    states: _core.States | None = None  # derives states, if `send_states_to` asked for them
    wants_links: bool = False  # whether an output needs `links`
    end: float = 0.0  # simulated seconds, once the simulation is over
    links: Links | None = None  # known then too, with `wants_links`
    # The seconds from and up to which timelines show what happens, in formats that can.
    part: tuple[float, float] | None = None
    # Further lanes, which are not ranks: streams of GPUs, with the rank that each belongs to, its
    # name, and what they did, if an output wants to know it.
    lanes: Sequence[tuple[int, str]] = ()
    wants_lanes: bool = False
    streams: Streams | None = None
    warnings: list[str] = field(default_factory=list)  # what outputs have noticed
    errors: list[InputError] = field(default_factory=list)  # why outputs have written nothing

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
    """Makes something of the events of a run: a file of timelines, or the event log.

    All methods but `commit` and `discard` are called on the thread of `EventCapture`.
    """

    def listeners(self) -> Sequence[_core.Listener]:
        """The listeners of the core that the events are played to."""
        ...

    def drain(self, last: bool) -> None:
        """Store what the listeners have made so far; `last`: complete the result."""
        ...

    def commit(self) -> None:
        """Keep the result: all outputs have succeeded."""
        ...

    def discard(self) -> None:
        """Remove everything: the simulation or an output has failed."""
        ...


class FileOutput:
    """An output of one or several files, all of which appear in the end, or none."""

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
    """Files that listeners of the core write, one each."""

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
    """A table of what streams of GPUs did, beside those of actions and messages."""

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
    """True if a .csv file is to be the timed trace: each action with its duration."""
    return path.name.lower().endswith(".timed.csv")


def files_of(path: str | os.PathLike[str], *, streams: bool = False) -> list[Path]:
    """The files that a timeline consists of: the one that is named, and those beside it.

    ``run.csv`` goes with ``run.messages.csv`` and, with `streams` of GPUs, ``run.streams.csv``,
    ``run.parquet`` likewise, ``run.prv`` with ``run.pcf`` and ``run.row``.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".prv":
        return [target.with_suffix(each) for each in (".prv", ".pcf", ".row")]
    if suffix == ".parquet" or (suffix == ".csv" and not is_timed(target)):
        beside = ["messages", *(["streams"] if streams else [])]
        return [target, *(target.with_name(f"{target.stem}.{name}{suffix}") for name in beside)]
    return [target]
