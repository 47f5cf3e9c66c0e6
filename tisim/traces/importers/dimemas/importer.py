"""Dimemas's traces as a format that can be imported."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.collectives import VECTORS
from tisim.traces.importers.communicators import Communicator, Communicators
from tisim.traces.importers.dimemas.rank_reader import OPERATIONS, RankReader
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_spool import RankSpool
from tisim.traces.importers.vectors import Records, VectorSizes, extrae_share

_BEGINS = b"#DIMEMAS:"
# #DIMEMAS:"name":1,0000123:4(1,1,1,1),2
_HEADER = re.compile(r"#DIMEMAS:.*:\d+(?:,\d+)?:(\d+)\(([\d,]*)\)(?:,\d+)?\s*")
_RECORDS = frozenset({"1", "2", "3", "10"})
_IGNORED = frozenset({"20", "s"})


class DimemasImporter(Importer):
    """Reads .dim files: computations, messages and collectives of each task."""

    name = "dimemas"
    title = "Dimemas's .dim, which Extrae and prv2dim write"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(_BEGINS)

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1 or files[0].is_dir():
            raise InputError("a Dimemas trace is one .dim file; name that", file=files[0])
        if options.counter is not None:
            raise InputError("Dimemas has no hardware counters; use --speed", file=files[0])
        options.volume_of(0.0)  # refuses a trace without --speed
        return _DimemasTrace(files[0], options, notes)


class _DimemasTrace(ForeignTrace):
    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        self._file = file
        self._options = options
        self._notes = notes
        self._spool = RankSpool()
        self._known: dict[int, Communicator] = {}
        self._ranks = 0
        # What ranks send and receive in vector collectives, by communicator.
        self._sizes: Records = defaultdict(list)
        try:
            self._read()
        except BaseException:
            self._spool.close()
            raise
        self._communicators = Communicators(self._ranks, self._known)
        self._vectors = VectorSizes(lambda: self._sizes, self._communicators, extrae_share, notes)

    def _read(self) -> None:
        number = 1
        with self._file.open(encoding="utf-8", errors="replace") as lines:
            header = _HEADER.fullmatch(next(lines, ""))
            if header is None or int(header[1]) != len(header[2].split(",")):
                raise InputError("has no header as Dimemas's traces have", file=self._file, line=1)
            self._ranks = int(header[1])
            for number, line in enumerate(lines, 2):
                words = line.rstrip().split(":")
                if words == [""]:
                    continue
                try:
                    if not line.endswith("\n"):
                        raise ValueError(line)
                    self._take(words, number)
                except (ValueError, IndexError):
                    raise InputError(
                        f"{line.strip()[:60]!r} is no record of Dimemas's",
                        file=self._file,
                        line=number,
                    ) from None

    def _take(self, words: list[str], number: int) -> None:
        if words[0] == "d":
            if words[1] == "1":
                comm, count, *members = map(int, words[2:])
                if count != len(members) or not set(members) <= set(range(self._ranks)):
                    raise ValueError(words)
                self._known[comm] = Communicator(tuple(members))
            return
        if words[0] in _IGNORED:
            return
        task, thread = int(words[1]), int(words[2])
        if not 0 <= task < self._ranks:
            raise ValueError(words)
        if words[0] not in _RECORDS:
            self._notes.add(f"records of kind {words[0]} are left out", f"line {number}")
        elif thread:
            self._notes.add("records of further threads are left out", f"line {number}")
        else:
            if words[0] == "10":
                operation, comm, _, _, sent, received = map(int, words[3:9])
                if not 0 <= operation < len(OPERATIONS):
                    raise ValueError(words)
                if OPERATIONS[operation] in VECTORS:
                    self._sizes[task, comm].append((sent, received))
            self._spool.add(task, f"{number} " + " ".join([words[0], *words[3:]]))

    @property
    def ranks(self) -> int:
        return self._ranks

    def lines(self, rank: int) -> Iterator[str]:
        reader = RankReader(
            rank, self._file, self._communicators, self._vectors, self._options, self._notes
        )
        yield from reader.lines(self._spool.rows(rank))

    def close(self) -> None:
        self._spool.close()
