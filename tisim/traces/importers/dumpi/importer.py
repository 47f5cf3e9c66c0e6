"""DUMPI as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.calls import CreationNumbers, RankReader
from tisim.traces.importers.dumpi.binary import MAGIC, BinaryFile
from tisim.traces.importers.dumpi.datatypes import datatypes_of
from tisim.traces.importers.dumpi.text import TextFile
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes

# The .meta file begins so, and names what the files of the ranks begin with.
_META = b"hostname="
_DIGITS = 4


class DumpiImporter(Importer):
    """Reads DUMPI's binary files, and what ``dumpi2ascii`` prints of them."""

    name = "dumpi"
    title = "DUMPI, which SST, CODES and TraceR replay"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        if head.startswith(MAGIC) or _meta_in(files[0]) is not None:
            return True
        is_meta = head.startswith(_META) and b"\nfileprefix=" in head
        return is_meta or (b" entering at walltime " in head and b", cputime " in head)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        first = _meta_in(files[0]) or files[0]
        with first.open("rb") as stream:
            is_meta = stream.read(len(_META)) == _META
        return _DumpiTrace(_of_meta(first) if is_meta else list(files), options, notes)


class _DumpiTrace(ForeignTrace):
    def __init__(self, files: list[Path], options: ImportOptions, notes: Notes) -> None:
        self._files = files
        self._options = options
        self._notes = notes
        self._numbers = CreationNumbers()
        first = _opened(files[0])
        try:
            if options.counter is None:
                options.volume_of(0.0)  # refuses a trace without --speed
            elif options.counter not in first.counters:
                there = ", ".join(first.counters) or "none"
                raise InputError(
                    f"has no hardware counter {options.counter}: it has {there}", file=files[0]
                )
        finally:
            first.close()

    @property
    def has_times(self) -> bool:
        return True

    @property
    def ranks(self) -> int:
        return len(self._files)

    def lines(self, rank: int) -> Iterator[str]:
        file = _opened(self._files[rank])
        try:
            types = datatypes_of(file.type_sizes)
            reader = RankReader(rank, file, types, self._numbers, self._options, self._notes)
            yield from reader.lines()
        finally:
            file.close()


def _opened(path: Path) -> BinaryFile | TextFile:
    try:
        with path.open("rb") as stream:
            is_binary = stream.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    return BinaryFile(path) if is_binary else TextFile(path)


def _meta_in(path: Path) -> Path | None:
    """The .meta file in a directory that has one."""
    if not path.is_dir():
        return None
    found = sorted(path.glob("*.meta"))
    return found[0] if len(found) == 1 else None


def _of_meta(meta: Path) -> list[Path]:
    """The files of the ranks that a .meta file names."""
    pairs = dict(
        line.split("=", 1) for line in meta.read_text(errors="replace").splitlines() if "=" in line
    )
    try:
        ranks, prefix = int(pairs["numprocs"]), pairs["fileprefix"]
    except (KeyError, ValueError):
        raise InputError(
            "has no numprocs= and fileprefix=, as DUMPI's .meta files have", file=meta
        ) from None
    files = []
    for rank in range(ranks):
        file = meta.parent / f"{prefix}-{rank:0{_DIGITS}d}.bin"
        if not file.exists():
            raise InputError(f"the file {file.name} of rank {rank} is missing", file=meta)
        files.append(file)
    if not files:
        raise InputError("names no ranks (numprocs=0)", file=meta)
    return files
