"""Readers of measurement files, recognised by content."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError
from tisim.support.reading import read_input

#: Timed operations: a ping-pong one way, back to back or after both sides slept; MPI_Send, with the
#: receiver ready, late, or late and probing; MPI_Isend; the MPI_Recv of a message that had time to
#: arrive; each further message of a stream; an MPI_Test and an MPI_Iprobe that find nothing;
#: several messages to one receiver, until the first and until all have arrived; concurrent messages
#: until the last has arrived; a message between two hosts while all other pairs of a round also
#: send, and the shortest of several one-byte messages between them, one way; a block that a
#: collective copies within a rank's memory, and one that it combines with another in a sum.
OPERATIONS = (
    "pingpong",
    "idle_pingpong",
    "send",
    "late_send",
    "probed_send",
    "isend",
    "recv",
    "stream",
    "test",
    "iprobe",
    "arrival",
    "transfer",
    "beside",
    "short_trip",
    "copy",
    "combine",
)


class Sample(NamedTuple):
    """One measured time, in common units for all formats."""

    operation: str  # one of `OPERATIONS`
    nbytes: int  # size of one message
    seconds: float  # the measured time
    # pairs, directions: concurrent pairs of processes, and concurrent directions of each pair
    pairs: int = 1
    directions: int = 1
    # True if the processes were on one host; None if the format does not say.
    same_host: bool | None = None
    # Seconds since the previous call ended; nan if the format does not say.
    idle: float = math.nan
    pattern: str = "pairs"  # of concurrent transfers: pairs, shift, incast or fan-out
    messages: int = 1  # of a stream: total number; of an arrival: number of arrived messages
    # Hosts of the two processes, if the format has them; round, for messages of all pairs.
    host: str = ""
    peer: str = ""
    round: int = 0


@dataclass(frozen=True)
class Text:
    """A measurement file as lines; `ended` if the last line is terminated."""

    path: Path
    lines: Sequence[str]
    ended: bool

    def error(self, message: str, line: int | None = None) -> InputError:
        """Return an error at `line` (counted from 1) of this file."""
        return InputError(message, file=self.path, line=line)

    def cut(self, line: int, expected: str) -> InputError:
        """Return the error of an incomplete row."""
        row = self.lines[line - 1].strip()
        return self.error(
            f"a truncated or damaged line: expected {expected}, got {row!r}; remove the line or "
            "measure again",
            line,
        )

    def size(self, word: str, line: int) -> int:
        """Parse a message size in bytes."""
        value = self._number(word, "a message size", line)
        if value < 0 or value != int(value):
            raise self.error(f"a message size must be a whole number of bytes, not {word!r}", line)
        return int(value)

    def quantity(self, word: str, what: str, line: int) -> float:
        """Parse a non-negative number; `what` names it in the message."""
        value = self._number(word, what, line)
        if value < 0:
            raise self.error(
                f"{what} is negative ({word}): the clock went backwards; remove the line or "
                "measure again",
                line,
            )
        return value

    def _number(self, word: str, what: str, line: int) -> float:
        try:
            value = float(word)
        except ValueError:
            raise self.error(f"{what} was expected here, not {word!r}", line) from None
        if not math.isfinite(value):
            raise self.error(f"{what} must be finite, not {word!r}", line)
        return value


def read_text(path: Path) -> Text:
    """Read a file as text; raises `InputError` if it cannot be read, is binary, or is empty."""
    content = read_input(path, "the measurements")
    if b"\0" in content:
        raise InputError(
            "a binary file instead of measurements; unpack it if it is an archive", file=path
        )
    lines = content.decode("utf-8-sig", errors="replace").splitlines()  # also of Windows
    text = Text(path, lines, content.endswith((b"\n", b"\r")))
    if not any(line.strip() for line in text.lines):
        raise InputError("the file is empty", file=path)
    return text


# Blocks are enclosed by ``begin result "NAME"`` and ``end result "NAME"`` (an optional ``#`` first)
# and contain rows ``(variable= value)* bytes time stderr repetitions [a time a process]*``. The
# time of a ping-pong is the round trip, in microseconds. Rows pasted below an ``end`` line belong
# to the last named block.

SKAMPI = "a SKaMPI result file"
_MARK = re.compile(r'#?\s*(begin|end)\s+result\s+"([^"]*)"')
_VARIABLE = re.compile(r"\w+=\s*\S+\s+")
_SKAMPI_ROW = "(variable= value)* bytes time stderr repetitions [a time a process]*"
# Ping-pongs with calls other than MPI_Send and MPI_Recv have different times.
_OTHER_CALLS = frozenset(
    ("isend", "issend", "ssend", "bsend", "rsend", "irecv", "probe", "iprobe", "sendrecv")
)
_MICROSECOND = 1e-6


def read_skampi(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples of all ping-pong blocks, and a remark for each omitted block."""
    names: dict[str, int] = {}
    samples: list[Sample] = []
    widths: dict[str, int] = {}
    current, opened = "", 0
    for number, line in enumerate(text.lines, start=1):
        mark = _MARK.match(line)
        if mark:
            if mark[1] == "begin":
                if opened:
                    raise text.error(_unfinished(current), opened)
                current, opened = mark[2], number
            else:
                current, opened = mark[2], 0
            names.setdefault(current, 0)
        elif line.strip() and not line.lstrip().startswith("#"):
            if not names:
                raise text.error('a row before the first "begin result" line', number)
            words = _numbers(text, line, number, widths, current)
            names[current] += 1
            if _is_ping_pong(current):
                took = text.quantity(words[1], "the time of a ping-pong", number) * _MICROSECOND
                samples.append(Sample("pingpong", text.size(words[0], number), took / 2))
    if opened:
        raise text.error(_unfinished(current), opened)
    if not samples:
        results = ", ".join(f"{name} ({rows} rows)" for name, rows in names.items())
        raise text.error(
            f"no ping-pong of MPI_Send and MPI_Recv among the results of this file: {results}"
        )
    remarks = [
        f"{text.path}: result {name!r} is not a ping-pong of MPI_Send and MPI_Recv; its {rows} "
        "rows are not used"
        for name, rows in names.items()
        if rows and not _is_ping_pong(name)
    ]
    return samples, remarks


