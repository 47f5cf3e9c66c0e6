"""Numbers in the rows of a measurement file, with messages that name the place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError


class Sample(NamedTuple):
    """One measured time, in the units that all formats are brought to.

    Parameters
    ----------
    operation
        One of `tisim.studies.calibration.measurements.OPERATIONS`.
    nbytes
        Size of one message.
    seconds
        The measured time.
    pairs, directions
        Concurrent pairs of processes, and directions in which each pair sends at once.
    same_host
        Whether the processes were on one host; None where the format does not say.
    idle
        Seconds since the call before it ended; nan where the format does not say.
    pattern
        Of concurrent transfers: pairs, shift or incast.
    messages
        Of a stream: how many there were.
    """

    operation: str
    nbytes: int
    seconds: float
    pairs: int = 1
    directions: int = 1
    same_host: bool | None = None
    idle: float = math.nan
    pattern: str = "pairs"
    messages: int = 1


@dataclass(frozen=True)
class Text:
    """A measurement file as lines; `ended` if the last of them has its end of line."""

    path: Path
    lines: Sequence[str]
    ended: bool

    def error(self, message: str, line: int | None = None) -> InputError:
        """An error at `line` (counted from 1) of this file."""
        return InputError(message, file=self.path, line=line)

    def cut(self, line: int, expected: str) -> InputError:
        """The error of a row that is not whole."""
        row = self.lines[line - 1].strip()
        return self.error(
            f"a cut or damaged line: expected {expected}, got {row!r}; remove the line or "
            "measure again",
            line,
        )

    def size(self, word: str, line: int) -> int:
        """A message size in bytes."""
        value = self._number(word, "a message size", line)
        if value < 0 or value != int(value):
            raise self.error(f"a message size is a whole number of bytes, not {word!r}", line)
        return int(value)

    def quantity(self, word: str, what: str, line: int) -> float:
        """A number that must not be negative; `what` names it in the message."""
        value = self._number(word, what, line)
        if value < 0:
            raise self.error(
                f"{what} is negative ({word}): the clock went backwards; remove the line or "
                "measure again",
                line,
            )
        return value

    def _number(self, word: str, what: str, line: int) -> float:
        try:
            value = float(word)
        except ValueError:
            raise self.error(f"{what} should stand here, not {word!r}", line) from None
        if not math.isfinite(value):
            raise self.error(f"{what} must be finite, not {word!r}", line)
        return value


def read_text(path: Path) -> Text:
    """Read a file as text.

    Raises
    ------
    InputError
        If it cannot be read, is binary, or is empty.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot read the measurements: {reason}", file=path) from None
    if b"\0" in content:
        raise InputError(
            "a binary file, not measurements; unpack it if it is an archive", file=path
        )
    lines = content.decode("utf-8", errors="replace").splitlines()
    text = Text(path, lines, content.endswith((b"\n", b"\r")))
    if not any(line.strip() for line in text.lines):
        raise InputError("the file is empty: no measurement in it", file=path)
    return text
