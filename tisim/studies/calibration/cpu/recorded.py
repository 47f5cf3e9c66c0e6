"""Timed computations of traces that were recorded with `time` beside the counter of volumes."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from tisim.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tisim.traces.trace import Trace

_NANOSECOND = 1e-9


def read_recorded(traces: Sequence[str | PathLike[str]]) -> pd.DataFrame:
    """Read the computations of recorded traces, each of which is a run of its own.

    Parameters
    ----------
    traces
        Packed traces of ``tisim record --counter register,time`` or the like.

    Returns
    -------
    DataFrame
        One row a computation: ``volume``, ``seconds`` (both positive), ``rank`` and ``run``.

    Raises
    ------
    InputError
        When a trace cannot be read, or has no times.
    """
    import pandas as pd

    from tisim.traces import Trace

    rows = [row for name in traces for row in _rows(Trace.open(name), str(name))]
    return pd.DataFrame(rows, columns=["volume", "seconds", "rank", "run"])


def _rows(trace: Trace, run: str) -> list[tuple[float, float, int, str]]:
    from tisim.traces import Kind
    from tisim.traces.counts import counter_names, counts_of

    if "time" not in counter_names(trace):
        raise InputError(
            "the trace does not say how long its computations took; record it with a counter and "
            "time beside it (tisim record --counter register,time), or name a file with --times",
            file=run,
        )
    rows = []
    for rank in range(trace.ranks):
        nanoseconds = dict(counts_of(trace, rank, "time"))
        for batch in trace.operations(rank, custom_actions=["unsupported"]):
            computes = batch[batch["kind"] == Kind.COMPUTE]
            for line, volume in zip(computes["line"], computes["amount"], strict=True):
                took = nanoseconds.get(int(line), 0)
                if took > 0 and volume > 0:
                    rows.append((float(volume), took * _NANOSECOND, rank, run))
    return rows
