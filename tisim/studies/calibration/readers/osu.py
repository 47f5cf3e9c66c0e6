"""Output of the OSU micro-benchmarks: osu_latency, osu_bw, osu_bibw, osu_mbw_mr.

Latencies are one way, in microseconds. Bandwidths are in MB/s, 1 MB = 1e6 bytes, summed over both
directions (bibw) or over all pairs (mbw_mr).
"""

from __future__ import annotations

import re

from tisim.studies.calibration.readers.text import Sample, Text

NAME = "output of the OSU micro-benchmarks (osu_latency, osu_bw, osu_bibw, osu_mbw_mr)"

_TITLE = re.compile(r"#\s*OSU\s+(MPI\S*\s+.*?)\s*(?:v\d.*|\(.*)?$")
_COLUMNS = re.compile(r"#\s*Size\s")
_PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d+)")
_MICROSECOND = 1e-6
_MEGABYTE = 1e6


def recognises(text: Text) -> bool:
    """Whether a line is the title that these benchmarks print, or their heading of columns."""
    return any(_TITLE.match(line) or _COLUMNS.match(line) for line in text.lines)


def read(text: Text) -> tuple[list[Sample], list[str]]:
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
            continue  # blank, or what a job script printed around the benchmark
        if title is None:
            raise text.error(
                "rows without a title: keep the line '# OSU MPI ... Test' that says whether these "
                "are latencies or bandwidths, of one or both directions",
                number,
            )
        width = width or len(words)
        if len(words) < 2 or len(words) != width:
            raise text.cut(number, f"a size and {max(width - 1, 1)} measured numbers")
        samples.extend(_sample(text, title, pairs, words, number))
    if not samples:
        raise text.error("no measurement below the title: the file is cut; measure it again")
    return samples, []


def _known(text: Text, title: str, line: int) -> str:
    """Which benchmark a title names."""
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
            "leave this file out",
            line,
        )
    return known


def _sample(text: Text, title: str, pairs: int, words: list[str], line: int) -> list[Sample]:
    nbytes = text.size(words[0], line)
    if title == "latency":
        seconds = text.quantity(words[1], "a latency", line) * _MICROSECOND
        return [Sample("pingpong", nbytes, seconds)]
    rate = text.quantity(words[1], "a bandwidth", line) * _MEGABYTE
    if rate == 0 or nbytes == 0:
        return []
    directions = 2 if title == "bibw" else 1
    return [Sample("transfer", nbytes, pairs * directions * nbytes / rate, pairs, directions)]
