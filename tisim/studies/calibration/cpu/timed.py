"""Timed computations: how long each compute action of a program took.

A CSV with a header. ``seconds`` is how long the computation took. Its amount is ``volume``
(instructions or flops) or, if the trace is given, that of the compute action which ``rank`` and
``action`` name: the first compute action of a rank is action 1; without ``action``, the rows of a
rank (and run) are its compute actions in order. ``run``, ``class``, ``working_set`` (bytes) and
``host`` tell measurements apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.studies.calibration.readers.text import Text, read_text

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("rank", "action", "volume", "seconds", "run", "class", "working_set", "host")
_WHOLE = ("rank", "action")
_WORDS = ("run", "class", "host")


def read_timed(
    files: Iterable[str | PathLike[str]], volumes: Mapping[int, list[float]] | None = None
) -> pd.DataFrame:
    """Read timed computations.

    Parameters
    ----------
    files
        CSV files; each that has no column ``run`` is a run of its own.
    volumes
        Amounts of the compute actions of each rank, in order, for files without ``volume``.

    Returns
    -------
    DataFrame
        One row a computation: ``volume``, ``seconds`` (both positive), ``rank`` (0 where it is not
        told), ``run`` (str), and ``class`` (str), ``working_set`` (bytes), ``host`` (str) where
        the files have them.

    Raises
    ------
    InputError
        If a file is not such a CSV, is damaged, or does not go with the trace.
    """
    import pandas as pd

    parts = [_read(read_text(Path(file)), volumes) for file in files]
    return pd.concat(parts, ignore_index=True)


def read_volumes(traces: Sequence[str | PathLike[str]]) -> dict[int, list[float]]:
    """Amounts of the compute actions of each rank of a trace, in order.

    Parameters
    ----------
    traces
        Whatever `tisim.Trace.open` takes, as a list of one or more paths.
    """
    from tisim.traces import Kind, Trace

    trace = Trace.open(traces[0] if len(traces) == 1 else list(traces))
    volumes: dict[int, list[float]] = {}
    for rank in range(trace.ranks):
        volumes[rank] = []
        for batch in trace.operations(rank):
            # The flops of a reduction are computed too, but were not timed as an action.
            computes = batch[(batch["kind"] == Kind.COMPUTE) & (batch["flags"] == 0)]
            volumes[rank].extend(computes["amount"].tolist())
    return volumes


def _read(text: Text, volumes: Mapping[int, list[float]] | None) -> pd.DataFrame:
    import pandas as pd

    lines = [
        (number, line)
        for number, line in enumerate(text.lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    header, heads = lines[0][0], [word.strip() for word in lines[0][1].split(",")]
    _check_header(text, header, heads)
    rows: list[dict[str, object]] = []
    for number, line in lines[1:]:
        words = [word.strip() for word in line.split(",")]
        if len(words) != len(heads) or not all(words):
            raise text.cut(number, ",".join(heads))
        rows.append(_row(text, dict(zip(heads, words, strict=True)), number))
    if not rows:
        raise text.error("a header and no timed computation below it", header)
    frame = pd.DataFrame(rows)
    if "run" not in frame:
        frame["run"] = str(text.path)
    if "rank" not in frame:
        frame["rank"] = 0
    if "volume" not in frame:
        frame["volume"] = _volumes(text, frame, volumes)
    return frame[(frame["volume"] > 0) & (frame["seconds"] > 0)].drop(columns="line")


def _check_header(text: Text, line: int, heads: list[str]) -> None:
    unknown = [head for head in heads if head not in _COLUMNS]
    if unknown or "seconds" not in heads:
        wrong = f"unknown column {unknown[0]!r}" if unknown else "no column 'seconds'"
        raise text.error(
            f"{wrong} in the header; a file of timed computations has the column seconds and some "
            f"of {','.join(_COLUMNS)}",
            line,
        )
    if "volume" not in heads and "rank" not in heads:
        raise text.error(
            "no column 'volume', and no column 'rank' that would find it in a trace", line
        )


def _row(text: Text, words: Mapping[str, str], line: int) -> dict[str, object]:
    row: dict[str, object] = {"line": line}
    for name, word in words.items():
        if name in _WHOLE:
            row[name] = text.size(word, line)
        elif name in _WORDS:
            row[name] = word
        else:
            row[name] = text.quantity(word, f"a {name.replace('_', ' ')}", line)
    return row


def _volumes(
    text: Text, frame: pd.DataFrame, volumes: Mapping[int, list[float]] | None
) -> list[float]:
    """The amount of each row's computation, from the trace."""
    if volumes is None:
        raise text.error(
            "no column 'volume': name the trace whose compute actions were timed, too", 1
        )
    seen: dict[tuple[str, int], int] = {}
    found = []
    for line, run, rank, action in zip(
        frame["line"],
        frame["run"],
        frame["rank"],
        frame["action"] if "action" in frame else [0] * len(frame),
        strict=True,
    ):
        if rank not in volumes:
            raise text.error(f"the trace has no rank {rank}", line)
        place = action or seen.get((run, rank), 0) + 1
        seen[run, rank] = place
        if place > len(volumes[rank]):
            raise text.error(
                f"the trace of rank {rank} has {len(volumes[rank])} compute actions, so there is "
                f"no time to expect for number {place}; is this the trace that was timed?",
                line,
            )
        found.append(volumes[rank][place - 1])
    return found
