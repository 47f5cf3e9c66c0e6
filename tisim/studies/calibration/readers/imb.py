"""Output of the Intel MPI Benchmarks: PingPong, PingPing, Sendrecv of IMB-MPI1.

Times are in microseconds. That of PingPong is one way; that of PingPing and Sendrecv is the time
in which every process sends a message and receives one.
"""

from __future__ import annotations

import re

from tisim.studies.calibration.readers.text import Sample, Text

NAME = "output of the Intel MPI Benchmarks (PingPong, PingPing, Sendrecv)"

_SECTION = re.compile(r"#\s*Benchmarking\s+(\S+)")
_COLUMNS = re.compile(r"#bytes\s+#repetitions\s+(.*)")
_USED = {"pingpong": ("pingpong", 1), "pingping": ("transfer", 2), "sendrecv": ("transfer", 2)}
_TIMES = ("t[usec]", "t_avg[usec]")
_MICROSECOND = 1e-6


def recognises(text: Text) -> bool:
    """Whether a line opens a benchmark's section or heads its columns."""
    return any(_SECTION.match(line.strip()) or _COLUMNS.match(line.strip()) for line in text.lines)


def read(text: Text) -> tuple[list[Sample], list[str]]:
    """Read the samples of the sections that are used, and a remark for each of the others."""
    samples: list[Sample] = []
    others: dict[str, None] = {}
    section, columns = "", list[str]()
    for number, line in enumerate(text.lines, start=1):
        row = line.strip()
        if match := _SECTION.match(row):
            section, columns = match[1], []
            if section.lower() not in _USED:
                others.setdefault(section)
        elif match := _COLUMNS.match(row):
            columns = ["#bytes", "#repetitions", *match[1].split()]
        elif row and not row.startswith("#") and section.lower() in _USED and columns:
            words = row.split()
            if not words[0][0].isdigit():
                columns = []  # the remarks below the last row of a section
                continue
            samples.append(_sample(text, section, columns, words, number))
        elif row and row[0].isdigit() and not section:
            raise text.error(
                "rows without the line '# Benchmarking NAME' above them: keep it, it says what "
                "was measured",
                number,
            )
    if not samples:
        raise text.error(f"no row of PingPong, PingPing or Sendrecv in this file{_listed(others)}")
    return samples, [f"{text.path}: {name} of IMB is not used" for name in others]


def _listed(others: dict[str, None]) -> str:
    return f", only of {', '.join(others)}" if others else ": it is cut; measure it again"


def _sample(text: Text, section: str, columns: list[str], words: list[str], line: int) -> Sample:
    if len(words) != len(columns):
        raise text.cut(line, " ".join(columns))
    place = next((columns.index(name) for name in _TIMES if name in columns), None)
    if place is None:
        raise text.error(f"no column {' or '.join(_TIMES)} above this row", line)
    nbytes = text.size(words[0], line)
    seconds = text.quantity(words[place], "a time", line) * _MICROSECOND
    operation, directions = _USED[section.lower()]
    return Sample(operation, nbytes, seconds, 1, directions)
