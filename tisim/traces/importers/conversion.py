"""Import of a trace in any known format as a trace that can be replayed."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.support.quantities import parse_speed
from tisim.support.reading import open_input
from tisim.traces.importers.importer import (
    CallTimes,
    ForeignTrace,
    Importer,
    ImportOptions,
    Note,
    Notes,
    check_timeline,
)
from tisim.traces.progress import Progress
from tisim.traces.writer import PACKED_SUFFIX, DrawnTraceWriter, TraceWriter, write_trace

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The group of entry points by which other packages add formats.
GROUP = "tisim.importers"
# Each format's module and class, in the order in which they are tried: formats with a magic number
# first, tables last.
_OWN = {
    "otf2": ("tisim.traces.importers.otf2", "Otf2Importer"),
    "dumpi": ("tisim.traces.importers.dumpi", "DumpiImporter"),
    "liballprof": ("tisim.traces.importers.liballprof", "LiballprofImporter"),
    "paraver": ("tisim.traces.importers.paraver", "ParaverImporter"),
    "dimemas": ("tisim.traces.importers.dimemas", "DimemasImporter"),
    "pilgrim": ("tisim.traces.importers.pilgrim", "PilgrimImporter"),
    "scalatrace": ("tisim.traces.importers.scalatrace", "ScalaTraceImporter"),
    "tau": ("tisim.traces.importers.tau", "TauImporter"),
    "darshan": ("tisim.traces.importers.darshan", "DarshanImporter"),
    "recorder": ("tisim.traces.importers.recorder", "RecorderImporter"),
    "goal": ("tisim.traces.importers.goal", "GoalImporter"),
    "table": ("tisim.traces.importers.table", "TableImporter"),
}
_HEAD = 1 << 16


def formats() -> tuple[str, ...]:
    """Return the names of all formats, those of other packages last."""
    return (*_OWN, *(name for name in _foreign() if name not in _OWN))


def importer(name: str) -> Importer:
    """Return the importer of a format. Raises InputError for an unknown format, or when the package
    that provides it cannot be loaded.
    """
    if name in _OWN:
        module, attribute = _OWN[name]
        made: Importer = getattr(importlib.import_module(module), attribute)()
        return made
    entry = _foreign().get(name)
    if entry is None:
        raise InputError(f"unknown import format {name!r}; known are {', '.join(formats())}")
    try:
        found = entry.load()()
    except Exception as error:
        # Third-party code: whatever it raises, the message names its origin.
        raise InputError(
            f"the importer {name!r} ({entry.value}) cannot be loaded: {error}"
        ) from error
    if not isinstance(found, Importer):
        raise InputError(
            f"the importer {name!r} ({entry.value}) is not a subclass of "
            "tisim.traces.importers.Importer"
        )
    return found


def recognise(files: Sequence[Path]) -> Importer:
    """Return the importer that recognises files by their content. Raises InputError if a file
    cannot be read, or no format fits.
    """
    head = b""
    for file in files:
        if not file.exists():
            raise InputError("no such file", file=file)
    if files[0].is_file():
        try:
            with files[0].open("rb") as stream:
                head = stream.read(_HEAD)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=files[0]) from None
    for name in formats():
        candidate = importer(name)
        if candidate.recognises(files, head):
            return candidate
    raise InputError(
        f"has none of the supported formats ({', '.join(formats())}); give the format with "
        "--format, or convert it to a table of calls (CSV) and import that",
        file=files[0],
    )


def _foreign() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to load

    return {entry.name: entry for entry in entry_points(group=GROUP)}


# Maximum number of characters of lines passed on at once.
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of an import.

    Attributes
    ----------
    format
        The format that was read.
    ranks, lines
        Numbers of ranks and of lines of the trace.
    notes
        Guesses and losses, by kind.
    """

    format: str
    ranks: int
    lines: int
    notes: tuple[Note, ...]


