"""What-if studies: one trace in many scenarios.

`sweep` (module `run`) makes a plan of scenarios (`plan`, from `axes`), lets workers execute the
missing ones (`worker`, in the processes of `workers` or on a Dask `cluster`), stores the rows in a
file (`store`) and returns a frame. `study` reads the same arguments from a TOML file.

Names are loaded on first use: a worker process needs few of the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.studies.sweep.run import SweepInterrupted, sweep

__all__ = ["SweepInterrupted", "sweep"]


if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_names(__name__, {".run": "SweepInterrupted sweep"})
