"""Comparison of a recorded run with its prediction: contribution of each part of the time."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.result import Result
from tisim.analysis.timeline.run_file import RunFile
from tisim.studies.validation.study import RealRun
from tisim.traces import Kind, Trace
from tisim.traces.counts import counter_names, counts_of
from tisim.traces.volumes import PREDICTED_TIME, volumes_of

if TYPE_CHECKING:
    import pandas as pd

#: Time that is neither computing nor in a call; predictions have none.
OFF_PROCESSOR = "off the processor"
#: Time before the first call and after the last, and time that a run file does not explain.
REST = "the rest"
_COMPUTING = "computing"
# Kinds of actions that count as computing.
_OWN = ("compute", "sleep")


@dataclass(frozen=True)
class Part:
    """Part of the time, in seconds, averaged over the ranks."""

    name: str  # a kind of call; ``computing``, `OFF_PROCESSOR`, `REST`
    real: float
    predicted: float

    @property
    def difference(self) -> float:
        """Predicted minus real seconds."""
        return self.predicted - self.real


@dataclass(frozen=True)
class Explanation:
    """A real run compared with its prediction, in seconds."""

    real: float  # end of the last rank
    predicted: float
    whole: Part  # end of a rank, averaged over the ranks
    parts: tuple[Part, ...]  # the largest difference first; their sum is `whole`
    # True if the trace contains the processor time of ranks between their calls.
    knows_processor_time: bool

    def share(self, part: Part) -> float:
        """Return the fraction of the difference of `whole` that a part contributes."""
        return part.difference / self.whole.difference if self.whole.difference else 0.0

    def to_dict(self) -> Mapping[str, object]:
        """Return everything for JSON; times in seconds."""
        return {
            "real": self.real,
            "predicted": self.predicted,
            "mean_end": {"real": self.whole.real, "predicted": self.whole.predicted},
            "knows_processor_time": self.knows_processor_time,
            "parts": [
                {
                    "name": part.name,
                    "real": part.real,
                    "predicted": part.predicted,
                    "difference": part.difference,
                    "share": self.share(part),
                }
                for part in self.parts
            ],
        }


def explain_run(trace: Trace, run: str | Path, result: Result) -> Explanation:
    """Compare a real run of a trace with its prediction.

    Parameters
    ----------
    trace
        Trace of the program.
    run
        Run file of a real run of it, from `tisim record --times --timeline` or `tisim execute`.
    result
        A prediction with an event log.

    Raises
    ------
    InputError
        If the run file cannot be read, is that of a prediction, or has other ranks.
    """
    real = RealRun.read(Path(run), trace.ranks)
    ranks = trace.ranks
    predicted, recorded = (
        _with_calls(trace, actions) for actions in (result.timeline, _actions_of(Path(run)))
    )
    names = _names_of_calls(predicted)
    predicted_times, real_times = _sums(names, predicted), _sums(names, recorded)
    ends = statistics.fmean(real.ends), statistics.fmean(result.column("finish"))
    between = real_times.pop(_COMPUTING, 0.0) / ranks
    processor = _processor_time(trace)
    # A run other than the recorded one may have computed longer than the recorded processor time.
    known = processor is not None and processor / ranks <= between
    used = processor / ranks if known and processor is not None else between
    parts = [Part(_COMPUTING, used, predicted_times.pop(_COMPUTING, 0.0) / ranks)]
    if known:
        parts.append(Part(OFF_PROCESSOR, between - used, 0.0))
    parts += [
        Part(name, real_times.get(name, 0.0) / ranks, predicted_times.get(name, 0.0) / ranks)
        for name in sorted({*real_times, *predicted_times})
    ]
    rest = [end - sum(column) for end, column in zip(ends, _columns(parts), strict=True)]
    parts.append(Part(REST, *rest))
    return Explanation(
        real.time,
        result.simulated_time,
        Part("all", *ends),
        tuple(sorted(parts, key=lambda part: -abs(part.difference))),
        known,
    )


def _with_calls(trace: Trace, actions: pd.DataFrame) -> pd.DataFrame:
    """Return actions with their seconds, and the line of the call that each belongs to.

    A recorded call that became several actions, such as a sendrecv, has its time at the first one.
    """
    timed = [
        [line for line, of in trace.attributes_of(rank) if isinstance(of.get("duration"), int)]
        for rank in range(trace.ranks)
    ]
    calls = [
        timed[rank][place - 1] if (place := bisect_right(timed[rank], line)) else line
        for rank, line in zip(actions["rank"], actions["line"], strict=True)
    ]
    kinds, seconds = actions["kind"].astype(str), actions["end"] - actions["start"]
    return actions.assign(kind=kinds, seconds=seconds, call=calls)


def _names_of_calls(predicted: pd.DataFrame) -> pd.Series[str]:
    """Return the names of calls by rank and line: each is named after all of its actions."""
    calls = predicted[~predicted["kind"].isin(_OWN)].sort_values(["rank", "line"], kind="stable")
    return calls.groupby(["rank", "call"])["kind"].agg(lambda kinds: " + ".join(kinds.unique()))


def _sums(names: pd.Series[str], actions: pd.DataFrame) -> dict[str, float]:
    """Return the seconds in computing and in each kind of call, summed over ranks."""
    named = actions.join(names.rename("name"), on=["rank", "call"])
    shown = named["name"].fillna(named["kind"]).where(~named["kind"].isin(_OWN), _COMPUTING)
    sums: dict[str, float] = named.groupby(shown)["seconds"].sum().to_dict()
    return sums


def _actions_of(path: Path) -> pd.DataFrame:
    """Return the activities of the ranks of a run file."""
    import pandas as pd

    run = RunFile(path)
    kinds = run.info["kinds"]
    frames = []
    for block in range(run.actions.blocks):
        rows = run.actions.read(block)
        numbers = {name: rows.numbers(name) for name in ("rank", "line")}
        times = {name: rows.reals(name) for name in ("start", "end")}
        names = [kinds[kind] for kind in rows.numbers("kind")]
        frames.append(pd.DataFrame({**numbers, **times, "kind": names}))
    return pd.concat(frames, ignore_index=True)


def _columns(parts: list[Part]) -> tuple[list[float], list[float]]:
    return [part.real for part in parts], [part.predicted for part in parts]


def _processor_time(trace: Trace) -> float | None:
    """Return processor seconds of all ranks between their calls; None if the trace lacks them."""
    volumes = volumes_of(trace.name, trace.files[0])
    if volumes is not None and volumes.counter.startswith((PREDICTED_TIME, "elapsed")):
        return None
    if volumes is not None and volumes.per_second is not None:
        units = sum(
            float(batch["amount"][batch["kind"] == Kind.COMPUTE].sum())
            for rank in range(trace.ranks)
            for batch in trace.operations(rank)
        )
        return units / volumes.per_second
    if "time" not in counter_names(trace):
        return None
    return 1e-9 * sum(
        count for rank in range(trace.ranks) for _, count in counts_of(trace, rank, "time")
    )