def convert(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,
    speed: float | str | None = None,
    counter: str | None = None,
    columns: Mapping[str, str] | None = None,
    timeline: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Convert another tool's trace for replay.

    Parameters
    ----------
    source
        The trace file of the other tool, or several files, or a directory.
    output
        The trace to write: one packed file if its name ends in ``.tit``, otherwise a directory. It
        appears once it is complete.
    format
        The format of `source`; None recognises it by its content.
    speed
        For formats with durations: flop/s (or instructions per second) of the recorded machine, a
        number or text such as ``"2.4Gf"``.
    counter
        The hardware counter in the trace that provides volumes, such as ``"PAPI_TOT_INS"``.
    columns
        For tables: the column of each quantity, see the documentation of imports.
    timeline
        A file (``.csv`` or ``.parquet``) for the begin and end of each call, for formats that
        contain them: the columns ``rank``, ``kind``, ``start``, ``end`` and ``line``, as an
        execution writes them.
    progress
        Called regularly with the completed fraction, from 0 to 1.

    Returns
    -------
    Conversion
        Facts about the written trace, with guesses and losses.

    Raises
    ------
    InputError
        If the source cannot be read, is damaged, or cannot be expressed as a trace.
    """
    named = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not named:
        raise InputError("no file to import; give at least one")
    files = [Path(name) for name in named]
    if timeline is not None:
        check_timeline(timeline)
    speed = parse_speed(speed, "speed") if isinstance(speed, str) else speed
    if speed is not None and not 0 < speed < math.inf:
        raise InputError(f"the speed of the recorded machine must be above 0, not {speed:g}")
    for file in files:
        if not file.exists():
            raise InputError("no such file", file=file)
        if file.is_fifo():
            raise InputError(
                "is a pipe, but imports read files several times; save its content to a file first",
                file=file,
            )
        if not file.is_dir():
            open_input(file).close()  # refuses devices
    options = ImportOptions(
        times=None if timeline is None else CallTimes(),
        speed=speed,
        counter=counter,
        columns=dict(columns or {}),
    )
    chosen = recognise(files) if format is None else importer(format)
    notes = Notes()
    trace = chosen.open(files, options, notes)
    lines = 0
    try:
        if options.times is not None and not trace.has_times:
            raise InputError(
                f"the format {chosen.name} lacks the times of calls; omit --timeline",
                file=files[0],
            )
        with _writer(output, trace) as writer:
            for rank in range(trace.ranks):
                try:
                    lines += _write(writer, trace, rank)
                except (ArithmeticError, ValueError) as error:  # infinities and their sums
                    raise InputError(
                        f"rank {rank} has an impossible number ({error})", file=files[0]
                    ) from None
                if progress is not None:
                    progress((rank + 1) / trace.ranks)
            if options.times is not None and timeline is not None:
                options.times.write(timeline)
    finally:
        trace.close()
        if options.times is not None:
            options.times.close()
    return Conversion(chosen.name, trace.ranks, lines, tuple(notes))


@contextlib.contextmanager
def _writer(
    output: str | os.PathLike[str], trace: ForeignTrace
) -> Iterator[TraceWriter | DrawnTraceWriter]:
    """Open a writer for the trace: one that draws volumes if it has histograms."""
    if not trace.histograms:
        with write_trace(output, trace.ranks) as writer:
            yield writer
        return
    if Path(output).suffix != PACKED_SUFFIX:
        raise InputError(
            "the trace has histograms of computations, which only packed traces support: give it a "
            f"name that ends in {PACKED_SUFFIX}",
            file=output,
        )
    drawn = DrawnTraceWriter(trace.ranks)
    for bins in trace.histograms:
        drawn.histogram(bins)
    yield drawn
    drawn.finish(output)


def _write(writer: TraceWriter | DrawnTraceWriter, trace: ForeignTrace, rank: int) -> int:
    """Write one rank; return its number of lines."""
    program = trace.program(rank)
    if program is not None:
        writer.write_program(rank, program)
        return program.length()
    count = 0

    def pieces() -> Iterator[str]:
        """Yield the lines, many at once."""
        nonlocal count
        piece: list[str] = []
        size = 0
        for line in trace.lines(rank):  # or several lines
            count += line.count("\n")
            piece.append(line)
            size += len(line)
            if size >= _PIECE:
                yield "".join(piece)
                piece.clear()
                size = 0
        if piece:
            yield "".join(piece)

    writer.write_rank(rank, pieces())
    return count
