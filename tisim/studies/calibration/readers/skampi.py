"""Result files of SKaMPI 5 and 6.

Blocks stand between ``begin result "NAME"`` and ``end result "NAME"`` (a ``#`` before them is
optional) and hold rows ``(variable= value)* bytes time stderr repetitions [a time a process]*``.
The time of a ping-pong is the round trip, in microseconds. Rows that somebody pasted below an
``end`` line belong to the block that was named last.
"""

from __future__ import annotations

import re

from tisim.studies.calibration.readers.text import Sample, Text

NAME = "a SKaMPI result file"

_MARK = re.compile(r'#?\s*(begin|end)\s+result\s+"([^"]*)"')
_VARIABLE = re.compile(r"\w+=\s*\S+\s+")
_ROW = "(variable= value)* bytes time stderr repetitions [a time a process]*"
# Ping-pongs whose calls are not MPI_Send and MPI_Recv have a time of their own.
_OTHER_CALLS = frozenset(
    ("isend", "issend", "ssend", "bsend", "rsend", "irecv", "probe", "iprobe", "sendrecv")
)
_MICROSECOND = 1e-6


def recognises(text: Text) -> bool:
    """Whether a line begins or ends a result."""
    return any(_MARK.match(line) for line in text.lines)


def read(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples of all ping-pong blocks, and a remark for each block left out."""
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
                samples.append(_sample(text, words, number))
    if opened:
        raise text.error(_unfinished(current), opened)
    if not samples:
        found = ", ".join(f"{name} ({rows} rows)" for name, rows in names.items())
        raise text.error(
            f"no ping-pong of MPI_Send and MPI_Recv among the results of this file: {found}"
        )
    remarks = [
        f"{text.path}: result {name!r} is no ping-pong of MPI_Send and MPI_Recv; its {rows} rows "
        "are not used"
        for name, rows in names.items()
        if rows and not _is_ping_pong(name)
    ]
    return samples, remarks


def _unfinished(name: str) -> str:
    return f'result "{name}" begins here and has no end: the file is cut; measure it again'


def _is_ping_pong(name: str) -> bool:
    words = re.split(r"[\W_]+", name.lower())
    ping_pong = "pingpong" in words or {"ping", "pong"} <= set(words)
    return ping_pong and not _OTHER_CALLS.intersection(words)


def _numbers(text: Text, line: str, number: int, widths: dict[str, int], block: str) -> list[str]:
    """The words of a row without its loop variables; all rows of a block have as many."""
    row = line.strip() + " "
    while match := _VARIABLE.match(row):
        row = row[match.end() :]
    words = row.split()
    if len(words) < 4 or widths.setdefault(block, len(words)) != len(words):
        raise text.cut(number, _ROW)
    return words


def _sample(text: Text, words: list[str], number: int) -> Sample:
    nbytes = text.size(words[0], number)
    round_trip = text.quantity(words[1], "the time of a ping-pong", number) * _MICROSECOND
    return Sample("pingpong", nbytes, round_trip / 2)
