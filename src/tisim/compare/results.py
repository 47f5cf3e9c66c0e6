"""Results as `tisim replay --json` writes them, read for a comparison."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tisim.errors import InputError


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `Result.to_json` has written.

    Raises
    ------
    InputError
        If the file cannot be read or is no result.
    """
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read this result: {error.strerror}", file=path) from None
    except json.JSONDecodeError as error:
        raise InputError(f"this is not JSON: {error.msg}", file=path, line=error.lineno) from None
    except UnicodeDecodeError:
        raise InputError("this is not JSON", file=path) from None
    rows = result.get("ranks") if isinstance(result, dict) else None
    wanted = {"rank", "host", "finish", "compute", "communication"}
    if not (
        isinstance(rows, list)
        and rows
        and all(isinstance(row, dict) and wanted <= row.keys() for row in rows)
    ):
        raise InputError(
            "this is no result; write one with: tisim replay --json FILE ...", file=path
        )
    return dict(result)
