"""How much a trace may unpack to: what would fill the disk is an accident or an attack."""

from __future__ import annotations

import os

from tisim.support.quantities import parse_size

#: The environment variable that says it; processes inherit it.
LIMIT_VARIABLE = "TISIM_UNPACK_LIMIT"
DEFAULT_LIMIT = "16GiB"


def unpacking_limit() -> float:
    """Bytes that one trace may unpack to."""
    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    return parse_size(text, f"the limit of unpacking (--unpack-limit, {LIMIT_VARIABLE})")
