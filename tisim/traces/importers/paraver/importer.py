"""Paraver's traces as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.paraver.labels import Labels
from tisim.traces.importers.paraver.rank_reader import RankReader
from tisim.traces.importers.paraver.records import ParaverRecords
from tisim.traces.importers.vectors import VectorSizes, extrae_share

_BEGINS = b"#Paraver "


class ParaverImporter(Importer):
    """Reads .prv files, with the labels of the .pcf file beside them."""

    name = "paraver"
    title = "Paraver's .prv, which Extrae writes"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(_BEGINS)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1 or files[0].is_dir():
            raise InputError("a Paraver trace is one .prv file; name that", file=files[0])
        return _ParaverTrace(files[0], options, notes)


class _ParaverTrace(ForeignTrace):
    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        self._labels = Labels(file)
        self._options = options
        self._notes = notes
        counter = None
        if options.counter is None:
            options.volume_of(0.0)  # refuses a trace without --speed
        else:
            counter = self._labels.counters.get(options.counter)
            if counter is None:
                there = ", ".join(self._labels.counters) or "none"
                raise InputError(
                    f"has no hardware counter {options.counter} in its .pcf file: it has {there}",
                    file=file,
                )
        self._counter = counter
        self._records = ParaverRecords(file, self._labels, counter, notes)
        self._communicators = Communicators(
            self._records.header.ranks, self._records.header.communicators
        )
        self._vectors = VectorSizes(
            lambda: self._records.vectors, self._communicators, extrae_share, notes
        )

    @property
    def has_times(self) -> bool:
        return True

    @property
    def ranks(self) -> int:
        return self._records.header.ranks

    def lines(self, rank: int) -> Iterator[str]:
        reader = RankReader(
            rank,
            self._records,
            self._labels,
            self._communicators,
            self._vectors,
            self._options,
            self._notes,
            self._counter,
        )
        yield from reader.lines()

    def close(self) -> None:
        self._records.spool.close()
