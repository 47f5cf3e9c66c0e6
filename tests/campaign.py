"""How much a test tries: little in CI, much in `make nightly`, which sets TISIM_NIGHTLY."""

from __future__ import annotations

import os


def campaign(here: int, nightly: int) -> int:
    """Return a number of random cases, MPI libraries, sizes and so on."""
    return nightly if os.environ.get("TISIM_NIGHTLY") else here
