"""Results as JSON: what ``tisim replay --json`` writes, and what reads it."""

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
from tisim.support.reading import parse_json, read_text
from tisim.support.shapes import misfit

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


class JitterDict(TypedDict):
    """The replays of one trace with several seeds."""

    start: float  # each rank starts up to so many seconds later
    size: float  # each message moves up to this part of its bytes more or less
    seeds: list[int]
    times: list[float]  # simulated seconds with each seed


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


class CauseDict(TypedDict):
    """States of a rank that waits are due to: a row of `tisim.Result.causes`."""

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
    """A computation far longer than those like it; see `tisim.analysis.timeline.outliers`."""

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
    if os.fspath(path).endswith(".tir"):
        raise InputError(
            "is a run file, which 'tisim view' shows, two of them side by side; compare results of "
            "'tisim replay --json'",
            file=path,
        )
    return parse(read_text(path, "this result"), path)


def parse(text: str, path: str | os.PathLike[str] | None = None) -> ResultDict:
    """Read the JSON of a result; the `path` where it comes from is for messages of errors."""
    result = parse_json(text, path, "; write a result with: tisim replay --json FILE ...")
    why = misfit(result, ResultDict)
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
