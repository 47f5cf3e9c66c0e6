"""What if: one trace in many scenarios.

`sweep` (module `run`) makes a plan of scenarios (`plan`, from `axes`, `design` and `mapping`), has
workers carry out what is missing (`worker`, in the processes of `pool` or on a Dask `cluster`),
keeps the rows in a file (`store`) and returns a frame (`table`). `study` reads the same from a
TOML file.

The names are loaded when they are first used: a worker process needs few of the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.studies.sweep.run import SweepInterrupted, sweep

__all__ = ["SweepInterrupted", "sweep"]


if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_names(__name__, {".run": "SweepInterrupted sweep"})
