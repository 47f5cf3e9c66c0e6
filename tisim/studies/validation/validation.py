"""Execute and predict the cases of a study."""

from __future__ import annotations

import csv
import dataclasses
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.analysis.result import Result
from tisim.errors import ExecutionError
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.simulation.jitter import DEFAULT_SIZE, DEFAULT_START
from tisim.simulation.replay import replay
from tisim.studies.execute import Execution, execute
from tisim.studies.uncertainty import ParameterSets, replay_with_sets
from tisim.studies.validation.comparison import (
    CaseResult,
    Coverage,
    Summary,
    quartile_distance,
    summarize,
)
from tisim.studies.validation.differences import (
    Messages,
    compare_messages,
    count_messages,
    explain,
    sum_by_kind,
)
from tisim.studies.validation.study import Case, RealRun, Study
from tisim.traces import Trace

#: Called before each case with its number, the total number of cases and its name.
CaseProgress = Callable[[int, int, str], None]

# Option for the seed of a simulation's jitter, and the default jitter of cases.
_SEED = "tisim/jitter-seed"
_JITTER: Mapping[str, object] = {
    "tisim/jitter-start": DEFAULT_START,
    "tisim/jitter-size": DEFAULT_SIZE,
}


@dataclass(frozen=True)
class Validation:
    """The results of a study."""

    results: tuple[CaseResult, ...]  # of the completed cases
    failed: tuple[tuple[str, str], ...]  # of the failed cases: name and reason
    summaries: tuple[Summary, ...]  # by group, and of all cases
    violations: tuple[str, ...]  # exceeded thresholds, in words
    # Coverage of real times by the predictions' intervals; None if no case has one.
    coverage: Coverage | None = None

    @property
    def passed(self) -> bool:
        """True if all cases completed, and no threshold was exceeded."""
        return not self.violations and not self.failed

    def to_dict(self) -> Mapping[str, object]:
        """Return everything for JSON; times in seconds, errors as fractions."""
        return {
            "passed": self.passed,
            "cases": [
                {
                    "name": result.case.name,
                    "group": result.case.group,
                    "real": [*result.real],
                    "predicted": [*result.predicted],
                    "error": result.error,
                    "error_interval": [*result.error_interval],
                    "busy": result.busy,
                    "is_noisy": result.is_noisy,
                    "shares": dict(result.shares),
                    "differences": [*result.differences],
                }
                for result in self.results
            ],
            "failed": [{"name": name, "reason": reason} for name, reason in self.failed],
            "groups": [summary.to_dict() for summary in self.summaries],
            "violations": [*self.violations],
            "coverage": None if self.coverage is None else self.coverage.to_dict(),
        }


def validate(study: Study, progress: CaseProgress | None = None) -> Validation:
    """Execute the cases of a study, predict them, and compare.

    Parameters
    ----------
    study
        The cases; those with real times are not executed.
    progress
        Called before each case.

    Raises
    ------
    InputError
        If a case cannot be executed or predicted at all.
    """
    results: list[CaseResult] = []
    failed: list[tuple[str, str]] = []
    for number, case in enumerate(study.cases):
        if progress is not None:
            progress(number, len(study.cases), case.name)
        try:
            results.append(run_case(case, study))
        except ExecutionError as error:
            failed.append((case.name, str(error)))
    summaries = summarize(results)
    return Validation(
        tuple(results),
        tuple(failed),
        tuple(summaries),
        tuple(_violations(study, summaries)),
        Coverage.of(results),
    )


def run_case(case: Case, study: Study) -> CaseResult:
    """Execute a case, unless its real times are known, and predict it.

    Raises `InputError` if it cannot be executed or predicted, `ExecutionError` if its execution did
    not complete.
    """
    trace = Trace.open(case.trace)
    if case.real:
        return _run_known_case(case, trace, study)
    with tempfile.TemporaryDirectory() as scratch:
        timeline = Path(scratch) / "calls.csv"
        execution = execute(
            trace,
            case.command,
            repeat=case.repeat,
            warm_up=case.warm_up,
            compute=case.compute,
            speed=case.speed,
            time_limit=case.time_limit,
            timeline=timeline,
            directory=scratch,
            compiler=case.compiler,
        )
        result = _predicted(case, trace, study, execution.times, _busy(execution))
        if abs(result.error) <= study.large or result.spread > abs(result.error):
            return result
        differences = _differences(case, trace, execution, timeline)
    return dataclasses.replace(result, differences=differences)


