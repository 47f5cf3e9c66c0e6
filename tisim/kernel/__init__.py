"""The simulation kernel: the compiled core, and SimPy on top of it on the same clock."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.kernel.mpi import ANY_SOURCE, ANY_TAG, PROC_NULL, MpiRank, World
    from tisim.simulation.environment import Environment

_HOME_OF = {
    "ANY_SOURCE": "tisim.kernel.mpi",
    "ANY_TAG": "tisim.kernel.mpi",
    "PROC_NULL": "tisim.kernel.mpi",
    "Environment": "tisim.simulation.environment",
    "MpiRank": "tisim.kernel.mpi",
    "World": "tisim.kernel.mpi",
}

__all__ = ["ANY_SOURCE", "ANY_TAG", "PROC_NULL", "Environment", "MpiRank", "World"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
