"""The rows that recorder2text writes: one call each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError

_ROW = re.compile(r"(-?\d+\.\d+) (-?\d+\.\d+) (\S+) (\d+) (\d+) \( ?(.*)\)$")
#: What the first bytes of a file look like.
ROW_BYTES = re.compile(rb"-?\d+\.\d+ -?\d+\.\d+ [A-Za-z_]\w* \d+ \d+ \(")


class RecordedCall(NamedTuple):
    """A call.

    Attributes
    ----------
    begin, end
        Seconds.
    line
        Where it stands.
    function
        Its name.
    arguments
        As Recorder spells them, which has names of files in place of descriptors.
    """

    begin: float
    end: float
    line: int
    function: str
    arguments: Sequence[str]


def read_calls(path: Path) -> list[RecordedCall]:
    """The calls of one rank, by their beginnings: a call stands before those inside it.

    Raises
    ------
    InputError
        If the file is something else, or cut.
    """
    calls = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                text = line.rstrip("\n")
                if not text:
                    continue
                row = _ROW.match(text)
                if row is None:
                    raise InputError(
                        "is no call as recorder2text writes them; was the file cut?",
                        file=path,
                        line=number,
                    )
                begin, end = float(row[1]), float(row[2])
                calls.append(RecordedCall(begin, end, number, row[3], row[6].split()))
    except UnicodeDecodeError:
        raise InputError("is no text of recorder2text", file=path) from None
    return sorted(calls, key=lambda call: (call.begin, -call.end, call.line))
