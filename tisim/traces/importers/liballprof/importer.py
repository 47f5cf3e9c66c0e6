"""The traces of liballprof as a format that can be imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.calls import CreationNumbers, RankReader
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.liballprof.file import StatedSizes, TraceFile
from tisim.traces.importers.notes import Notes

_BEGINS = re.compile(rb"^(?:#[^\n]*\n|\s)*MPI_Init(?:ialized|_thread)?:", re.MULTILINE)
# Names end in -RANK.SUFFIX, with zeros before the rank or without.
_RANK = re.compile(r"(.*-)(\d+)(\.\w+)")


class LiballprofImporter(Importer):
    """Reads the text files that liballprof writes, one for each rank."""

    name = "liballprof"
    title = "liballprof, whose traces LogGOPSim's schedgen reads"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if files[0].is_dir():
            return _first_in(files[0]) is not None
        return _BEGINS.match(head) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if options.counter is not None:
            raise InputError("liballprof records no hardware counters; use --speed", file=files[0])
        options.volume_of(0.0)  # refuses a trace without --speed
        first = _first_in(files[0]) if files[0].is_dir() else files[0]
        if first is None:
            raise InputError("is a directory without a trace of liballprof", file=files[0])
        return _LiballprofTrace(list(files) if len(files) > 1 else _beside(first), options, notes)


class _LiballprofTrace(ForeignTrace):
    def __init__(self, files: list[Path], options: ImportOptions, notes: Notes) -> None:
        self._files = files
        self._options = options
        self._notes = notes
        self._numbers = CreationNumbers()

    @property
    def has_times(self) -> bool:
        return True

    @property
    def ranks(self) -> int:
        return len(self._files)

    def lines(self, rank: int) -> Iterator[str]:
        file = TraceFile(self._files[rank], rank, len(self._files), self._notes)
        types = StatedSizes()
        yield from RankReader(rank, file, types, self._numbers, self._options, self._notes).lines()


def _first_in(directory: Path) -> Path | None:
    """The file of rank 0 in a directory that has one such trace."""
    found = []
    for path in sorted(directory.iterdir()):
        named = _RANK.fullmatch(path.name)
        if named is not None and path.is_file() and int(named[2]) == 0:
            with path.open("rb") as stream:
                if _BEGINS.match(stream.read(1 << 12)) is not None:
                    found.append(path)
    return found[0] if len(found) == 1 else None


def _beside(first: Path) -> list[Path]:
    """The files of all ranks, of which one is known."""
    named = _RANK.fullmatch(first.name)
    if named is None:
        return [first]
    ranks: dict[int, Path] = {}
    for path in first.parent.iterdir():
        other = _RANK.fullmatch(path.name)
        if other is not None and (other[1], other[3]) == (named[1], named[3]):
            ranks[int(other[2])] = path
    for rank in range(len(ranks)):
        if rank not in ranks:
            raise InputError(
                f"the file of rank {rank} is missing beside that of rank {max(ranks)}", file=first
            )
    return [ranks[rank] for rank in range(len(ranks))]
