"""Variation of counters between recordings of one program."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import write_file
from tisim.traces.counts import counter_names, counts_of
from tisim.traces.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Name used here for the counter of the volumes.
VOLUMES = "volume"
#: Name of the section with the variation of the volumes (docs/tit.md).
SECTION = "spread"


@dataclass(frozen=True, slots=True)
class Spread:
    """Variation of a counter between recordings of one program."""

    #: `VOLUMES`, or the name of an additional counter.
    counter: str
    #: Its total over all computations, by recording.
    sums: tuple[float, ...]
    #: Variation of a single computation: the distance from its median over the recordings, relative
    #: to that median; the median of these, weighted by the counts. None if the recordings have
    #: different numbers of calls.
    computation_deviation: float | None
    #: True if each computation has the same count in all recordings.
    has_equal_counts: bool

    @property
    def deviation(self) -> float:
        """The standard deviation of the sums, relative to their mean."""
        import numpy as np

        mean = float(np.mean(self.sums))
        return float(np.std(self.sums, ddof=1)) / mean if mean else 0.0

    @property
    def max_min_ratio(self) -> float:
        """The largest sum divided by the smallest."""
        least = min(self.sums)
        return max(self.sums) / least if least else float("inf" if max(self.sums) else 1)

    @property
    def median_run(self) -> int:
        """The recording with the median sum; the lower of the two middle ones if even in number."""
        order = sorted(range(len(self.sums)), key=self.sums.__getitem__)
        return order[(len(order) - 1) // 2]


def spreads(traces: Sequence[Trace]) -> tuple[Spread, ...]:
    """Return the variation of a program's counters between two or more recordings: first that of
    the volumes, then those of the additional counters that all recordings have. Raises InputError
    when a file is damaged.
    """
    import numpy as np

    beside = [
        name for name in counter_names(traces[0]) if all(name in counter_names(t) for t in traces)
    ]
    names = [VOLUMES, *beside]
    sums = {name: np.zeros(len(traces)) for name in names}
    distances: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
    weights: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
    alike = len({trace.ranks for trace in traces}) == 1
    for rank in range(max(trace.ranks for trace in traces)):
        runs = [_counted(trace, rank, beside) for trace in traces]
        alike = alike and len({len(run[VOLUMES]) for run in runs}) == 1
        for name in names:
            sums[name] += [run[name].sum() for run in runs]
            if alike:
                counts = np.stack([run[name] for run in runs])
                median = np.median(counts, axis=0)
                distances[name].append(np.abs(counts - median).ravel())
                weights[name].append(np.broadcast_to(median, counts.shape).ravel())
    spreads = []
    for name in names:
        deviation, has_equal_counts = None, False
        if alike:
            every = np.concatenate(distances[name])
            deviation = _median_relative_distance(every, np.concatenate(weights[name]))
            has_equal_counts = not every.any()
        spreads.append(Spread(name, tuple(map(float, sums[name])), deviation, has_equal_counts))
    return tuple(spreads)


def _counted(trace: Trace, rank: int, beside: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return the counts of each counter before each call of a rank, and after the last one."""
    import numpy as np

    from tisim.traces import Kind

    calls = 0
    lines: list[int] = []
    places: list[int] = []
    volumes: list[float] = []
    # A rank that the trace lacks has executed nothing.
    batches = trace.operations(rank, custom_actions=["unsupported"]) if rank < trace.ranks else ()
    for batch in batches:
        is_computation = batch["kind"] == Kind.COMPUTE
        before = calls + np.cumsum(~is_computation)
        calls = int(before[-1])
        lines += batch["line"][is_computation].tolist()
        places += before[is_computation].tolist()
        volumes += batch["amount"][is_computation].tolist()
    totals = {name: np.zeros(calls + 1) for name in (VOLUMES, *beside)}
    np.add.at(totals[VOLUMES], places, volumes)
    place_of = dict(zip(lines, places, strict=True))
    for name in beside:
        for line, count in counts_of(trace, rank, name) if rank < trace.ranks else ():
            totals[name][place_of[line]] += count
    return totals


def _median_relative_distance(
    distances: NDArray[np.float64], medians: NDArray[np.float64]
) -> float:
    """Return the median of the relative distances, weighted by their reference medians."""
    import numpy as np

    is_counted = medians > 0
    if not is_counted.any():
        return 0.0
    weights = medians[is_counted]
    relative = distances[is_counted] / weights
    order = np.argsort(relative)
    below = np.cumsum(weights[order])
    return float(relative[order][np.searchsorted(below, 0.5 * below[-1])])


def keep_spread(trace: str | os.PathLike[str], found: Spread) -> None:
    """Write the variation of a packed trace's volumes between runs into it.

    Raises InputError when the file cannot be read or written.
    """
    from tisim.traces.packed_program import with_section

    content = json.dumps({"runs": len(found.sums), "deviation": found.deviation}).encode()
    write_file(trace, with_section(trace, SECTION, content))


def deviation_of(trace: Trace) -> float | None:
    """Return the relative variation of the sum of a trace's volumes between runs.

    It is the standard deviation over the runs of ``tisim record --repeat``; None without repeated
    runs. Raises InputError when the section is damaged.
    """
    content = _core.trace_section(trace.core, SECTION)
    if content is None:
        return None
    try:
        deviation = float(json.loads(content)["deviation"])
        if not 0.0 <= deviation < math.inf:
            raise ValueError(f"{deviation} is not a deviation")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"its section {SECTION} is damaged ({error}); record it again", file=trace.name
        ) from None
    return deviation
