"""The critical path of a run, from its run file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.columns import structured
from tisim.analysis.timeline.run_file.reader import RunFile
from tisim.analysis.timeline.run_file.writer import row_types

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run_file.blocks import BlockTable

# Parts that are taken from the core at once.
_CHUNK = 65536


def path_parts(run: RunFile) -> NDArray[np.void]:
    """The chain of computations and transfers that the simulated time consists of.

    The core follows it, as for `tisim.analysis.timeline.critical_path`, through a temporary file
    with the states of the run.

    Parameters
    ----------
    run
        A run whose `path_states` are known.

    Returns
    -------
    ndarray
        Rows of the core's `part_type`, the earliest first.
    """
    import numpy as np

    assert run.path_states is not None
    with tempfile.TemporaryDirectory(prefix="tisim-") as folder:
        path = Path(folder) / "states"
        last = _write_states(run.path_states, path, run.end)
        walk = _core.CriticalPath(str(path), last, run.end, 0.0)
        chunks = [structured(walk.take(0))]
        while len(found := structured(walk.take(_CHUNK))):
            chunks.append(found)
    parts: NDArray[np.void] = np.concatenate(chunks)[::-1]
    return parts


def _write_states(table: BlockTable, path: Path, run_end: float) -> int:
    """Write rows of the core in the order of their ends; returns the rank that ends last.

    Blocks follow one another in that order, but inside they are sorted by rank.
    """
    import numpy as np

    last = 0
    with path.open("wb") as file:
        for block in range(table.blocks):
            columns = table.read(block)
            end = columns.reals("end")
            order = np.argsort(end, kind="stable")
            rows = np.zeros(len(end), row_types()["states"])
            for name in columns.names:
                real = name in ("start", "end", "started")
                values = columns.reals(name) if real else columns.numbers(name)
                rows[name] = np.nan_to_num(values[order], nan=-1.0)
            file.write(rows.tobytes())
            at_end = rows["rank"][rows["end"] == run_end]
            last = int(at_end.min()) if len(at_end) else last
    return last
