"""OTF2 as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
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
        return _Otf2Trace(anchor, options, notes)


class _Otf2Trace(ForeignTrace):
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
        from tisim.traces.importers.otf2.rank_reader import OpenedTrace, own_share
        from tisim.traces.importers.rank_calls import Communicators
        from tisim.traces.importers.vectors import VectorSizes

        self._anchor = anchor
        definitions = read_definitions(anchor, options.counter, notes)
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        communicators = Communicators(len(definitions.locations), definitions.communicators)
        vectors = VectorSizes(
            lambda: read_records(anchor, definitions), communicators, own_share, notes
        )
        self._trace = OpenedTrace(definitions, communicators, vectors, options, notes)

    @property
    def has_times(self) -> bool:
        return True

    @property
    def ranks(self) -> int:
        return len(self._trace.definitions.locations)

    def program(self, rank: int) -> CallSequence | None:
        known = self._trace.definitions
        if known.files.handles:
            return self._sited_program(rank)  # the core collects no events of files
        try:
            from tisim.traces.importers.otf2.fast import collect_calls
        except ImportError:  # another package gives no access to the functions of the library
            return self._sited_program(rank)
        from tisim.traces.importers.otf2.fast import call_sequence

        times = self._trace.options.times
        collected = collect_calls(
            self._anchor, rank, known, self._trace.communicators, times is not None
        )
        return call_sequence(rank, collected, self._trace)

    def lines(self, rank: int) -> Iterator[str]:
        return (line for line, _ in self._reader(rank).lines(self._events(rank)))

    def _sited_program(self, rank: int) -> CallSequence | None:
        functions = self._trace.definitions.functions
        if not functions:
            return None
        from tisim.traces.importers.otf2.rank_reader import sited_sequence

        return sited_sequence(rank, self._reader(rank), self._events(rank), functions)

    def _reader(self, rank: int) -> EventReader:
        from tisim.traces.importers.otf2.rank_reader import EventReader, FileEventReader

        has_files = bool(self._trace.definitions.files.handles)
        return (FileEventReader if has_files else EventReader)(rank, self._trace)

    def _events(self, rank: int) -> LocationEvents:
        from tisim.traces.importers.otf2.events import LocationEvents

        return LocationEvents(self._anchor, self._trace.definitions.locations[rank])


def _anchor_in(path: Path) -> Path | None:
    """The anchor file in a directory that has one."""
    if not path.is_dir():
        return None
    anchors = sorted(path.glob("*.otf2"))
    return anchors[0] if len(anchors) == 1 else None
