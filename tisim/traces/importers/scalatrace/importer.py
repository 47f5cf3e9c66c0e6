"""The importer of ScalaTrace's traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, only_file
from tisim.traces.importers.importer import (
    ForeignTrace,
    Importer,
    ImportOptions,
    Notes,
    VolumeHistogram,
)
from tisim.traces.importers.scalatrace.events import (
    INSTRUCTIONS,
    MICROSECONDS,
    Bin,
    Event,
    OverlappingLoopsError,
    read_events,
)
from tisim.traces.importers.scalatrace.rank_reader import RankProgram, ScalaTraceRank
from tisim.traces.importers.scalatrace.receives import Sources, compare_sizes, lack_tags, sources_of
from tisim.traces.program import Program

_BEGINS = re.compile(rb"\s*RANKS: [-\d ]+\nEVENT\d+: \d+ ")
# Signs of any ScalaTrace version: the keywords of its text, or its name.
_LIKE = re.compile(rb"^[ \t]*(?:RANKS:|EVENT\d+:|LOOP\d+:|P?RSD\d*\b)|\bScalaTrace\b", re.M)
_LIKE_BYTES = 4096
_MOST_RANKS = 1 << 24


class ScalaTraceImporter(Importer):
    """Reads ScalaTrace 2's single file for all ranks."""

    name = "scalatrace"
    title = "ScalaTrace 2 and ScalaTrace-TI"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return _LIKE.search(head[:_LIKE_BYTES]) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        only_file(files, "a ScalaTrace trace must be one file")
        with files[0].open("rb") as file:
            if _BEGINS.match(file.read(_LIKE_BYTES)) is None:
                raise InputError(
                    "is not a trace of ScalaTrace 2 or ScalaTrace-TI; ScalaTrace 4 and other "
                    "versions are not supported, as their formats are not public",
                    file=files[0],
                    line=1,
                )
        if options.counter is not None:
            raise InputError(
                "has no named hardware counters; without --speed, its thousands of instructions "
                "are used",
                file=files[0],
            )
        return ScalaTrace(files[0], options, notes)


class ScalaTrace(FormatTrace):
    """The events of all ranks."""

    has_times = False
    histograms: Sequence[VolumeHistogram] = ()

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(file, options, notes)
        self._events = list(read_events(file))
        self.ranks = 1 + max(event.ranks.largest() for event in self._events)
        if self.ranks > _MOST_RANKS:
            raise InputError(f"has an implausible number of ranks: {self.ranks}", file=file)
        self._sources: Sources = {}
        self._sizes_are_tags = self._tags()
        unit, factor = self._unit(options)
        self._histogram_of: dict[tuple[int, str], int] = {}
        histograms: list[VolumeHistogram] = []
        for event in self._events:
            for (kind, site), bins in event.computations.items():
                if kind == unit and bins:
                    self._histogram_of[id(event), site] = len(histograms)
                    histograms.append(self._scaled(event, bins, factor))
        self.histograms = histograms

    def _unit(self, options: ImportOptions) -> tuple[str, float]:
        """Return the unit of computations, and its value in flops or instructions."""
        kinds = {kind for event in self._events for kind, _ in event.computations}
        if options.speed is None and INSTRUCTIONS in kinds:
            return INSTRUCTIONS, 1000.0
        if MICROSECONDS not in kinds and INSTRUCTIONS in kinds:
            raise InputError(
                "contains numbers of instructions, not durations: omit --speed", file=self.file
            )
        return MICROSECONDS, options.volume_of(1e-6)

    def _scaled(self, event: Event, bins: Sequence[Bin], factor: float) -> VolumeHistogram:
        scaled = volume_bins(bins, factor)
        if any(most < least for least, most, _ in scaled):
            raise InputError("a histogram out of order", file=self.file, line=event.line)
        return scaled

    def _tags(self) -> bool:
        """Return whether sizes are used as tags."""
        if not lack_tags(self._events):
            return False
        try:
            sizes = compare_sizes(self._events, self.ranks)
        except OverlappingLoopsError as error:
            raise InputError(
                f"EVENT{error.args[0].number}: loops that do not nest", file=self.file
            ) from None
        receives, several = sizes.receives, sizes.open_receives
        self.notes.add(
            "tags were not recorded, and a receive is from any source: messages of different sizes "
            "are separated by tags"
            if sizes.match
            else "tags were not recorded: a receive from any source may take another message",
            receives.first or f"EVENT{self._events[0].number}",
            max(receives.count, 1),
        )
        if not several.count:
            return sizes.match
        sources = sources_of(self._events, self.ranks, sizes.channels)
        if sources is not None and sizes.match:
            self._sources = sources
        self.notes.add(
            "a receive from any source matches messages of one size from several ranks: it is "
            "assigned to the rank whose message it takes if all ranks advance evenly"
            if self._sources
            else "a receive from any source matches messages of one size from several ranks and "
            "may take a different one than in the run, which can deadlock the replay",
            several.first,
            several.count,
        )
        return sizes.match

    def program(self, rank: int) -> Program:
        own = (self._events, self._histogram_of, self._sizes_are_tags, self._sources)
        return RankProgram(rank, ScalaTraceRank(rank, self, *own)).made(self.notes)

    def lines(self, rank: int) -> Iterator[str]:
        yield from self.program(rank).expand(rank, drawn=bool(self.histograms))


def volume_bins(bins: Sequence[Bin], factor: float) -> VolumeHistogram:
    """Return the minimum and maximum volume of each bin, and its count.

    Volumes are drawn uniformly from a bin, so each bin is narrowed until its centre is its mean.
    """
    made: VolumeHistogram = []
    floor = 0.0
    for part in bins:
        mean = part.mean * factor
        half = max(min(part.mean - part.least, part.most - part.mean), 0.0) * factor
        half = min(half, max(mean - floor, 0.0))
        floor = mean + half
        made.append((mean - half, mean + half, part.count))
    return made
