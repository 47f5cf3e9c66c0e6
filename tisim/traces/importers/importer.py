"""The interface of an importer: options, notes, times of calls."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tisim.errors import InputError
from tisim.support.files import replacing, write_file
from tisim.traces.importers.words import kind_of
from tisim.traces.program import CallSequence, Program

#: Notes on information that traces of several formats lack.
NO_FINALIZE = "a rank without MPI_Finalize; the call is added"
NO_WAIT = "a request without a wait is waited for at the end"


@dataclass(frozen=True, slots=True)
class Note:
    """One kind of guess or loss.

    Attributes
    ----------
    text
        Description of the guess or loss, such as ``MPI_Put is left out``.
    count
        Number of occurrences.
    first
        Place of the first one, such as ``rank 3, event 120``.
    """

    text: str
    count: int
    first: str

    def __str__(self) -> str:
        times = f"{self.count:,} times, " if self.count > 1 else ""
        return f"{self.text} ({times}first at {self.first})"


class Notes:
    """Collects the guesses and losses of one import, by kind."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._count: dict[str, int] = {}

    def add(self, text: str, place: str, times: int = 1) -> None:
        """Count a guess or loss.

        Parameters
        ----------
        text
            Its kind; equal texts are of one kind.
        place
            Where it occurred.
        times
            Number of occurrences there.
        """
        self._first.setdefault(text, place)
        self._count[text] = self._count.get(text, 0) + times

    def clear(self) -> None:
        """Remove all kinds."""
        self._first.clear()
        self._count.clear()

    def __iter__(self) -> Iterator[Note]:
        """Yield the kinds in the order of their first places."""
        for text, first in self._first.items():
            yield Note(text, self._count[text], first)

    def __len__(self) -> int:
        return len(self._first)


PARQUET = ".parquet"
_COLUMNS = ("rank", "kind", "start", "end", "line")
# Number of rows in a Parquet block.
_BLOCK = 1 << 17


class CallTimes:
    """Keeps the times of calls in a temporary file: the first is only known at the end."""

    def __init__(self) -> None:
        import tempfile  # replays do not need it

        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - see close
        self._first: int | None = None
        # The rank and the end of the most recent call.
        self._last = (-1, 0)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, rank: int, function: str, begin: int, end: int, line: int) -> None:
        """Add a call: its MPI name without ``MPI_``, or a trace action; nanoseconds on a clock
        common to all ranks; the last line that it produced in the rank's trace. The calls of a rank
        are added in order.
        """
        if self._first is None or begin < self._first:
            self._first = begin
        before, ended = self._last
        if before == rank and begin > ended:
            self._file.write(f"{rank},compute,{ended},{begin},{max(line - 1, 0)}\n")
        self._file.write(f"{rank},{kind_of(function)},{begin},{end},{line}\n")
        self._last = rank, end

    def write(self, target: str | os.PathLike[str]) -> None:
        """Write the table: ``rank,kind,start,end,line``, in seconds since the start of the first
        call. Raises InputError when it cannot be written.
        """
        if Path(target).suffix == PARQUET:
            self._write_parquet(target)
        else:
            write_file(target, self._lines())

    def _lines(self) -> Iterator[str]:
        yield ",".join(_COLUMNS) + "\n"
        for rank, kind, start, end, line in self._rows():
            yield f"{rank},{kind},{start:.9f},{end:.9f},{line}\n"

    def _rows(self) -> Iterator[tuple[int, str, float, float, int]]:
        first = self._first or 0
        self._file.seek(0)
        for row in self._file:
            rank, kind, begin, end, line = row.split(",")
            start, finish = ((int(time) - first) * 1e-9 for time in (begin, end))
            yield int(rank), kind, start, finish, int(line)

    def _write_parquet(self, target: str | os.PathLike[str]) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        types = (pa.int32(), pa.string(), pa.float64(), pa.float64(), pa.int64())
        schema = pa.schema(list(zip(_COLUMNS, types, strict=True)))
        rows = self._rows()
        with replacing(target) as unfinished, ParquetWriter(unfinished, schema) as writer:
            while block := list(islice(rows, _BLOCK)):
                columns = zip(*block, strict=True)
                made = [pa.array(col, kind) for col, kind in zip(columns, types, strict=True)]
                writer.write_table(pa.Table.from_arrays(made, schema=schema))


def check_timeline(target: str | os.PathLike[str]) -> None:
    """Raise InputError for another kind of file, or if the package for it is missing."""
    suffix = Path(target).suffix
    if suffix not in (".csv", PARQUET):
        raise InputError(f"the timeline of an import must be .csv or {PARQUET}", file=target)
    if suffix == PARQUET:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(
                "Parquet needs one more package: pip install 'tisim[parquet]', or use a .csv file",
                file=target,
            ) from None


#: The minimum and maximum volume of each bin of a histogram, and its number of volumes.
VolumeHistogram = list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The user's options for a foreign trace.

    Attributes
    ----------
    speed
        Flop/s (or instructions per second) that convert seconds of computation to a volume; None
        if the trace contains volumes.
    counter
        The hardware counter that provides volumes, such as ``PAPI_TOT_INS``; None uses durations.
    columns
        For tables: the column of each quantity, such as ``{"rank": "Process"}``.
    times
        Receives the begin and end of each call; None if not requested.
    """

    speed: float | None = None
    counter: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    times: CallTimes | None = None

    def volume_of(self, seconds: float) -> float:
        """Return the volume computed in a number of seconds.

        Raises
        ------
        InputError
            If no speed was given.
        """
        if self.speed is None:
            raise InputError(
                "this trace has durations but no volumes: give the speed of the recorded machine "
                "in flops (or instructions) per second, such as --speed 2.4Gf"
            )
        return seconds * self.speed


class ForeignTrace(ABC):
    """An open trace of another format."""

    @property
    @abstractmethod
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def has_times(self) -> bool:
        """True if it adds the times of calls to `ImportOptions.times`."""
        return False

    @property
    def histograms(self) -> Sequence[VolumeHistogram]:
        """The histograms for lines ``RANK compute histogram=NUMBER``; none by default."""
        return ()

    @abstractmethod
    def lines(self, rank: int) -> Iterator[str]:
        """Yield the lines of one rank of the converted trace, each with its newline, one or more
        at once.

        Called for each rank once, in order.

        Raises
        ------
        InputError
            If the trace is damaged, or cannot be expressed as a tisim trace.
        """

    def program(self, rank: int) -> Program | CallSequence | None:
        """Return the structured lines of one rank, for formats that provide them.

        None by default: `lines` yields them. Called before `lines`, which is not called if a
        program is returned.

        Raises
        ------
        InputError
            As for `lines`.
        """
        return None

    def close(self) -> None:
        """Release the resources of the open trace; called exactly once, also after errors."""
        return


class Importer(ABC):
    """A foreign format.

    Another package adds one with an entry point of the group ``tisim.importers`` whose object is a
    subclass; it is instantiated without arguments.

    Attributes
    ----------
    name
        Name of the format, for ``--format``.
    title
        Short description of the format and the tools that write it.
    """

    name: str
    title: str

    @abstractmethod
    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        """Return whether the files are in this format.

        Parameters
        ----------
        files
            The user's argument: files, or one directory.
        head
            The first 64 kB of the first file; empty for a directory.
        """

    @abstractmethod
    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        """Open a trace.

        Parameters
        ----------
        files
            The user's argument.
        options
            The user's options.
        notes
            Receives guesses and losses, also while lines are read.

        Raises
        ------
        InputError
            If it is not a trace of this format, or options are missing.
        """
