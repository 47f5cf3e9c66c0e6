"""What if: one trace in many scenarios.

`sweep` (module `run`) makes a plan of scenarios (`plan`, from `axes`, `design` and `mapping`), has
workers carry out what is missing (`worker`, in the processes of `pool` or on a Dask `cluster`),
keeps the rows in a file (`store`) and returns a frame (`table`). `study` reads the same from a
TOML file.

The names are loaded when they are first used: a worker process needs few of the modules.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.studies.sweep.run import SweepInterrupted, sweep

__all__ = ["SweepInterrupted", "sweep"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module("tisim.studies.sweep.run"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
