"""OTF2 as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.program import CallSequence

if TYPE_CHECKING:
    from tisim.traces.importers.otf2.events import LocationEvents
    from tisim.traces.importers.otf2.rank_reader import EventReader


class Otf2Importer(Importer):
    """Reads the traces of Score-P, EZTrace and TAU; needs the package ``otf2``."""

    name = "otf2"
    title = "OTF2, which Score-P, EZTrace and TAU write"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return files[0].suffix == ".otf2" or _anchor_in(files[0]) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1:
            raise InputError("an OTF2 trace is named by its anchor file alone", file=files[1])
        anchor = _anchor_in(files[0]) or files[0]
        return Otf2Trace(anchor, options, notes)


class Otf2Trace(FormatTrace):
    """The definitions of a trace; its events are read rank by rank."""

    def __init__(self, anchor: Path, options: ImportOptions, notes: Notes) -> None:
        try:
            from tisim.traces.importers.otf2.archive import read_definitions
        except ModuleNotFoundError as error:
            if error.name not in ("otf2", "_otf2"):
                raise
            raise InputError(
                "OTF2 traces are read by the package otf2, which is not installed: "
                'pip install "tisim[otf2]"',
                file=anchor,
            ) from None
        from tisim.traces.importers.otf2.events import read_records
        from tisim.traces.importers.otf2.rank_reader import own_share
        from tisim.traces.importers.rank_calls import Communicators
        from tisim.traces.importers.vectors import VectorSizes

        super().__init__(anchor, options, notes)
        self.definitions = read_definitions(anchor, options.counter, notes)
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        self.ranks = len(self.definitions.locations)
        self.communicators = Communicators(self.ranks, self.definitions.communicators)
        self.vectors = VectorSizes(
            lambda: read_records(anchor, self.definitions), self.communicators, own_share, notes
        )

    def program(self, rank: int) -> CallSequence | None:
        known = self.definitions
        if known.files.handles:
            return self._sited_program(rank)  # the core collects no events of files
        try:
            from tisim.traces.importers.otf2.fast import collect_calls
        except ImportError:  # another package gives no access to the functions of the library
            return self._sited_program(rank)
        from tisim.traces.importers.otf2.fast import call_sequence

        keeps_times = self.options.times is not None
        collected = collect_calls(self.file, rank, known, self.communicators, keeps_times)
        return call_sequence(rank, collected, self)

    def lines(self, rank: int) -> Iterator[str]:
        return (line for line, _ in self._reader(rank).lines(self._events(rank)))

    def _sited_program(self, rank: int) -> CallSequence | None:
        functions = self.definitions.functions
        if not functions:
            return None
        from tisim.traces.importers.otf2.rank_reader import sited_sequence

        return sited_sequence(rank, self._reader(rank), self._events(rank), functions)

    def _reader(self, rank: int) -> EventReader:
        from tisim.traces.importers.otf2.rank_reader import EventReader, FileEventReader

        has_files = bool(self.definitions.files.handles)
        return (FileEventReader if has_files else EventReader)(rank, self)

    def _events(self, rank: int) -> LocationEvents:
        from tisim.traces.importers.otf2.events import LocationEvents

        return LocationEvents(self.file, self.definitions.locations[rank])


def _anchor_in(path: Path) -> Path | None:
    """The anchor file in a directory that has one."""
    if not path.is_dir():
        return None
    anchors = sorted(path.glob("*.otf2"))
    return anchors[0] if len(anchors) == 1 else None
