"""An OTF2 trace whose ranks are read one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from tisim.traces.importers.otf2.events import LocationEvents
from tisim.traces.importers.otf2.rank_reader import (
    EventReader,
    FileEventReader,
    OpenedTrace,
    sited_sequence,
)
from tisim.traces.program import CallSequence


class Otf2Trace(OpenedTrace):
    """Reads ranks by the core's functions where these can take all events."""

    def program(self, rank: int) -> CallSequence | None:
        known = self.definitions
        if known.files.handles:
            return self._sited_program(rank)  # the core collects no events of files
        try:
            from tisim.traces.importers.otf2.fast import call_sequence, collect_calls
        except ImportError:  # another package gives no access to the functions of the library
            return self._sited_program(rank)
        keeps_times = self.options.times is not None
        collected = collect_calls(self.file, rank, known, self.communicators, keeps_times)
        return call_sequence(rank, collected, self)

    def lines(self, rank: int) -> Iterator[str]:
        return (line for line, _ in self._reader(rank).lines(self._events(rank)))

    def _sited_program(self, rank: int) -> CallSequence | None:
        functions = self.definitions.functions
        if not functions:
            return None
        return sited_sequence(rank, self._reader(rank), self._events(rank), functions)

    def _reader(self, rank: int) -> EventReader:
        has_files = bool(self.definitions.files.handles)
        return (FileEventReader if has_files else EventReader)(rank, self)

    def _events(self, rank: int) -> LocationEvents:
        return LocationEvents(self.file, self.definitions.locations[rank])
