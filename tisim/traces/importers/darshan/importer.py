"""DXT as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.darshan.listing import FIRST, Access, Listing
from tisim.traces.importers.files import FileCalls
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_calls import RankCalls

_BINARY = "is no text: run darshan-dxt-parser LOG > dxt.txt, and import what it prints"


class DarshanImporter(Importer):
    """Reads what darshan-dxt-parser prints."""

    name = "darshan"
    title = "Darshan's extended traces (DXT), printed by darshan-dxt-parser"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(FIRST.encode()) or files[0].suffix == ".darshan"

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1 or files[0].is_dir():
            raise InputError("a listing of DXT is one file; name that", file=files[0])
        with files[0].open("rb") as stream:
            if not stream.read(len(FIRST)).startswith(FIRST.encode()):
                raise InputError(_BINARY, file=files[0])
        if options.counter is not None:
            raise InputError("DXT has no hardware counters; use --speed", file=files[0])
        options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        return _DarshanTrace(Listing(files[0], notes), options, notes)


class _DarshanTrace(ForeignTrace):
    def __init__(self, listing: Listing, options: ImportOptions, notes: Notes) -> None:
        self._listing = listing
        self._options = options
        self._notes = notes
        notes.add(
            "DXT has reads and writes of files alone: what a rank did between them, messages too, "
            "counts as computing",
            "rank 0",
        )

    @property
    def ranks(self) -> int:
        return self._listing.ranks

    @property
    def has_times(self) -> bool:
        return True

    def lines(self, rank: int) -> Iterator[str]:
        calls = RankCalls(rank)
        files = FileCalls(rank, calls)
        accesses = self._listing.accesses(rank)
        last = {access.file: number for number, access in enumerate(accesses)}
        ways: dict[str, set[str]] = {}
        for access in accesses:
            ways.setdefault(access.file, set()).add("w" if access.writes else "r")
        calls.action("init")
        ended = 0.0
        for number, access in enumerate(accesses):
            if access.start < ended:
                self._notes.add(
                    "an access that begins before the one before has ended comes after it",
                    f"rank {rank}, {access.start:.4f} s",
                )
            calls.compute(self._options.volume_of(max(access.start - ended, 0.0)))
            ended = max(ended, access.end)
            if not files.is_open(access.file):
                # Who made a file is not known: without the flag c it was there before.
                files.open(access.file, access.file, "".join(sorted(ways[access.file])))
            files.transfer(access.file, access.nbytes, writes=access.writes, offset=access.offset)
            self._keep_times(rank, access, calls)
            if last[access.file] == number:
                files.close(access.file)
            yield from calls.ready()
        calls.action("finalize")
        yield from calls.ready()

    def close(self) -> None:
        self._listing.close()

    def _keep_times(self, rank: int, access: Access, calls: RankCalls) -> None:
        times = self._options.times
        if times is not None:
            word = "pwrite" if access.writes else "pread"
            begin, end = round(access.start * 1e9), round(access.end * 1e9)
            times.add(rank, word, begin, end, calls.lines.count)