def _run_known_case(case: Case, trace: Trace, study: Study) -> CaseResult:
    """Predict a case whose real times are known, from elsewhere or from run files."""
    result = _predicted(case, trace, study, case.real)
    if not case.real_runs or abs(result.error) <= study.large:
        return result
    runs = [RealRun.read(path, trace.ranks) for path in case.real_runs]
    prediction = _predict(case, trace, _seeds(case)[0], event_log=True)
    differences = explain(
        [run.ends for run in runs],
        [*prediction.column("finish")],
        runs[0].kinds,
        _predicted_kinds(prediction),
    )
    return dataclasses.replace(result, differences=differences)


def _predicted(
    case: Case, trace: Trace, study: Study, real: Sequence[float], busy: float | None = None
) -> CaseResult:
    """Return a case with its predictions."""
    seeds = _seeds(case)
    first = _predict(case, trace, seeds[0], event_log=True)
    others = [_predict(case, trace, seed).simulated_time for seed in seeds[1:]]
    return CaseResult(
        case,
        tuple(real),
        (first.simulated_time, *others),
        busy,
        quartile_distance(real) > study.noisy,
        with_sets=_predict_with_sets(case, trace),
        shares=first.critical_path.shares,
    )


def _busy(execution: Execution) -> float:
    used = sum(repetition.processor_time for repetition in execution.repetitions)
    return used / (sum(execution.times) * (os.cpu_count() or 1))


def _seeds(case: Case) -> Sequence[int | None]:
    """Return the seeds of the predictions; None: the unchanged configuration."""
    return [None] if case.seeds == 1 else [*range(1, case.seeds + 1)]


def _predict(case: Case, trace: Trace, seed: int | None, *, event_log: bool = False) -> Result:
    config: dict[str, object] = {**case.config}
    if seed is not None:
        config = {**_JITTER, **config, _SEED: seed}
    return replay(
        trace,
        platform=case.platform,
        deployment=Deployment.of_hosts(case.hosts) if case.hosts else None,
        config=config,
        event_log=event_log,
    )


def _predict_with_sets(case: Case, trace: Trace) -> tuple[float, ...]:
    """Return the simulated times with the parameter sets next to the platform, in seconds."""
    if not case.uncertainty:
        return ()
    interval = replay_with_sets(
        trace,
        ParameterSets.beside(case.platform),
        case.uncertainty,
        platform=Platform.load(case.platform),
        deployment=Deployment.of_hosts(case.hosts) if case.hosts else None,
        config={**_JITTER, **case.config} if case.seeds > 1 else case.config,
        progress=False,
        workers=1,  # a case takes less time than starting processes
    )
    return interval.times


def _differences(case: Case, trace: Trace, execution: Execution, timeline: Path) -> tuple[str, ...]:
    result = _predict(case, trace, _seeds(case)[0], event_log=True)
    with timeline.open(newline="") as stream:
        rows = [
            (row["kind"], float(row["end"]) - float(row["start"])) for row in csv.DictReader(stream)
        ]
    messages = Messages(sum(result.column("messages_sent")), sum(result.column("bytes_sent")))
    return (
        *explain(
            [repetition.ends for repetition in execution.repetitions],
            [*result.column("finish")],
            sum_by_kind(rows),
            _predicted_kinds(result),
        ),
        *compare_messages(count_messages(case, trace), messages),
    )


def _predicted_kinds(result: Result) -> Mapping[str, float]:
    """Return the seconds in calls of each kind."""
    actions = result.timeline
    return sum_by_kind(
        [*zip(actions["kind"].astype(str), actions["end"] - actions["start"], strict=True)]
    )


def _violations(study: Study, summaries: Sequence[Summary]) -> list[str]:
    violations = []
    by_group = {summary.group: summary for summary in summaries}
    for group, thresholds in study.thresholds.items():
        summary = by_group.get(group)
        if summary is None:
            continue
        whose = f"of '{group}'" if group else "of all cases"
        for name in ("median", "mean", "worst"):
            allowed, error = getattr(thresholds, name), getattr(summary, name)
            if allowed is not None and math.isnan(error):
                violations.append(
                    f"the {name} error {whose} is unknown: no case ran whose real times are close "
                    "enough to each other"
                )
            elif allowed is not None and error > allowed:
                violations.append(f"the {name} error {whose} is {error:.1%}, above {allowed:.1%}")
    return violations
