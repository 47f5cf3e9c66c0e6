"""What the tests of sweeps work with."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def write_trace(directory: Path, lines: str) -> Path:
    """A trace of one file."""
    file = directory / "trace.txt"
    file.write_text(lines)
    return file


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """True if two frames are equal in all that does not depend on the machine."""
    pd.testing.assert_frame_equal(a.drop(columns="wall_time"), b.drop(columns="wall_time"))
    return True
