"""The formats of timelines, by the suffixes of their files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.analysis.timeline.output import Output
    from tisim.analysis.timeline.run import Run


def _csv(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.formats.csv import csv_output

    return csv_output(path)


def _parquet(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.formats.parquet import ParquetOutput

    return ParquetOutput(path)


def _perfetto(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.formats.perfetto import PerfettoOutput

    return PerfettoOutput(path, run)


def _paje(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.formats.paje import paje_output

    return paje_output(path, run)


def _paraver(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.formats.paraver import ParaverOutput

    return ParaverOutput(path, run)


def _run_file(path: Path, run: Run) -> Output:
    from tisim.analysis.timeline.run_file.output import RunFileOutput

    return RunFileOutput(path, run)


_FORMATS: dict[str, Callable[[Path, Run], Output]] = {
    ".perfetto-trace": _perfetto,
    ".trace": _paje,
    ".prv": _paraver,
    ".parquet": _parquet,
    ".csv": _csv,
    ".tir": _run_file,
}

#: Suffixes of timelines, and what they stand for.
SUFFIXES = {
    ".perfetto-trace": "Perfetto, for ui.perfetto.dev",
    ".trace": "Paje, as SimGrid writes it",
    ".prv": "Paraver, with .pcf and .row",
    ".parquet": "Parquet, with .messages.parquet",
    ".csv": "CSV, with .messages.csv",
    ".tir": "a run file, for tisim view",
    ".timed.csv": "the timed trace: each action with its duration",
}

#: Suffixes of the formats that can show a part of the time.
WITH_PARTS = (".perfetto-trace",)


def timeline_output(path: str | os.PathLike[str], run: Run) -> Output:
    """What writes a timeline to a file, in the format that its suffix names.

    Parameters
    ----------
    path
        The file.
    run
        What is simulated.

    Raises
    ------
    InputError
        When the suffix names no format, or the file cannot be made.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    make = _FORMATS.get(suffix)
    if make is None:
        raise InputError(f"a timeline's suffix is one of {', '.join(SUFFIXES)}", file=target)
    if run.part is not None and suffix not in WITH_PARTS:
        raise InputError(
            f"holds all of the time; --begin and --end choose a part of {', '.join(WITH_PARTS)}, "
            "--gantt and --report",
            file=target,
        )
    return make(target, run)
