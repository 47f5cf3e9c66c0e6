"""The NAS parallel benchmarks used for validation by Markomanolis (2014), if traces exist."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.validation.programs import KB, SMALL, Program

#: Variable with a directory of traces: `cg.W.8.tit` and so on, from `tisim record -o`.
VARIABLE = "TISIM_NPB_TRACES"
# File without suffix, name, ranks, bytes of most messages.
_CASES = (
    ("cg.W.8", "cg.W", 8, 28 * KB),
    ("cg.W.16", "cg.W", 16, 14 * KB),
    ("lu.W.8", "lu.W", 8, SMALL),
    ("lu.W.16", "lu.W", 16, SMALL),
    ("dt.S.SH.12", "dt.S", 12, 14 * KB),
)


def recorded() -> Iterator[Program]:
    """Yield the programs with existing traces."""
    named = os.environ.get(VARIABLE)
    if not named:
        return
    for file, name, ranks, largest in _CASES:
        path = Path(named) / f"{file}.tit"
        if path.exists():
            yield Program(name, "NAS of 2014", ranks, largest, lambda _, path=path: path)


def absent() -> str | None:
    """Return the omitted programs and the reason; None if there are none."""
    named = os.environ.get(VARIABLE)
    if not named:
        return f"the NAS benchmarks of 2014 are left out: {VARIABLE} names no directory of traces"
    missing = [file for file, *_ in _CASES if not (Path(named) / f"{file}.tit").exists()]
    return f"left out, not in {named}: {', '.join(missing)}" if missing else None
