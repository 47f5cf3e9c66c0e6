"""Public samples of foreign formats, and damaged files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import strategies as st


def foreign(ending: str) -> Path:
    """The one public sample whose path ends so, below the folder that TISIM_FOREIGN names."""
    folder = os.environ.get("TISIM_FOREIGN")
    if folder is None:
        pytest.skip("TISIM_FOREIGN names no folder of public samples")
    name = Path(ending).name
    found = [path for path in Path(folder).rglob(name) if path.as_posix().endswith("/" + ending)]
    if not found:
        pytest.skip(f"there is no {ending} below TISIM_FOREIGN")
    return found[0]


@st.composite
def mutations(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file that is cut somewhere, or has some bytes changed, removed or added."""
    if draw(st.booleans()):
        return whole[: draw(st.integers(0, len(whole) - 1))]
    changed = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(changed) - 1))
        kind = draw(st.integers(0, 2))
        if kind == 0:
            changed[place] = draw(st.integers(0, 255))
        elif kind == 1 and len(changed) > 1:
            del changed[place]
        else:
            changed[place:place] = draw(st.binary(min_size=1, max_size=8))
    return bytes(changed)
