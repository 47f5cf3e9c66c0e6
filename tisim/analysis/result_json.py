"""Results as JSON: what ``tisim replay --json`` writes, and what reads it."""

from __future__ import annotations

import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypedDict, cast

from tisim.errors import InputError
from tisim.kernel.file_sums import IoDict
from tisim.kernel.steady import SteadyDict
from tisim.models.jitter import JitterDict
from tisim.support.reading import parse_json, read_text

#: The columns of seconds.
TimeName = Literal["finish", "compute", "communication", "other"]
#: The columns of numbers of things.
CountName = Literal["actions", "bytes_sent", "messages_sent"]
COUNTS: tuple[CountName, ...] = ("actions", "bytes_sent", "messages_sent")
#: The columns of seconds that the core measures.
MEASURED_TIMES: tuple[TimeName, ...] = ("finish", "compute", "other")

# Ranks that become text at once.
_RANKS_AT_ONCE = 4096


class RankBuffer(Protocol):
    """One number a rank, as the core or numpy has it."""

    def tobytes(self) -> bytes: ...


class RankRow(TypedDict):
    """One rank of a result; times in seconds."""

    rank: int
    host: str
    finish: float
    compute: float
    communication: float
    other: float
    actions: int
    bytes_sent: int
    messages_sent: int


#: Columns of `Result.ranks`, in order.
COLUMNS = tuple(RankRow.__annotations__)
#: The values of a `RankRow`, in its order.
RankValues = tuple[int, str, float, float, float, float, int, int, int]


class KindDict(TypedDict):
    """The time of one kind of action by state, in seconds, summed over the ranks."""

    actions: int
    seconds: float
    states: dict[str, float]


class WaitDict(TypedDict):
    """Seconds that ranks were in a wait state because of the rank `cause`."""

    state: str
    cause: int
    seconds: float


class OutlierDict(TypedDict):
    """A computation far longer than those like it; see `tisim.analysis.timeline.outliers`."""

    rank: int
    line: int
    start: float
    seconds: float
    usual: float
    waited: float
    waiting: int


#: What JSON says of an `Outlier`.
OUTLIER_FIELDS = tuple(OutlierDict.__annotations__)


class SlowRanksDict(TypedDict):
    """Ranks of a host that compute `ratio` times as long as the median rank."""

    host: str
    ranks: list[int]
    ratio: float


class LinkDict(TypedDict):
    """Traffic on a link: columns of `tisim.analysis.timeline.links.Links.table`."""

    link: str
    bandwidth: float
    bytes: float
    mean: float
    peak: float


class BreakdownDict(TypedDict):
    """The breakdown of a result; see `tisim.analysis.timeline.EventLog.to_dict`."""

    states: dict[str, float]
    kinds: dict[str, KindDict]
    waits: list[WaitDict]
    outliers: list[OutlierDict]
    slow_ranks: list[SlowRanksDict]
    gains: dict[str, float]
    links: list[LinkDict]


class _Optional(TypedDict, total=False):
    changes: dict[str, str]
    trust: str
    breakdown: BreakdownDict
    uncertainty: dict[str, object]
    jitter: JitterDict
    steady: SteadyDict
    io: IoDict


class SummaryDict(_Optional):
    """A result without its ranks; times in seconds.

    It may have what was changed, in words by name, how far to trust it, a breakdown, the interval
    of replays with other sets of parameters, the times of replays with other seeds, the iterations
    that were not simulated, and what was done with files.
    """

    tisim: str
    trace: str
    platform: str
    simulated_time: float
    actions: int
    wall_time: float
    config: dict[str, object]
    warnings: list[str]


class ResultDict(SummaryDict):
    """A result as plain numbers, texts, lists and dicts."""

    ranks: list[RankRow]


def rank_row(values: RankValues) -> RankRow:
    """The values of a rank with their names."""
    return cast("RankRow", dict(zip(COLUMNS, values, strict=True)))


def columns_of(rows: Sequence[RankRow]) -> dict[str, RankBuffer]:
    """The columns of a result, by name.

    Raises a TypeError, ValueError or OverflowError where one has no numbers, or too large ones.
    """
    columns: dict[str, RankBuffer] = {
        name: array("d", (row[name] for row in rows)) for name in MEASURED_TIMES
    }
    return columns | {name: array("q", (row[name] for row in rows)) for name in COUNTS}


def json_pieces(
    summary: Mapping[str, object], columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    """A result as JSON, a piece at a time: with a million ranks it is long.

    The same as ``json.dumps(..., indent=1)`` would write, in a tenth of its time. `rows` are the
    values of the `columns` of each rank; the second one is the name of its host.
    """
    yield json.dumps(summary, indent=1).removesuffix("\n}") + ',\n "ranks": ['
    fields = ",\n".join(f'   "{name}": %s' for name in columns)
    form = f"\n  {{\n{fields}\n  }}"
    texts: list[str] = []
    between = ""
    for row in rows:
        texts.append(form % (row[0], json.dumps(row[1]), *row[2:]))
        if len(texts) == _RANKS_AT_ONCE:
            yield between + ",".join(texts)
            texts.clear()
            between = ","
    yield (between if texts else "") + ",".join(texts)
    yield "\n ]\n}"


def read_file(path: str | os.PathLike[str]) -> ResultDict:
    """Read a file that ``tisim replay --json`` has written; `InputError` if it is another."""
    return parse(read_text(path, "this result"), path)


def parse(text: str, path: str | os.PathLike[str] | None = None) -> ResultDict:
    """Read the JSON of a result; the `path` where it comes from is for messages of errors."""
    result = parse_json(text, path, "; write a result with: tisim replay --json FILE ...")
    rows = result.get("ranks") if isinstance(result, dict) else None
    time = result.get("simulated_time") if isinstance(result, dict) else None
    if not (
        isinstance(result, dict)
        and isinstance(rows, list)
        and rows
        and all(_is_row(row) for row in rows)
        and _is_finite(time)
        and isinstance(result.get("changes", {}), dict)
    ):
        raise InputError(
            "this is not a result; write one with: tisim replay --json FILE ...", file=path
        )
    return cast("ResultDict", result)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and all(
        isinstance(row.get(name), str) if name == "host" else _is_finite(row.get(name))
        for name in COLUMNS
    )


def _is_finite(value: object) -> bool:
    """Whether it is a number that a time or a sum can be."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max
