"""The formats of timelines, by the suffixes of their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.recording.csv import csv_output
from tisim.recording.recording import Output

if TYPE_CHECKING:
    from tisim.models.settings import Settings


def _csv(path: Path, settings: Settings, hosts: Sequence[int]) -> Output:
    return csv_output(path)


_FORMATS: dict[str, Callable[[Path, Settings, Sequence[int]], Output]] = {
    ".csv": _csv,
}

#: Suffixes of timelines.
SUFFIXES = tuple(_FORMATS)


def timeline_output(
    path: str | os.PathLike[str], settings: Settings, hosts: Sequence[int]
) -> Output:
    """What writes a timeline to a file, in the format that its suffix names.

    Parameters
    ----------
    path
        The file.
    settings
        What is simulated.
    hosts
        Index of the host of each rank.

    Raises
    ------
    InputError
        When the suffix names no format, or the file cannot be made.
    """
    target = Path(path)
    make = _FORMATS.get(target.suffix.lower())
    if make is None:
        known = ", ".join(SUFFIXES)
        raise InputError(f"a timeline's suffix is one of {known}", file=target)
    return make(target, settings, hosts)
