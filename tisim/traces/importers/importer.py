"""What the reader of a foreign format provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.call_times import CallTimes
from tisim.traces.importers.notes import Notes
from tisim.traces.program import CallSequence, Program

#: The least and the largest volume of each bin of a histogram, and how many there are.
VolumeHistogram = list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a user says about a foreign trace.

    Attributes
    ----------
    speed
        Flop/s (or instructions a second) that turn seconds of computing into a volume; None: the
        trace has volumes of its own.
    counter
        The hardware counter that the volumes are taken from, such as ``PAPI_TOT_INS``; None: the
        durations.
    columns
        For tables: the column of each quantity, such as ``{"rank": "Process"}``.
    times
        Is told when each call began and ended; None: nobody asks.
    """

    speed: float | None = None
    counter: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    times: CallTimes | None = None

    def volume_of(self, seconds: float) -> float:
        """The volume computed in so many seconds.

        Raises
        ------
        InputError
            If no speed was given.
        """
        if self.speed is None:
            raise InputError(
                "this trace has durations and no volumes: say with --speed how many flops (or "
                "instructions) a second the recorded machine computes, such as --speed 2.4Gf"
            )
        return seconds * self.speed


class ForeignTrace(ABC):
    """An open trace of another format."""

    @property
    @abstractmethod
    def ranks(self) -> int:
        """How many ranks it has."""

    @property
    def has_times(self) -> bool:
        """Whether it tells `ImportOptions.times` when calls began and ended."""
        return False

    @property
    def histograms(self) -> Sequence[VolumeHistogram]:
        """The histograms that lines ``RANK compute histogram=NUMBER`` name; none by default."""
        return ()

    @abstractmethod
    def lines(self, rank: int) -> Iterator[str]:
        """Yield the lines of one rank of the converted trace, each with its newline.

        The ranks are asked for in order, each once.

        Raises
        ------
        InputError
            If the trace is damaged, or says what a trace of tisim cannot say.
        """

    def program(self, rank: int) -> Program | CallSequence | None:
        """The lines of one rank without a text for each, for formats that can.

        None, as by default: `lines` has them. It is asked before `lines`, and where it gives a
        program, `lines` is not asked.

        Raises
        ------
        InputError
            As `lines`.
        """
        return None

    def close(self) -> None:
        """Give back what the open trace holds; it is called in any case, and once."""
        return


class Importer(ABC):
    """A foreign format.

    Another package adds one by an entry point of the group ``tisim.importers`` whose object is a
    subclass; it is made without arguments.

    Attributes
    ----------
    name
        Of the format, for ``--format``.
    title
        What it is and who writes it, in a few words.
    """

    name: str
    title: str

    @abstractmethod
    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        """Whether the files are of this format.

        Parameters
        ----------
        files
            What the user named: files, or one directory.
        head
            The first 64 kB of the first of them; empty for a directory.
        """

    @abstractmethod
    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        """Open a trace.

        Parameters
        ----------
        files
            What the user named.
        options
            What the user says about it.
        notes
            Takes what is guessed or lost, also while lines are read.

        Raises
        ------
        InputError
            If it is no trace of this format, or options are missing.
        """
