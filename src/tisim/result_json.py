"""Results as JSON: what ``tisim replay --json`` writes, and what reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tisim.errors import InputError

#: The columns that every result has had since its first version.
NECESSARY = ("rank", "host", "finish", "compute", "communication")

# So many ranks become text at once.
_RANKS_AT_ONCE = 4096


def json_pieces(
    summary: Mapping[str, object], columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    """A result as JSON, a piece at a time: with a million ranks it is long.

    Parameters
    ----------
    summary
        What is said of the whole.
    columns
        Names of the numbers of a rank.
    rows
        Those numbers, of each rank; the second is the name of its host.

    Yields
    ------
    str
        What ``json.dumps(..., indent=1)`` would write, in a tenth of its time.
    """
    yield json.dumps(summary, indent=1).removesuffix("\n}") + ',\n "ranks": ['
    fields = ",\n".join(f'   "{name}": %s' for name in columns)
    form = f"\n  {{\n{fields}\n  }}"
    texts: list[str] = []
    between = ""
    for row in rows:
        texts.append(form % (row[0], json.dumps(row[1]), *row[2:]))
        if len(texts) == _RANKS_AT_ONCE:
            yield between + ",".join(texts)
            texts.clear()
            between = ","
    yield (between if texts else "") + ",".join(texts)
    yield "\n ]\n}"


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file that ``tisim replay --json`` has written.

    Raises
    ------
    InputError
        When the file cannot be read or is no result.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read this result: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise InputError("this is not JSON", file=path) from None
    return parse(text, path)


def parse(text: str, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Read the JSON of a result.

    Parameters
    ----------
    text
        The JSON.
    path
        Where it comes from, for the messages of errors.

    Returns
    -------
    dict
        What the JSON says. Its ``ranks`` have the columns `NECESSARY`, and those of today unless
        an older version has written them.

    Raises
    ------
    InputError
        When it is no result.
    """
    try:
        result = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg}", file=path, line=error.lineno) from None
    rows = result.get("ranks") if isinstance(result, dict) else None
    if not (isinstance(rows, list) and rows and all(_is_row(row) for row in rows)):
        raise InputError(
            "this is no result; write one with: tisim replay --json FILE ...", file=path
        )
    return dict(result)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and set(NECESSARY) <= row.keys()
