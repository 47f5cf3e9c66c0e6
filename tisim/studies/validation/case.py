"""A case of a study: a program, how it is executed, and how it is predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One program on one machine.

    Attributes
    ----------
    name
        Of its own in the study.
    trace
        What `tisim.Trace.open` takes.
    platform
        The platform that the prediction is made on.
    group
        Cases whose errors are summarised together.
    config
        Options of the simulation.
    hosts
        The hosts of the platform that the ranks are on; in their order if empty.
    seeds
        How many predictions with different seeds of the simulation's jitter are made; their median
        is the prediction.
    uncertainty
        With how many of the parameter sets beside the platform it is predicted too, for an interval
        of the prediction; 0: none.
    command
        What starts the ranks of an execution.
    compute, speed, repeat, warm_up, time_limit
        As of `tisim.studies.execute.execute`.
    compiler
        The compiler of the MPI library.
    real
        Times of real runs in seconds, where they are known; then nothing is executed.
    real_runs
        Run files of these runs, if that is where their times are from.
    """

    name: str
    trace: Path
    platform: Path
    group: str = "all"
    config: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    seeds: int = 1
    uncertainty: int = 0
    command: tuple[str, ...] = ("mpirun",)
    compute: str = "sleep"
    speed: float = 1e9
    repeat: int = 5
    warm_up: int = 1
    time_limit: float | None = None
    compiler: str | None = None
    real: tuple[float, ...] = ()
    real_runs: tuple[Path, ...] = ()
