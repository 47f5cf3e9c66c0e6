"""OTF2 traces of small programs, written with the format's own library, and their import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import otf2
from otf2 import events
from otf2.enums import GroupType, LocationType, MetricMode, Paradigm, Type

from tests.support import rank_calls
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

# Ticks per second of the traces written here, and ticks between two events.
TICKS, STEP = 1_000_000_000, 10


class Archive:
    """An OTF2 archive of single-threaded ranks, as Score-P writes it."""

    def __init__(self, writer: otf2.writer.Writer, ranks: int, counter: str | None) -> None:
        self._writer = writer
        self.known = writer.definitions
        node = self.known.system_tree_node("node")
        self._locations = []
        for rank in range(ranks):
            group = self.known.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            location = self.known.location("Master", type=LocationType.CPU_THREAD, group=group)
            self._locations.append(location)
        members = tuple(self._locations)
        self.known.group("", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=members)
        self.world = self.communicator("MPI_COMM_WORLD", range(ranks))
        self._regions: dict[str, object] = {}
        self.metric = None
        if counter is not None:
            member = self.known.metric_member(
                counter, metric_mode=MetricMode.ACCUMULATED_START, value_type=Type.UINT64
            )
            self.metric = self.known.metric_class((member,))

    def communicator(self, name: str, ranks: range | tuple[int, ...]) -> object:
        members = tuple(self._locations[rank] for rank in ranks)
        group = self.known.group("", GroupType.COMM_GROUP, Paradigm.MPI, members=members)
        return self.known.comm(name, group)

    def region(self, name: str) -> object:
        if name not in self._regions:
            paradigm = Paradigm.MPI if name.startswith("MPI_") else Paradigm.COMPILER
            self._regions[name] = self.known.region(name, paradigm=paradigm)
        return self._regions[name]

    def rank(self, rank: int) -> RankEvents:
        return RankEvents(self, self._writer.event_writer_from_location(self._locations[rank]))


class RankEvents:
    """Writes the events of one rank; its clock advances by a step per event."""

    def __init__(self, archive: Archive, writer: object) -> None:
        self._archive = archive
        self._writer = writer
        self._time = 0
        self._counted = 0

    def event(self, kind: str, *arguments: object) -> None:
        self._time += STEP
        self._writer.write(getattr(events, kind)(self._time, *arguments))  # type: ignore[attr-defined]

    def at(self, time: int, kind: str, *arguments: object) -> None:
        """Write an event at the given time, in ticks."""
        self._time = time - STEP
        self.event(kind, *arguments)

    def compute(self, ticks: int, counted: int = 0) -> None:
        self._time += ticks - STEP
        self._counted += counted

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        self.event("Enter", self._archive.region(name))
        yield
        self.event("Leave", self._archive.region(name))

    def count(self) -> None:
        self.event("Metric", self._archive.metric, [self._counted])

    def run(self, name: str, kind: str, *arguments: object) -> None:
        with self.call(name):
            self.event(kind, *arguments)


def lines_of(
    directory: Path,
    ranks: int,
    program: Callable[[Archive], None],
    *,
    counter: str | None = None,
) -> tuple[list[list[str]], Conversion]:
    """Write and import an archive; return each rank's lines without init and finalize."""
    source = directory / "scorep"
    with otf2.writer.open(str(source), timer_resolution=TICKS) as writer:
        program(Archive(writer, ranks, counter))
    target = directory / "trace"
    speed = 1e9 if counter is None else None
    made = convert(source / "traces.otf2", target, speed=speed, counter=counter)
    assert check(target).errors == 0, check(target)
    calls = rank_calls(target)
    return [[call for call in own if not call.startswith("comm_split ")] for own in calls], made


def begin(rank: RankEvents) -> None:
    with rank.call("MPI_Init"):
        pass


def end(rank: RankEvents) -> None:
    with rank.call("MPI_Finalize"):
        pass
