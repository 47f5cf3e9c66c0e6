"""Limit on the unpacked size of a trace, against accidents and attacks that would fill the disk."""

from __future__ import annotations

import os

from tisim.support.quantities import parse_size

#: Environment variable of the limit; child processes inherit it.
LIMIT_VARIABLE = "TISIM_UNPACK_LIMIT"
DEFAULT_LIMIT = "16GiB"


def unpacking_limit() -> float:
    """Return the maximum unpacked size of a trace, in bytes."""
    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    return parse_size(text, f"the limit of unpacking (--unpack-limit, {LIMIT_VARIABLE})")
