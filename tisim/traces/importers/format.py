"""Common parts of the importers: an opened trace, and one rank of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.importer import ForeignTrace, ImportOptions, Notes
from tisim.traces.importers.rank_calls import Communicators, RankCalls, RequestNumbers
from tisim.traces.importers.rank_spool import RankSpool


def only_file(files: Sequence[Path], form: str) -> Path:
    """Return the only file of a trace. Raises InputError, beginning with `form`, otherwise."""
    if len(files) > 1 or files[0].is_dir():
        raise InputError(f"{form}; give that file", file=files[0])
    return files[0]


def need_speed(options: ImportOptions, file: Path, recorder: str) -> None:
    """Refuse an import without ``--speed``, or with a counter, which `recorder` does not record."""
    if options.counter is not None:
        raise InputError(f"{recorder} no hardware counters; use --speed", file=file)
    options.volume_of(0.0)


class FormatTrace(ForeignTrace):
    """An opened trace file. Most formats contain the begin and end of calls."""

    ranks = 0
    has_times = True

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        self.file = file
        self.options = options
        self.notes = notes


class SpooledTrace(FormatTrace):
    """A trace that is read once and whose rows are kept by rank."""

    def __init__(self, file: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(file, options, notes)
        self._spool = RankSpool()
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _read(self) -> None:
        """Read the file and keep the rows of all ranks."""

    def close(self) -> None:
        self._spool.close()


class RankConverter:
    """Converts the records of one rank to lines."""

    def __init__(
        self, rank: int, trace: FormatTrace, requests: RequestNumbers | None = None
    ) -> None:
        self._rank = rank
        self._file = trace.file
        self._options = trace.options
        self._notes = trace.notes
        self._calls = RankCalls(rank, requests)

    def _write_head(self, communicators: Communicators) -> None:
        """Write the lines that precede all calls."""
        self._calls.action("init")
        for words in communicators.declarations(self._rank):
            self._calls.action(words)

    def _keep_times(self, function: str, begin: int, end: int) -> None:
        """Keep the begin and end of the most recently written call, in nanoseconds."""
        if self._options.times is not None:
            line = self._calls.lines.count
            self._options.times.add(self._rank, function, begin, end, line)
