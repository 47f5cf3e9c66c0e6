"""The simulation kernel: the compiled core, and SimPy on top of it on the same clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.kernel.mpi import ANY_SOURCE, ANY_TAG, PROC_NULL, MpiRank, World
    from tisim.simulation.environment import Environment

__all__ = ["ANY_SOURCE", "ANY_TAG", "PROC_NULL", "Environment", "MpiRank", "World"]


if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "tisim.kernel.mpi": "ANY_SOURCE ANY_TAG PROC_NULL MpiRank World",
            "tisim.simulation.environment": "Environment",
        },
    )
