"""Results as JSON: what ``tisim replay --json`` writes, and what reads it."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NotRequired, Protocol, Required, TypedDict, cast

from tisim.errors import InputError
from tisim.kernel.file_sums import IoDict
from tisim.kernel.steady import SteadyDict
from tisim.models.jitter import JitterDict

#: The columns that every result has had since its first version.
NECESSARY = ("rank", "host", "finish", "compute", "communication")

#: Columns of `Result.ranks`, in order.
COLUMNS = (
    "rank",
    "host",
    "finish",
    "compute",
    "communication",
    "other",
    "actions",
    "bytes_sent",
    "messages_sent",
)

#: The columns of seconds.
TimeName = Literal["finish", "compute", "communication", "other"]
#: The columns of numbers of things.
CountName = Literal["actions", "bytes_sent", "messages_sent"]
COUNTS: tuple[CountName, ...] = ("actions", "bytes_sent", "messages_sent")
#: The columns of seconds that the core measures.
MEASURED_TIMES: tuple[TimeName, ...] = ("finish", "compute", "other")

# So many ranks become text at once.
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


#: The values of a `RankRow`, in its order.
RankValues = tuple[int, str, float, float, float, float, int, int, int]


class KindDict(TypedDict):
    """Where the time of one kind of action went, in seconds, summed over the ranks."""

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
    """Where the time of a result went, see `tisim.analysis.timeline.EventLog.to_dict`."""

    states: dict[str, float]
    kinds: dict[str, KindDict]
    waits: list[WaitDict]
    outliers: list[OutlierDict]
    slow_ranks: list[SlowRanksDict]
    gains: dict[str, float]
    #: Left out by older versions.
    links: NotRequired[list[LinkDict]]


class _Optional(TypedDict, total=False):
    breakdown: BreakdownDict
    uncertainty: dict[str, object]
    jitter: JitterDict
    steady: SteadyDict
    io: IoDict


class SummaryDict(_Optional):
    """A result without its ranks; times in seconds.

    It may have a breakdown, the interval of replays with other sets of parameters, the times of
    replays with other seeds, the iterations that were not simulated, and what was done with files.
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


class WrittenRow(TypedDict, total=False):
    """One rank as a file has it: an older version of tisim has left some columns out."""

    rank: Required[int]
    host: Required[str]
    finish: Required[float]
    compute: Required[float]
    communication: Required[float]
    other: float
    actions: int
    bytes_sent: int
    messages_sent: int


class WrittenResult(TypedDict, total=False):
    """A result as a file has it: an older version of tisim has left some entries out."""

    tisim: str
    trace: str
    platform: str
    simulated_time: float
    actions: int
    wall_time: float
    config: dict[str, object]
    warnings: list[str]
    breakdown: BreakdownDict
    uncertainty: dict[str, object]
    jitter: JitterDict
    steady: SteadyDict
    io: IoDict
    ranks: Required[list[WrittenRow]]


def rank_row(values: RankValues) -> RankRow:
    """The values of a rank with their names."""
    rank, host, finish, compute, communication, other, actions, bytes_sent, messages_sent = values
    return {
        "rank": rank,
        "host": host,
        "finish": finish,
        "compute": compute,
        "communication": communication,
        "other": other,
        "actions": actions,
        "bytes_sent": bytes_sent,
        "messages_sent": messages_sent,
    }


def time_of(row: RankRow | WrittenRow, name: TimeName) -> float:
    """Seconds of a rank; older versions of tisim did not write `other`."""
    if name == "other" and "other" not in row:
        return float(row["finish"] - row["compute"] - row["communication"])
    return row[name]


def columns_of(rows: Sequence[WrittenRow]) -> dict[str, RankBuffer]:
    """The columns of a result, by name.

    Raises
    ------
    TypeError, ValueError, OverflowError
        When one has no numbers, or too large ones.
    """
    columns: dict[str, RankBuffer] = {
        name: array("d", (time_of(row, name) for row in rows)) for name in MEASURED_TIMES
    }
    return columns | {name: array("q", (row.get(name, 0) for row in rows)) for name in COUNTS}


def json_pieces(
    summary: Mapping[str, object], columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    """A result as JSON, a piece at a time: with a million ranks it is long.

    Parameters
    ----------
    summary
        What is said of the whole.
    columns
        Names of the numbers of a rank.
    rows
        Those numbers, of each rank; the second is the name of its host.

    Yields
    ------
    str
        What ``json.dumps(..., indent=1)`` would write, in a tenth of its time.
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


def read_file(path: str | os.PathLike[str]) -> WrittenResult:
    """Read a file that ``tisim replay --json`` has written.

    Raises
    ------
    InputError
        When the file cannot be read or is no result.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read this result: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise InputError("this is not JSON", file=path) from None
    return parse(text, path)


def parse(text: str, path: str | os.PathLike[str] | None = None) -> WrittenResult:
    """Read the JSON of a result.

    Parameters
    ----------
    text
        The JSON.
    path
        Where it comes from, for the messages of errors.

    Returns
    -------
    WrittenResult
        What the JSON says. Its ``ranks`` have the columns `NECESSARY`, and those of today unless
        an older version has written them. Their values have the types of `WrittenRow`.

    Raises
    ------
    InputError
        When it is no result.
    """
    try:
        result = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not JSON: {error.msg}; write a result with: tisim replay --json FILE ...",
            file=path,
            line=error.lineno,
        ) from None
    rows = result.get("ranks") if isinstance(result, dict) else None
    if not (isinstance(rows, list) and rows and all(_is_row(row) for row in rows)):
        raise InputError(
            "this is no result; write one with: tisim replay --json FILE ...", file=path
        )
    return cast("WrittenResult", result)


def _is_row(row: object) -> bool:
    return (
        isinstance(row, dict)
        and set(NECESSARY) <= row.keys()
        and all(
            isinstance(row[name], str if name == "host" else (int, float))
            for name in COLUMNS
            if name in row
        )
    )
