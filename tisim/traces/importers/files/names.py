"""Names of files as a trace has them: with the number of the rank as a pattern."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+")


def trace_name(path: str, rank: int) -> str:
    """The word of a trace for a file.

    Where a number in the last part of the path is that of the rank, a pattern stands in the place
    of the last such one, so that the files of all ranks have one name. Blanks and ``#``, which a
    word cannot have, become ``_``.
    """
    folder, slash, name = path.rpartition("/")
    folder, name = (_word(part.replace("%", "%%")) for part in (folder, name))
    for match in reversed([*_NUMBER.finditer(name)]):
        digits = match[0]
        if int(digits) == rank:
            pattern = f"%0{len(digits)}d" if len(digits) > len(str(rank)) else "%d"
            name = name[: match.start()] + pattern + name[match.end() :]
            break
    return f"{folder}{slash}{name}"


def _word(text: str) -> str:
    return re.sub(r"[\s#]", "_", text) if text else text
