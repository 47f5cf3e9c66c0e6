"""A scenario of a sweep: its parameters, and a worker's input for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tisim.config import Config
from tisim.platform.mapping import Mapping as RankMapping
from tisim.platform.scaling import Change

if TYPE_CHECKING:
    from tisim.actions.registry import Registry

#: New value of a quantity: a number, or a text with a unit.
Amount = float | str
#: A value in a row of a sweep; None if it is unknown or does not exist.
Cell = float | int | str | None
#: A worker's results for a scenario, by the names of `OUTCOMES`.
Outcome = dict[str, Cell]

#: A row by its columns: the parameters of a scenario, its outcome, and its baseline.
Row = dict[str, object]

#: The columns of an outcome. All times are in seconds; mean and max are over ranks.
OUTCOMES = (
    "simulated_time",
    "compute_mean",
    "compute_max",
    "communication_mean",
    "communication_max",
    "ranks",
    "actions",
    "bytes_sent",
    "messages_sent",
    "wall_time",
    "error",
    "warnings",
)


class TraceSource(NamedTuple):
    """Arguments with which a trace is opened."""

    files: str | list[str]  # absolute path, or several
    ranks: int | None  # required number of ranks; None: any number
    dialect: str  # as in `Trace.open`
    noise: tuple[float, int]  # coefficient of variation and seed of its own noise


@dataclass(frozen=True, slots=True)
class Job:
    """A worker's input for one scenario."""

    # trace, platform, mapping: positions in the lists of `Inputs`
    trace: int
    platform: int
    mapping: int
    changes: tuple[Change, ...]  # changes of the platform, in order
    options: Mapping[str, object]  # options that override those of all scenarios
    # Coefficient of variation of compute volumes; 0 keeps those of the trace.
    compute_noise: Amount = 0.0
    seed: tuple[int, ...] = ()  # entropy of random numbers; empty if nothing is random
    failure: str | None = None  # error that prevents its start; None if it can start


#: A scenario to execute, and the key under which its outcome is returned.
Task = tuple[str, Job]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs shared by the scenarios of a sweep; sent once to each worker."""

    traces: tuple[TraceSource, ...]  # how each trace is opened
    platforms: tuple[bytes, ...]  # pickled platforms
    mappings: tuple[RankMapping, ...]  # rules that assign ranks to hosts
    config: Config  # options that override those of the platforms
    modules: tuple[str, ...] = ()  # to be imported: the user's own actions and algorithms
    # The actions and algorithms of the replays; None: the default registry of each process.
    registry: Registry | None = None


#: Input of a worker process: first the inputs, then numbered jobs.
Message: TypeAlias = Inputs | tuple[int, Job]
#: Its answers: None or the error of the inputs, then outcomes with the jobs' numbers.
Answer: TypeAlias = str | tuple[int, Outcome] | None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A row of a sweep."""

    parameters: Mapping[str, object]  # shown parameters, by the names of the axes
    replicate: int  # number of the repetition with other random numbers
    job: Job  # the worker's input
    key: str  # digest of the content of all inputs: equal keys, equal outcomes
    baseline: str  # key of the scenario to compare it to

    @property
    def title(self) -> str:
        """The parameters in words."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items()) or "baseline"


def failed(error: BaseException) -> Outcome:
    """Return the outcome of a scenario that failed with an error."""
    return {"error": describe(error)}


def describe(error: BaseException) -> str:
    """Return an error in one line: its type and its message."""
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