def _unfinished(name: str) -> str:
    return f'result "{name}" begins here but has no end: the file is truncated; measure again'


def _is_ping_pong(name: str) -> bool:
    words = re.split(r"[\W_]+", name.lower())
    ping_pong = "pingpong" in words or {"ping", "pong"} <= set(words)
    return ping_pong and not _OTHER_CALLS.intersection(words)


def _numbers(text: Text, line: str, number: int, widths: dict[str, int], block: str) -> list[str]:
    """Return the words of a row without its loop variables; rows of a block have equal lengths."""
    row = line.strip() + " "
    while match := _VARIABLE.match(row):
        row = row[match.end() :]
    words = row.split()
    if len(words) < 4 or widths.setdefault(block, len(words)) != len(words):
        raise text.cut(number, _SKAMPI_ROW)
    return words


# Latencies are one way, in microseconds. Bandwidths are in MB/s, 1 MB = 1e6 bytes, summed over both
# directions (bibw) or over all pairs (mbw_mr).

OSU = "output of the OSU micro-benchmarks (osu_latency, osu_bw, osu_bibw, osu_mbw_mr)"
_TITLE = re.compile(r"#\s*OSU\s+(MPI\S*\s+.*?)\s*(?:v\d.*|\(.*)?$")
_OSU_COLUMNS = re.compile(r"#\s*Size\s")
_PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d+)")
_MEGABYTE = 1e6
# Messages that osu_bw sends before it waits for an answer.
_WINDOW = 64


