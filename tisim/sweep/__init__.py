"""What if: one trace in many scenarios.

`sweep` (module `run`) makes a plan of scenarios (`plan`, from `axes`, `design` and `mapping`), has
workers carry out what is missing (`worker`, in the processes of `pool` or on a Dask `cluster`),
keeps the rows in a file (`store`) and returns a frame (`table`). `study` reads the same from a
TOML file. `comparison` says what differs between two results.
"""

from tisim.sweep.run import SweepInterrupted, sweep

__all__ = ["SweepInterrupted", "sweep"]
