"""tisim's own CSV, with a header, as its benchmark prints it.

Columns, in any order: ``operation``, ``bytes``, ``seconds``; and, where they apply, ``pairs``,
``directions`` and ``pattern`` (of concurrent transfers: ``pairs``, ``shift`` or ``incast``),
``messages`` (of a stream), ``host`` and ``peer`` (where the two processes ran). Operations:
``pingpong`` and ``idle_pingpong`` (round trip, back to back and after both sides slept), ``send``,
``late_send`` (MPI_Send to a receiver that is late by two round trips), ``isend``, ``recv`` (of a
message that has arrived), ``stream`` (all its messages, and an answer) and ``transfer`` (until the
last of the concurrent messages is there). Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

from tisim.studies.calibration.readers.text import Sample, Text

NAME = "tisim's CSV with the header operation,bytes,seconds,..."

OPERATIONS = (
    "pingpong",
    "idle_pingpong",
    "send",
    "late_send",
    "isend",
    "recv",
    "stream",
    "transfer",
)
_REQUIRED = ("operation", "bytes", "seconds")
_OPTIONAL = ("pairs", "directions", "host", "peer", "pattern", "messages")
_PATTERNS = ("pairs", "shift", "incast")
_ROUND_TRIPS = ("pingpong", "idle_pingpong")


def recognises(text: Text) -> bool:
    """Whether the first line that is no comment is a header with the required columns."""
    columns = _columns(_header(text)[1])
    return {"operation", "bytes"} <= set(columns)


def _header(text: Text) -> tuple[int, str]:
    for number, line in enumerate(text.lines, start=1):
        if line.strip() and not line.startswith("#"):
            return number, line
    return 1, ""


def _columns(line: str) -> list[str]:
    return [word.strip() for word in line.split(",")]


def read(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples."""
    header, line = _header(text)
    columns = _columns(line)
    missing = [name for name in _REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in _REQUIRED + _OPTIONAL]
    if missing or unknown:
        wrong = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        raise text.error(
            f"{wrong}; the header has {','.join(_REQUIRED)} and may have {','.join(_OPTIONAL)}",
            header,
        )
    samples: list[Sample] = []
    ends: set[str] = set()
    for number, row in enumerate(text.lines[header:], start=header + 1):
        if not row.strip() or row.startswith("#"):
            continue
        words = _columns(row)
        if len(words) != len(columns) or not all(words):
            raise text.cut(number, ",".join(columns))
        samples.append(_sample(text, dict(zip(columns, words, strict=True)), number))
        if number == len(text.lines) and not text.ended and _is_cut(words[-1], ends):
            raise text.cut(number, ",".join(columns))
        ends.add(words[-1])
    if not samples:
        raise text.error("a header and no measurement below it: measure again", header)
    return samples, []


def _is_cut(end: str, others: set[str]) -> bool:
    """Whether the last word of a last line without an end is what was left of a longer one."""
    if not others or end in others:
        return False
    return len(end) < min(map(len, others)) or any(other.startswith(end) for other in others)


def _sample(text: Text, row: dict[str, str], line: int) -> Sample:
    operation = row["operation"]
    if operation not in OPERATIONS:
        raise text.error(
            f"unknown operation {operation!r}; it is one of {', '.join(OPERATIONS)}", line
        )
    pairs = text.size(row.get("pairs", "1"), line)
    directions = text.size(row.get("directions", "1"), line)
    if pairs < 1 or directions not in (1, 2):
        raise text.error("pairs is at least 1, directions 1 or 2", line)
    seconds = text.quantity(row["seconds"], "a time", line)
    pattern = row.get("pattern", "pairs") if operation == "transfer" else "pairs"
    if pattern not in _PATTERNS:
        raise text.error(f"unknown pattern {pattern!r}; it is one of {', '.join(_PATTERNS)}", line)
    messages = text.size(row.get("messages", "1"), line)
    if messages < 1:
        raise text.error("messages is at least 1", line)
    same_host = row["host"] == row["peer"] if "host" in row and "peer" in row else None
    return Sample(
        operation,
        text.size(row["bytes"], line),
        seconds / 2 if operation in _ROUND_TRIPS else seconds,
        pairs,
        directions,
        same_host,
        pattern=pattern,
        messages=messages,
    )
