"""Names of the files that a timeline consists of."""

from __future__ import annotations

import os
from pathlib import Path


def is_timed(path: Path) -> bool:
    """Whether a .csv file is to be the timed trace: each action with its duration."""
    return path.name.lower().endswith(".timed.csv")


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """The files that a timeline consists of: the one that is named, and those beside it.

    ``run.csv`` goes with ``run.messages.csv``, ``run.parquet`` likewise, ``run.prv`` with
    ``run.pcf`` and ``run.row``.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".prv":
        return [target.with_suffix(each) for each in (".prv", ".pcf", ".row")]
    if suffix == ".parquet" or (suffix == ".csv" and not is_timed(target)):
        return [target, target.with_name(f"{target.stem}.messages{target.suffix}")]
    return [target]
