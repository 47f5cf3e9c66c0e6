"""The contents of a run file: members of a ZIP archive, and the columns of its tables.

`docs/reference/run_files.md` describes all of it for other programs.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from tisim.analysis.timeline.columns import ACTION_COLUMNS, MESSAGE_COLUMNS

#: The suffix of run files.
SUFFIX = ".tir"

#: The value of `RunInfo.format`, and the version that this module writes and reads.
FORMAT = "tisim run"
VERSION = 2

#: The member that describes the others, JSON.
INFO = "run.json"

#: The member that has the platform, where that can be written: a platform file.
PLATFORM = "platform.xml"

#: Columns of the tables of records, as the core writes them; pictures and words are made of these.
COLUMNS: dict[str, tuple[str, ...]] = {
    "states": ("rank", "start", "end", "state", "kind", "line", "cause", "peer", "bytes"),
    "actions": ACTION_COLUMNS,
    "messages": MESSAGE_COLUMNS,
}

#: More columns of the table of states, which only the critical path needs.
PATH_COLUMNS = ("started", "receives", "by_peer")


class SpanInfo(TypedDict):
    """A batch of the table of states by rank: the time its states lie in, and their number."""

    begin: float
    end: float
    states: int


class LevelInfo(TypedDict):
    """A grid of sums: lanes of `group` ranks each, and the whole time in `parts` equal parts.

    `batches`: of each of its batches the number, and the first and the last part.
    """

    group: int
    parts: int
    batches: list[tuple[int, int, int]]


class RunInfo(TypedDict):
    """The contents of `run.json`."""

    format: str
    version: int
    tisim: str
    title: str
    measured: bool
    ranks: int
    end: float
    hosts: list[str]
    host_of: list[int]
    states: list[str]
    kinds: list[str]
    keys: list[list[int]]
    spans: list[SpanInfo]
    levels: list[LevelInfo]
    records: dict[str, int]
    trace: str | None
    changes: NotRequired[dict[str, str]]  # files of earlier versions of tisim have none
    config: dict[str, object]
    lanes: NotRequired[list[str]]  # what pictures call ranks that are none, such as streams
    findings: NotRequired[list[str]]  # sentences about a run that is not one of MPI
