"""Recorder's traces as a format that can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.recorder.rank_rows import RecordedRank
from tisim.traces.importers.recorder.rows import ROW_BYTES, read_calls

# The folder that recorder2text makes in that of the trace.
_FOLDER = "_text"


class RecorderImporter(Importer):
    """Reads what recorder2text writes."""

    name = "recorder"
    title = "Recorder's traces, written as text by recorder2text"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return ROW_BYTES.match(head) is not None or (
            files[0].is_dir() and bool(_texts(files[0]) or _is_binary(files[0]))
        )

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if options.counter is not None:
            raise InputError("Recorder has no hardware counters; use --speed", file=files[0])
        options.volume_of(0.0)  # refuses a trace without --speed before anything is written
        texts = list(files)
        if files[0].is_dir():
            texts = _texts(files[0])
            if not texts:
                raise InputError(
                    "has no texts of recorder2text; run: recorder2text DIRECTORY", file=files[0]
                )
        elif len(files) == 1:
            texts = _beside(files[0])
        return _RecorderTrace(texts, options, notes)


class _RecorderTrace(ForeignTrace):
    def __init__(self, texts: Sequence[Path], options: ImportOptions, notes: Notes) -> None:
        self._texts = texts
        self._options = options
        self._notes = notes

    @property
    def ranks(self) -> int:
        return len(self._texts)

    @property
    def has_times(self) -> bool:
        return True

    def lines(self, rank: int) -> Iterator[str]:
        text = self._texts[rank]
        yield from RecordedRank(rank, text, self._options, self._notes).lines(read_calls(text))


def _texts(folder: Path) -> list[Path]:
    """The texts of all ranks in their order; none: there are none.

    Raises
    ------
    InputError
        If one is missing.
    """
    inner = folder / _FOLDER
    numbered = {
        int(path.stem): path
        for path in (inner if inner.is_dir() else folder).glob("*.txt")
        if path.stem.isdecimal()
    }
    missing = next((rank for rank in range(len(numbered)) if rank not in numbered), None)
    if missing is not None:
        raise InputError(
            f"has no text of rank {missing}, but one of rank {max(numbered)}", file=folder
        )
    return [numbered[rank] for rank in range(len(numbered))]


def _beside(file: Path) -> list[Path]:
    """The texts of all ranks where one of them was named."""
    found = _texts(file.parent) if file.stem.isdecimal() else []
    return found if file in found else [file]


def _is_binary(folder: Path) -> bool:
    """Whether Recorder has written a trace there, which nobody has made text of."""
    return (folder / "recorder.mt").exists()
