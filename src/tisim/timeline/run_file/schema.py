"""What a run file consists of: members of a ZIP archive, and the columns of its tables.

`docs/reference/run_files.md` describes all of it for other programs.
"""

from __future__ import annotations

from typing import TypedDict

from tisim.timeline.formats.parquet import MESSAGE_COLUMNS

#: The suffix of run files.
SUFFIX = ".tir"

#: What `RunInfo.format` says, and the version that this module writes and reads.
FORMAT = "tisim run"
VERSION = 2

#: The member that describes the others, JSON.
INFO = "run.json"

#: The member that has the platform, where that can be written: a platform file.
PLATFORM = "platform.xml"

#: Rows of a block (a row group of Parquet). A window of a picture reads whole blocks.
BLOCK = 1 << 17

#: Columns of the tables of records, and the fields of the core's rows that they are made of.
COLUMNS: dict[str, dict[str, str]] = {
    "states": {
        "rank": "rank",
        "start": "start",
        "end": "end",
        "state": "state",
        "kind": "kind",
        "line": "line",
        "cause": "cause",
        "peer": "peer",
        "bytes": "bytes",
    },
    "actions": {
        "rank": "rank",
        "start": "start",
        "end": "end",
        "kind": "kind",
        "line": "line",
        "peer": "peer",
        "bytes": "bytes",
        "volume": "volume",
        "communicator": "comm",
    },
    "messages": MESSAGE_COLUMNS,
}

#: More columns of the table of states, which only the critical path needs.
PATH_COLUMNS = {"started": "started", "receives": "receives", "by_peer": "by_peer"}

#: The column of lists in the table of states by rank, and what its elements consist of.
SPANS = "states"
SPAN_COLUMNS = ("end", "key")

#: The same of the table of sums. An element is one of the cells that are not empty.
CELLS = "cells"
CELL_COLUMNS = ("part", "key", "seconds", "longest", "count")


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
    """What `run.json` says."""

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
    config: dict[str, object]
