"""Readers of measurement files: one module a format, each recognised by its content."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tisim.studies.calibration.readers import imb, osu, own, platform_calibration, skampi
from tisim.studies.calibration.readers.text import Sample, Text, read_text


class _Reader(Protocol):
    NAME: str

    def recognises(self, text: Text) -> bool: ...
    def read(self, text: Text) -> tuple[list[Sample], list[str]]: ...


READERS: tuple[_Reader, ...] = (skampi, osu, imb, own, platform_calibration)


def read_file(path: Path) -> tuple[list[Sample], list[str]]:
    """Read one measurement file, whatever its format.

    Returns
    -------
    samples, remarks
        The measured times, and what the user should know about the file.

    Raises
    ------
    InputError
        If the file is of no known format, or a line of it cannot be read.
    """
    text = read_text(path)
    for reader in READERS:
        if reader.recognises(text):
            samples, remarks = reader.read(text)
            break
    else:
        known = "; ".join(reader.NAME for reader in READERS)
        first = next(line.strip() for line in text.lines if line.strip())
        raise text.error(
            f"not a measurement file that is known (it begins with {first[:60]!r}); known are: "
            f"{known}. 'tisim benchmark --print' shows how to measure."
        )
    return samples, remarks
