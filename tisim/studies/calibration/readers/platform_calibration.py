"""CSV without a header, ``op,bytes,start,duration`` in seconds, as platform-calibration writes it.

Every row is the time inside one MPI call. In a ping-pong an MPI_Send row is followed by an
MPI_Recv row that repeats its start: their sum is the round trip. Any other MPI_Recv row is the
receive of a message that had arrived.
"""

from __future__ import annotations

import math
import re

from tisim.studies.calibration.readers.text import Sample, Text

NAME = "CSV rows op,bytes,start,duration without a header"

_ROW = re.compile(r"\s*MPI_\w+\s*,")
_OPERATIONS = {"MPI_Send": "send", "MPI_Isend": "isend", "MPI_Recv": "recv"}


def recognises(text: Text) -> bool:
    """Whether the first row is an MPI call with numbers behind commas."""
    first = next(line for line in text.lines if line.strip())
    return bool(_ROW.match(first))


def read(text: Text) -> tuple[list[Sample], list[str]]:
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
        # All durations are printed with as many digits; fewer in a last line without an end are
        # what was left of it.
        if number == len(text.lines) and not text.ended and len(duration) < width:
            raise text.cut(number, "op,bytes,start,duration")
        width = max(width, len(duration))
    remarks = [f"{text.path}: {rows} rows of {call} are not used" for call, rows in unused.items()]
    return samples, remarks
