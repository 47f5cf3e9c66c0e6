"""Results as JSON: the format of ``tisim replay --json``, and its reader."""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypedDict, cast

from tisim.errors import InputError
from tisim.kernel.file_sums import IoDict
from tisim.kernel.steady import SteadyDict
from tisim.support.json_types import type_mismatch
from tisim.support.reading import parse_json, read_text

#: Columns in seconds.
TimeName = Literal["finish", "compute", "communication", "other"]
#: Columns of counts.
CountName = Literal["actions", "bytes_sent", "messages_sent"]
COUNTS: tuple[CountName, ...] = ("actions", "bytes_sent", "messages_sent")
#: Columns in seconds that the core measures.
MEASURED_TIMES: tuple[TimeName, ...] = ("finish", "compute", "other")

# Number of ranks converted to text at once.
_RANKS_AT_ONCE = 4096


class RankBuffer(Protocol):
    """One number per rank, provided by the core or numpy."""

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


class JitterDict(TypedDict):
    """The replays of one trace with several seeds."""

    start: float  # maximum delay of a rank's start, in seconds
    size: float  # maximum relative change of a message's size
    seeds: list[int]
    times: list[float]  # simulated seconds with each seed


class KindDict(TypedDict):
    """The time of one kind of action by state, in seconds, summed over the ranks."""

    actions: int
    seconds: float
    states: dict[str, float]


class WaitDict(TypedDict):
    """Seconds that ranks spent in a wait state because of the rank `cause`."""

    state: str
    cause: int
    seconds: float


class CauseDict(TypedDict):
    """States of a rank that cause waits: a row of `tisim.Result.causes`."""

    rank: int
    state: str
    seconds: float
    share: float
    ranks: int
    parts: int
    start: float
    end: float
    line: int


class OutlierDict(TypedDict):
    """A computation far longer than comparable ones; see `tisim.analysis.timeline.outliers`."""

    rank: int
    line: int
    start: float
    seconds: float
    usual: float
    waited: float
    waiting: int


#: The JSON of an `Outlier`.
OUTLIER_FIELDS = tuple(OutlierDict.__annotations__)


class SlowRanksDict(TypedDict):
    """Ranks of a host whose computations take `ratio` times as long as the median rank's."""

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


class _OfGpus(TypedDict, total=False):
    gpus: dict[str, float]


class BreakdownDict(_OfGpus):
    """The breakdown of a result; see `tisim.analysis.timeline.EventLog.to_dict`."""

    states: dict[str, float]
    kinds: dict[str, KindDict]
    waits: list[WaitDict]
    causes: list[CauseDict]
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
    volumes: dict[str, str]


class SummaryDict(_Optional):
    """A result without its ranks; times in seconds.

    Optional parts: changes (in words by name), trust, a breakdown, the interval of replays with
    other parameter sets, the times of replays with other seeds, the skipped iterations, and the
    file accesses.
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
    """Return the values of a rank with their names."""
    return cast("RankRow", dict(zip(COLUMNS, values, strict=True)))


def columns_of(rows: Sequence[RankRow]) -> dict[str, RankBuffer]:
    """Return the columns of a result, by name.

    Raises a TypeError, ValueError or OverflowError if a value is not a number or too large.
    """
    columns: dict[str, RankBuffer] = {
        name: array("d", (row[name] for row in rows)) for name in MEASURED_TIMES
    }
    return columns | {name: array("q", (row[name] for row in rows)) for name in COUNTS}


def json_pieces(
    summary: Mapping[str, object], columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    """Yield a result as JSON in pieces: with a million ranks it is long.

    The text is that of ``json.dumps(..., indent=1)``, in a tenth of its time. `rows` contain the
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
    """Read a file written by ``tisim replay --json``; raise `InputError` for any other file."""
    if os.fspath(path).endswith(".tir"):
        raise InputError(
            "is a run file: 'tisim view' shows one, or two side by side; 'tisim compare' needs "
            "results of 'tisim replay --json'",
            file=path,
        )
    return parse(read_text(path, "this result"), path)


def parse(text: str, path: str | os.PathLike[str] | None = None) -> ResultDict:
    """Parse the JSON of a result; `path` is its source, for error messages."""
    result = parse_json(text, path, "; write a result with: tisim replay --json FILE ...")
    why = type_mismatch(result, ResultDict)
    found = cast("ResultDict", result)
    if why is None and not found["ranks"]:
        why = "it has no ranks"
    if why is None:
        times = (row[name] for row in found["ranks"] for name in MEASURED_TIMES)
        if not all(map(math.isfinite, (found["simulated_time"], *times))):
            why = "a time is not a number"
    if why is not None:
        raise InputError(
            f"this is not a result ({why}); write one with: tisim replay --json FILE ...", file=path
        )
    return found
