"""The format of a run file: members of a ZIP archive, and the columns of its tables.

`docs/reference/run_files.md` describes it completely for other programs.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from tisim.analysis.timeline.columns import ACTION_COLUMNS, MESSAGE_COLUMNS

#: The suffix of run files.
SUFFIX = ".tir"

#: The value of `RunInfo.format`, and the version written and read by this module.
FORMAT = "tisim run"
VERSION = 2

#: The member that describes the others, JSON.
INFO = "run.json"

#: The member with the platform, if it can be expressed as a platform file.
PLATFORM = "platform.xml"

#: Columns of the tables of records, as written by the core, used for pictures and text.
COLUMNS: dict[str, tuple[str, ...]] = {
    "states": ("rank", "start", "end", "state", "kind", "line", "cause", "peer", "bytes"),
    "actions": ACTION_COLUMNS,
    "messages": MESSAGE_COLUMNS,
}

#: Further columns of the table of states, which only the critical path needs.
PATH_COLUMNS = ("started", "receives", "by_peer")


class SpanInfo(TypedDict):
    """A batch of the table of states by rank: the interval of its states, and their number."""

    begin: float
    end: float
    states: int


class LevelInfo(TypedDict):
    """A grid of sums: lanes of `group` ranks each, and the total time in `parts` equal parts.

    `batches`: for each batch its number, first part and last part.
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
    changes: NotRequired[dict[str, str]]  # absent in files of earlier versions of tisim
    config: dict[str, object]
    lanes: NotRequired[list[str]]  # names of lanes that are not ranks, such as streams
    findings: NotRequired[list[str]]  # sentences about a run that is not an MPI run
