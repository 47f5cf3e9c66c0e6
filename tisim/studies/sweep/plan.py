"""From what a user asks for to the list of scenarios."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from tisim.actions.registry import default_registry
from tisim.config import Config
from tisim.errors import InputError, TisimError
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.studies.sweep.axes import COMPUTE_NOISE, QUANTITIES, Axis, Choice
from tisim.studies.sweep.design import Point, parse_points
from tisim.studies.sweep.keys import (
    modules_digest,
    platform_digest,
    registry_digest,
    scenario_key,
    trace_digest,
)
from tisim.studies.sweep.mapping import Mapping as RankMapping
from tisim.studies.sweep.mapping import load_deployment
from tisim.studies.sweep.scenario import (
    Amount,
    Change,
    Inputs,
    Job,
    Scenario,
    TraceSource,
    describe,
)
from tisim.traces import Trace
from tisim.traces.trace import NO_NOISE

if TYPE_CHECKING:
    from tisim.actions.registry import Registry

_Item = TypeVar("_Item")
_TRACE, _PLATFORM, _MAPPING = (Axis(kind, kind) for kind in ("trace", "platform", "mapping"))
# The mapping of the arguments `deployment` and `hosts`, or of neither.
_GIVEN_MAPPING = "as given"


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for; `tisim.sweep` says what each part means."""

    trace: object = None
    platform: object = None
    vary: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None
    sample: int | None = None
    seed: int = 0
    replicates: int = 1
    baseline: Mapping[str, object] | None = None
    deployment: Deployment | str | os.PathLike[str] | None = None
    hosts: Sequence[str] | None = None
    config: Config | Mapping[str, object] | None = None
    ranks: int | None = None
    modules: Sequence[str] = ()
    registry: Registry | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All scenarios of a sweep.

    Attributes
    ----------
    axes
        Names of what varies: the first columns of the table.
    scenarios
        The rows, in their order.
    baselines
        What they are compared to, by key.
    inputs
        What workers need for all of them.
    replicates
        How many there are of each point.
    """

    axes: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    baselines: Mapping[str, Job]
    inputs: Inputs
    replicates: int


def make_plan(request: Request) -> Plan:
    """List the scenarios of a sweep.

    Raises
    ------
    InputError
        If the axes make no sense, or an input that all scenarios share cannot be used.
    """
    if request.seed < 0:
        raise InputError(f"a seed is a whole number from 0 on, not {request.seed}")
    if request.replicates < 1:
        raise InputError(f"there is at least 1 replicate, not {request.replicates}")
    axes, points = parse_points(request.vary, request.sample, request.seed)
    base = _base_point(request, points)
    planner = _Planner(request)
    planner.check_given()
    scenarios: list[Scenario] = []
    baselines: dict[str, Job] = {}
    references: dict[Choice, str] = {}
    for point in points:
        # A scenario with another trace is compared to the same trace.
        trace = point.get(_TRACE, base[_TRACE])
        if trace not in references:
            job, references[trace] = planner.job({**base, _TRACE: trace}, 0)
            baselines[references[trace]] = job
        shown = {axis.name: choice.label for axis, choice in point.items()}
        for replicate in range(request.replicates):
            job, key = planner.job({**base, **point}, replicate)
            scenarios.append(Scenario(shown, replicate, job, key, references[trace]))
    names = tuple(axis.name for axis in axes)
    return Plan(names, tuple(scenarios), baselines, planner.inputs(), request.replicates)


def _base_point(request: Request, points: Sequence[Point]) -> Point:
    """What the baseline consists of: the arguments, and where they say nothing, first values."""
    base: Point = {}
    for axis, given in ((_TRACE, request.trace), (_PLATFORM, request.platform)):
        if given is not None:
            base[axis] = axis.choice(given)
        elif axis in points[0]:
            base[axis] = points[0][axis]
        else:
            raise InputError(f"a sweep needs a {axis.name}: give one, or some to vary over")
    if request.deployment is not None and request.hosts is not None:
        raise InputError("give a deployment or hosts, not both")
    base[_MAPPING] = Choice("given", _GIVEN_MAPPING)
    for name, value in (request.baseline or {}).items():
        axis = Axis.parse(name)
        base[axis] = axis.choice(value)
    return base


class _Planner:
    """Makes jobs of points; reads each input once."""

    def __init__(self, request: Request) -> None:
        self._request = request
        given = request.config
        self._registry = default_registry if request.registry is None else request.registry
        self._config = given if isinstance(given, Config) else Config(given)
        self._pool = self._deployment()
        self._traces = _Table(self._read_trace)
        self._platforms = _Table(_read_platform)
        self._mappings = _Table(self._read_mapping)
        self._common = {
            "config": {key: str(self._config[key]) for key in self._config},
            "modules": modules_digest(request.modules),
            "registry": registry_digest(self._registry),
        }

    def inputs(self) -> Inputs:
        """What workers need."""
        return Inputs(
            tuple(self._traces.listed),
            tuple(self._platforms.listed),
            tuple(self._mappings.listed),
            self._config,
            tuple(self._request.modules),
            self._registry_to_send(),
        )

    def _registry_to_send(self) -> Registry | None:
        """The registry that workers cannot fill by importing modules."""
        if self._request.registry is None and "__main__" not in self._registry.modules():
            return None
        return self._registry

    def check_given(self) -> None:
        """Raise what is wrong with the inputs that are not varied."""
        if self._request.trace is not None:
            self._traces.add(self._request.trace)
        if self._request.platform is not None:
            self._platforms.add(self._request.platform)

    def job(self, point: Point, replicate: int) -> tuple[Job, str]:
        """What a worker needs for a point, and its key."""
        failure = None
        trace, platform, mapping, digests = -1, -1, -1, [""] * 3
        try:
            trace, digests[0] = self._traces.add(point[_TRACE].value)
            platform, digests[1] = self._platforms.add(point[_PLATFORM].value)
            mapping, digests[2] = self._mappings.add(point[_MAPPING].value)
        except TisimError as error:
            failure = describe(error)
        changes = tuple(
            Change(axis.kind, axis.target, _number(choice.value))
            for axis, choice in point.items()
            if axis.kind in QUANTITIES and not _changes_nothing(axis, choice)
        )
        options = {a.target: choice.value for a, choice in point.items() if a.kind == "config"}
        noise = next((c.value for a, c in point.items() if a.kind == COMPUTE_NOISE), 0.0)
        noisy = noise != 0 or any(change.quantity.endswith("_noise") for change in changes)
        shuffled = failure is None and self._mappings.listed[mapping].is_random
        seed = (self._request.seed, replicate) if noisy or shuffled else ()
        job = Job(trace, platform, mapping, changes, options, _number(noise), seed, failure)
        content = {
            **self._common,
            "inputs": digests,
            "changes": [[c.quantity, c.pattern, c.value] for c in changes],
            "options": {name: str(value) for name, value in options.items()},
            "compute noise": _number(noise),
            "seed": seed,
            "failure": failure,
        }
        return job, scenario_key(content)

    def _deployment(self) -> Deployment | None:
        deployment, hosts = self._request.deployment, self._request.hosts
        if hosts is not None:
            return Deployment.round_robin(hosts, len(hosts))
        if deployment is None or isinstance(deployment, Deployment):
            return deployment
        return load_deployment(deployment)

    def _read_trace(self, value: object) -> tuple[TraceSource, str]:
        if isinstance(value, Trace):
            source = TraceSource(*value.opening, value.noise)
        else:
            source = TraceSource(_absolute(value), self._request.ranks, "auto", NO_NOISE)
        return source, trace_digest(source)

    def _read_mapping(self, value: object) -> tuple[RankMapping, str]:
        if value == _GIVEN_MAPPING:
            value = "round-robin" if self._pool is None else self._pool
        mapping = RankMapping.parse(value, self._pool)
        return mapping, repr(mapping.content)


class _Table(Generic[_Item]):
    """The inputs of one kind, each read once, those that cannot be read included."""

    def __init__(self, read: Callable[[object], tuple[_Item, str]]) -> None:
        self._read = read
        self._found: dict[str | int, tuple[int, str] | TisimError] = {}
        self.listed: list[_Item] = []

    def add(self, value: object) -> tuple[int, str]:
        """Position and digest of an input; raises the same error each time it is asked for."""
        name = value if isinstance(value, str) else id(value)
        if name not in self._found:
            try:
                item, digest = self._read(value)
            except TisimError as error:
                self._found[name] = error
            else:
                self._found[name] = (len(self.listed), digest)
                self.listed.append(item)
        found = self._found[name]
        if isinstance(found, TisimError):
            raise found
        return found


def _absolute(files: object) -> str | list[str]:
    """The path of a trace, or its paths."""
    if isinstance(files, Sequence) and not isinstance(files, str):
        return [str(Path(one).absolute()) for one in files]
    return str(_path(files).absolute())


def _path(given: object) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"expected the name of a file, not {given!r}")
    return Path(given)


def _read_platform(value: object) -> tuple[bytes, str]:
    platform = value if isinstance(value, Platform) else Platform.load(_path(value))
    digest = platform_digest(platform)
    return pickle.dumps(platform, protocol=5), digest


def _changes_nothing(axis: Axis, choice: Choice) -> bool:
    """Whether a change leaves all as it is: the scenario is then the one without it."""
    neutral = {"speed": 1, "bandwidth": 1, "latency": 1, "speed_noise": 0, "bandwidth_noise": 0}
    numeric = isinstance(choice.value, int | float) and not isinstance(choice.value, bool)
    return axis.target == "*" and numeric and neutral.get(axis.kind) == choice.value


def _number(value: object) -> Amount:
    """2 and 2.0 are one change."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return cast("Amount", value)  # an axis of numbers has no other values
