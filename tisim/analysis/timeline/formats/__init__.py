"""Timeline formats, by file suffix."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.run import WrittenByCore, files_of, is_timed
from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.analysis.timeline.run import Output, Run

#: Suffixes of timelines, and their descriptions.
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
    """Return the output that writes a timeline to a file, in the format of its suffix.

    Only the module of that format is loaded, because some need libraries. Raises an `InputError` if
    the suffix is unknown, or the file cannot be created.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"the suffix of a timeline must be one of {', '.join(SUFFIXES)}", file=target
        )
    if run.part is not None and suffix not in WITH_PARTS:
        raise InputError(
            f"always contains the whole run; --begin and --end apply to {', '.join(WITH_PARTS)}, "
            "--gantt and --report",
            file=target,
        )
    if suffix == ".perfetto-trace":
        from tisim.analysis.timeline.formats.perfetto import PerfettoOutput

        return PerfettoOutput(target, run)
    if suffix == ".prv":
        from tisim.analysis.timeline.formats.paraver import ParaverOutput

        return ParaverOutput(target, run)
    if suffix == ".parquet":
        from tisim.analysis.timeline.formats.parquet import ParquetOutput

        return ParquetOutput(target)
    if suffix == ".tir":
        from tisim.analysis.timeline.run_file.writer import RunFileOutput

        return RunFileOutput(target, run)
    if suffix == ".trace":  # the states and links that SimGrid 3.32 writes with -trace
        return WrittenByCore({target: _core.PajeWriter(run.ranks)})
    if is_timed(target):
        return WrittenByCore({target: _core.TimedCsv()})
    actions, messages = files_of(target)
    return WrittenByCore({actions: _core.ActionsCsv(), messages: _core.MessagesCsv()})