def read_osu(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples of each benchmark in the file."""
    samples: list[Sample] = []
    title: str | None = None
    pairs, width = 1, 0
    for number, line in enumerate(text.lines, start=1):
        row = line.strip()
        if row.startswith("#"):
            if match := _TITLE.match(row):
                title, pairs, width = _known(text, match[1], number), 1, 0
            elif match := _PAIRS.match(row):
                pairs = int(match[1])
            continue
        words = row.split()
        if not words or not words[0][0].isdigit():
            continue  # blank, or output of a job script around the benchmark
        if title is None:
            raise text.error(
                "rows without a title: keep the line '# OSU MPI ... Test', which tells latencies "
                "from bandwidths, and one direction from both",
                number,
            )
        width = width or len(words)
        if len(words) < 2 or len(words) != width:
            raise text.cut(number, f"a size and {max(width - 1, 1)} measured numbers")
        samples.extend(_osu_sample(text, title, pairs, words, number))
    if not samples:
        raise text.error("no measurement below the title: the file is truncated; measure again")
    return samples, []


def _known(text: Text, title: str, line: int) -> str:
    """Return the benchmark that a title names."""
    name = re.sub(r"^mpi(-\S+)?\s", "", title.lower()).removesuffix("test").strip()
    known = {
        "latency": "latency",
        "bandwidth": "bw",
        "bi-directional bandwidth": "bibw",
        "multiple bandwidth / message rate": "mbw",
    }.get(name)
    if known is None:
        raise text.error(
            f"the benchmark {title!r} is not one of osu_latency, osu_bw, osu_bibw, osu_mbw_mr; "
            "omit this file",
            line,
        )
    return known


def _osu_sample(text: Text, title: str, pairs: int, words: list[str], line: int) -> list[Sample]:
    nbytes = text.size(words[0], line)
    if title == "latency":
        seconds = text.quantity(words[1], "a latency", line) * _MICROSECOND
        return [Sample("pingpong", nbytes, seconds)]
    rate = text.quantity(words[1], "a bandwidth", line) * _MEGABYTE
    if rate == 0 or nbytes == 0:
        return []
    directions = 2 if title == "bibw" else 1
    samples = [Sample("transfer", nbytes, pairs * directions * nbytes / rate, pairs, directions)]
    if title == "bw":
        samples.append(Sample("stream", nbytes, _WINDOW * nbytes / rate, messages=_WINDOW))
    return samples


# Times are in microseconds. That of PingPong is one way; that of PingPing and Sendrecv is the time
# in which every process sends and receives one message.

IMB = "output of the Intel MPI Benchmarks (PingPong, PingPing, Sendrecv)"
_SECTION = re.compile(r"\s*#\s*Benchmarking\s+(\S+)")
_IMB_COLUMNS = re.compile(r"\s*#bytes\s+#repetitions\s+(.*)")
_USED = {"pingpong": ("pingpong", 1), "pingping": ("transfer", 2), "sendrecv": ("transfer", 2)}
_TIMES = ("t[usec]", "t_avg[usec]")


def read_imb(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples of the sections that are used, and a remark for each other section."""
    samples: list[Sample] = []
    others: dict[str, None] = {}
    section, columns = "", list[str]()
    for number, line in enumerate(text.lines, start=1):
        row = line.strip()
        if match := _SECTION.match(row):
            section, columns = match[1], []
            if section.lower() not in _USED:
                others.setdefault(section)
        elif match := _IMB_COLUMNS.match(row):
            columns = ["#bytes", "#repetitions", *match[1].split()]
        elif row and not row.startswith("#") and section.lower() in _USED and columns:
            words = row.split()
            if not words[0][0].isdigit():
                columns = []  # remarks below the last row of a section
                continue
            samples.append(_imb_sample(text, section, columns, words, number))
        elif row and row[0].isdigit() and not section:
            raise text.error(
                "rows without the line '# Benchmarking NAME' above them: keep it, it names the "
                "measurement",
                number,
            )
    if not samples:
        only = f", only of {', '.join(others)}" if others else ": it is truncated; measure again"
        raise text.error(f"this file has no row of PingPong, PingPing or Sendrecv{only}")
    return samples, [f"{text.path}: {name} of IMB is not used" for name in others]


def _imb_sample(
    text: Text, section: str, columns: list[str], words: list[str], line: int
) -> Sample:
    if len(words) != len(columns):
        raise text.cut(line, " ".join(columns))
    place = next((columns.index(name) for name in _TIMES if name in columns), None)
    if place is None:
        raise text.error(f"no column {' or '.join(_TIMES)} above this row", line)
    nbytes = text.size(words[0], line)
    seconds = text.quantity(words[place], "a time", line) * _MICROSECOND
    operation, directions = _USED[section.lower()]
    return Sample(operation, nbytes, seconds, 1, directions)


# Columns, in any order: ``operation``, ``bytes``, ``seconds``; and, where they apply, ``pairs``,
# ``directions`` and ``pattern`` (of concurrent transfers: ``pairs``, ``shift``, ``incast`` or
# ``fan-out``), ``messages`` (of a stream), ``host`` and ``peer`` (of the two processes), ``round``
# (of messages of all pairs). Operations: ``pingpong`` and ``idle_pingpong`` (round trip, back to
# back and after both sides slept), ``send``, ``late_send`` (MPI_Send to a receiver that is late by
# two round trips), ``probed_send`` (to one that is equally late, and probes), ``isend``, ``recv``
# (of a message that has arrived), ``stream`` (all its messages, and an answer), ``test`` and
# ``iprobe`` (an MPI_Test and an MPI_Iprobe that find nothing), ``arrival`` (several messages to one
# receiver, until the first and until all have arrived: ``messages`` of 1 and more), ``copy`` (an
# MPI_Alltoall of one rank), ``combine`` (an MPI_Reduce_local of sums) and ``transfer`` (until the
# last concurrent message has arrived). Lines that begin with ``#`` are comments; ``# library:`` is
# followed by the version string of the MPI library.

OWN = "tisim's CSV with the header operation,bytes,seconds,..."
_REQUIRED = ("operation", "bytes", "seconds")
_OPTIONAL = ("pairs", "directions", "host", "peer", "pattern", "messages", "round")
_PATTERNS = ("pairs", "shift", "incast", "fan-out")
_ROUND_TRIPS = ("pingpong", "idle_pingpong", "short_trip")


_LIBRARY = "# library:"


def library_of(text: Text) -> str | None:
    """Return the MPI library's version string from the file; None if it has none."""
    for line in text.lines:
        if line.startswith(_LIBRARY):
            return line.removeprefix(_LIBRARY).strip()
    return None


def _header(text: Text) -> tuple[int, str]:
    for number, line in enumerate(text.lines, start=1):
        if line.strip() and not line.startswith("#"):
            return number, line
    return 1, ""


def _columns(line: str) -> list[str]:
    return [word.strip() for word in line.split(",")]


def read_own(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples."""
    header, line = _header(text)
    columns = _columns(line)
    missing = [name for name in _REQUIRED if name not in columns]
    unknown = [name for name in columns if name not in _REQUIRED + _OPTIONAL]
    if missing or unknown:
        wrong = f"no column {missing[0]!r}" if missing else f"unknown column {unknown[0]!r}"
        raise text.error(
            f"{wrong}; the header must contain {','.join(_REQUIRED)} and may contain "
            f"{','.join(_OPTIONAL)}",
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
        samples.append(_own_sample(text, dict(zip(columns, words, strict=True)), number))
        if number == len(text.lines) and not text.ended and _is_cut(words[-1], ends):
            raise text.cut(number, ",".join(columns))
        ends.add(words[-1])
    if not samples:
        raise text.error("a header without measurements: measure again", header)
    return samples, []


def _is_cut(end: str, others: set[str]) -> bool:
    """Return whether the last word of an unterminated last line is truncated."""
    if not others or end in others:
        return False
    return len(end) < min(map(len, others)) or any(other.startswith(end) for other in others)


def _own_sample(text: Text, row: dict[str, str], line: int) -> Sample:
    operation = row["operation"]
    if operation not in OPERATIONS:
        raise text.error(
            f"unknown operation {operation!r}; known are {', '.join(OPERATIONS)}", line
        )
    pairs = text.size(row.get("pairs", "1"), line)
    directions = text.size(row.get("directions", "1"), line)
    if pairs < 1 or directions not in (1, 2):
        raise text.error("pairs must be at least 1, directions 1 or 2", line)
    seconds = text.quantity(row["seconds"], "a time", line)
    pattern = row.get("pattern", "pairs") if operation == "transfer" else "pairs"
    if pattern not in _PATTERNS:
        raise text.error(f"unknown pattern {pattern!r}; known are {', '.join(_PATTERNS)}", line)
    messages = text.size(row.get("messages", "1"), line)
    if messages < 1:
        raise text.error("messages must be at least 1", line)
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
        host=row.get("host", ""),
        peer=row.get("peer", ""),
        round=text.size(row.get("round", "0"), line),
    )


# Every row is the time in one MPI call. In a ping-pong an MPI_Send row is followed by an MPI_Recv
# row that repeats its start: their sum is the round trip. Any other MPI_Recv row is the receive of
# a message that had arrived. MPI_Test and MPI_Iprobe are called until they find a message: all but
# the last of many find nothing.

SIMGRID = "CSV rows op,bytes,start,duration without a header"
_SIMGRID_ROW = re.compile(r"\s*MPI_\w+\s*,")
_OPERATIONS = {
    "MPI_Send": "send",
    "MPI_Isend": "isend",
    "MPI_Recv": "recv",
    "MPI_Test": "test",
    "MPI_Iprobe": "iprobe",
}


def read_simgrid(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples, and a remark for each kind of call that is not used."""
    samples: list[Sample] = []
    unused: dict[str, int] = {}
    width = 0
    sent: tuple[str, str, float] | None = None
    ended = math.inf
    for number, line in enumerate(text.lines, start=1):
        if not line.strip():
            continue
        words = [word.strip() for word in line.split(",")]
        if len(words) != 4 or not all(words):
            raise text.cut(number, "op,bytes,start,duration")
        call, size, start, duration = words
        nbytes = text.size(size, number)
        started = text.quantity(start, "a start", number)
        seconds = text.quantity(duration, "a duration", number)
        operation = _OPERATIONS.get(call)
        if operation is None:
            unused[call] = unused.get(call, 0) + 1
        elif operation == "recv" and sent is not None and sent[:2] == (size, start):
            samples.append(Sample("pingpong", nbytes, (sent[2] + seconds) / 2))
        else:
            idle = started - ended if started > ended else math.nan
            samples.append(Sample(operation, nbytes, seconds, idle=idle))
        ended = started + seconds
        sent = (size, start, seconds) if operation == "send" else None
        # All durations are printed with the same number of digits; fewer in an unterminated last
        # line mean that it is truncated.
        if number == len(text.lines) and not text.ended and len(duration) < width:
            raise text.cut(number, "op,bytes,start,duration")
        width = max(width, len(duration))
    remarks = [f"{text.path}: {rows} rows of {call} are not used" for call, rows in unused.items()]
    return samples, remarks


def _has_line(text: Text, *patterns: re.Pattern[str]) -> bool:
    return any(pattern.match(line) for line in text.lines for pattern in patterns)


#: Name, recogniser and reader of each format, in the order of trial.
READERS: tuple[
    tuple[str, Callable[[Text], bool], Callable[[Text], tuple[list[Sample], list[str]]]], ...
] = (
    (SKAMPI, lambda text: _has_line(text, _MARK), read_skampi),
    (OSU, lambda text: _has_line(text, _TITLE, _OSU_COLUMNS), read_osu),
    (IMB, lambda text: _has_line(text, _SECTION, _IMB_COLUMNS), read_imb),
    (OWN, lambda text: {"operation", "bytes"} <= set(_columns(_header(text)[1])), read_own),
    (SIMGRID, lambda text: bool(_SIMGRID_ROW.match(_first(text))), read_simgrid),
)


def _first(text: Text) -> str:
    return next(line for line in text.lines if line.strip())


def read_file(path: Path) -> tuple[list[Sample], list[str], str | None]:
    """Read one measurement file of any format.

    Returns the measured times, information about the file for the user, and the MPI library, if the
    file names it. Raises `InputError` if the file has an unknown format, or a line cannot be read.
    """
    text = read_text(path)
    for _, recognises, read in READERS:
        if recognises(text):
            return *read(text), library_of(text)
    known = "; ".join(name for name, *_ in READERS)
    raise text.error(
        f"unknown format of measurements (the file begins with {_first(text).strip()[:60]!r}); "
        f"known are: {known}. 'tisim benchmark --print' shows how to measure."
    )
