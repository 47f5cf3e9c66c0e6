"""Turn a user's request into a list of scenarios."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from tisim.actions.registry import default_registry
from tisim.config import Config
from tisim.errors import InputError, TisimError
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.platform.mapping import Mapping as RankMapping
from tisim.platform.scaling import SCALED, Change
from tisim.studies.sweep.axes import COMPUTE_NOISE, QUANTITIES, Axis, Choice, Point, parse_points
from tisim.studies.sweep.scenario import (
    Amount,
    Inputs,
    Job,
    Scenario,
    TraceSource,
    describe,
)
from tisim.traces import Trace
from tisim.traces.sources import Part, find_source
from tisim.traces.spool import Spool, reading
from tisim.traces.trace import NO_NOISE

if TYPE_CHECKING:
    from tisim.actions.registry import Registry

_CHUNK = 1 << 20
# Parts of the package that do not affect simulated times: they present results, or measure
# machines.
_NOT_SIMULATING = ("analysis", "commands", "studies", "__main__.py")
# Hexadecimal digits of a key: 80 bits, unique among millions of scenarios.
_DIGITS = 20


def trace_digest(source: TraceSource) -> str:
    """Return the digest of a trace's text, independent of packing and location.

    Raises `InputError` if the trace does not exist or is damaged.
    """
    files, ranks, dialect, noise = source
    digest = hashlib.sha256(f"{ranks} {dialect} {noise}".encode())
    with Spool() as spool:
        for part in find_source(files, spool).parts:
            digest.update(b"\0file\0")
            _add_part(digest, part)
    return digest.hexdigest()


def platform_digest(platform: Platform) -> str:
    """Return the digest of the content of a platform."""
    parts = (platform.topology, platform.resources, dict(platform.config), platform.profiles)
    return hashlib.sha256(pickle.dumps(parts, protocol=5)).hexdigest()


def modules_digest(modules: Iterable[str]) -> str:
    """Return the digest of the source of the user's own modules."""
    digest = hashlib.sha256()
    for name in modules:
        digest.update(name.encode())
        file = inspect.getsourcefile(sys.modules[name])
        digest.update(Path(file).read_bytes() if file else b"")
    return digest.hexdigest()


def registry_digest(registry: Registry) -> str:
    """Return the digest of a registry: names and functions, without their modules.

    Functions of a script or notebook, whose whole text is not an input, are included with their
    source.
    """
    named: dict[tuple[str, str], Callable[..., object]] = dict(registry.collectives)
    named |= {("action", name): function for name, function in registry.actions.items()}
    content = sorted((*key, *_function_content(function)) for key, function in named.items())
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _function_content(function: Callable[..., object]) -> tuple[str, str, str]:
    source = ""
    if function.__module__ == "__main__":
        try:
            source = inspect.getsource(function)
        except (OSError, TypeError):  # typed into an interpreter
            code = getattr(function, "__code__", None)
            source = "" if code is None else f"{code.co_code.hex()} {code.co_consts}"
    return function.__module__, getattr(function, "__qualname__", repr(function)), source


def scenario_key(inputs: Mapping[str, object]) -> str:
    """Return the key of a scenario with these digests, numbers and texts as inputs.

    It also depends on the simulator, so that a sweep does not resume with the rows of another
    version.
    """
    content = {"simulator": simulator_digest(), **inputs}
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def simulator_digest() -> str:
    """Return the digest of the simulating code: the compiled core and the sources next to it.

    A version number is insufficient: sources change between releases. Code that only presents
    results is omitted, so that rows remain valid when a picture or a table changes.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    core = importlib.util.find_spec("tisim._core")
    files = [Path(core.origin)] if core is not None and core.origin is not None else []
    for part in sorted(package.iterdir()):
        if part.name not in _NOT_SIMULATING:
            files += sorted(part.rglob("*.py")) if part.is_dir() else [part]
    for file in files:
        digest.update(
            f"\0{file.relative_to(package) if package in file.parents else ''}\0".encode()
        )
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _add_part(digest: hashlib._Hash, part: Part) -> None:
    left = part.length
    with reading(part.name):
        descriptor = os.dup(part.descriptor) if part.path is None else os.open(part.path, 0)
        try:
            offset = part.offset
            while left is None or left > 0:
                size = _CHUNK if left is None else min(left, _CHUNK)
                chunk = os.pread(descriptor, size, offset)
                if not chunk:
                    break
                digest.update(chunk)
                offset += len(chunk)
                left = None if left is None else left - len(chunk)
        finally:
            os.close(descriptor)


_Item = TypeVar("_Item")
_TRACE, _PLATFORM, _MAPPING = (Axis(kind, kind) for kind in ("trace", "platform", "mapping"))
# The mapping given by the arguments `deployment` and `hosts`, or by neither.
_GIVEN_MAPPING = "as given"


@dataclass(frozen=True, slots=True)
class Request:
    """The user's request; `tisim.sweep` documents each part."""

    trace: object = None
    platform: object = None
    vary: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None
    sample: int | None = None
    seed: int = 0
    replicates: int = 1
    baseline: Mapping[str, object] | None = None
    deployment: Deployment | str | os.PathLike[str] | None = None
    hosts: Sequence[str] | str | os.PathLike[str] | None = None
    config: Config | Mapping[str, object] | None = None
    ranks: int | None = None
    modules: Sequence[str] = ()
    registry: Registry | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All scenarios of a sweep."""

    axes: tuple[str, ...]  # names of the varied axes: the first columns of the table
    scenarios: tuple[Scenario, ...]  # the rows, in order
    baselines: Mapping[str, Job]  # the references of the scenarios, by key
    inputs: Inputs  # inputs of the workers for all scenarios
    replicates: int  # number of replicates of each point


def make_plan(request: Request) -> Plan:
    """List the scenarios of a sweep.

    Raises `InputError` if the axes are invalid, or an input shared by all scenarios cannot be used.
    """
    if request.seed < 0:
        raise InputError(f"a seed must be a non-negative whole number, not {request.seed}")
    if request.replicates < 1:
        raise InputError(f"replicates must be at least 1, not {request.replicates}")
    axes, points = parse_points(request.vary, request.sample, request.seed)
    base = _base_point(request, points)
    planner = _Planner(request)
    planner.check_given()
    scenarios: list[Scenario] = []
    baselines: dict[str, Job] = {}
    references: dict[Choice, str] = {}
    for point in points:
        # A scenario with another trace is compared to the baseline of that trace.
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
    """Return the parts of the baseline: the arguments, or else first values."""
    base: Point = {}
    for axis, given in ((_TRACE, request.trace), (_PLATFORM, request.platform)):
        if given is not None:
            base[axis] = axis.choice(given)
        elif axis in points[0]:
            base[axis] = points[0][axis]
        else:
            raise InputError(f"a sweep needs a {axis.name}: give one, or several to vary over")
    if request.deployment is not None and request.hosts is not None:
        raise InputError("give a deployment or hosts, not both")
    base[_MAPPING] = Choice("given", _GIVEN_MAPPING)
    for name, value in (request.baseline or {}).items():
        axis = Axis.parse(name)
        base[axis] = axis.choice(value)
    return base


class _Planner:
    """Creates jobs from points; reads each input once."""

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
        """Return the workers' inputs; with a registry only if they cannot fill it by imports."""
        is_importable = (
            self._request.registry is None and "__main__" not in self._registry.modules()
        )
        return Inputs(
            tuple(self._traces.listed),
            tuple(self._platforms.listed),
            tuple(self._mappings.listed),
            self._config,
            tuple(self._request.modules),
            None if is_importable else self._registry,
        )

    def check_given(self) -> None:
        """Raise the errors of inputs that are not varied."""
        if self._request.trace is not None:
            self._traces.add(self._request.trace)
        if self._request.platform is not None:
            self._platforms.add(self._request.platform)

    def job(self, point: Point, replicate: int) -> tuple[Job, str]:
        """Return a worker's input for a point, and its key."""
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
            if axis.kind in QUANTITIES and not _is_no_op(axis, choice)
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
            return Deployment.of_hosts(hosts)
        if deployment is None or isinstance(deployment, Deployment):
            return deployment
        return Deployment.load(deployment)

    def _read_trace(self, value: object) -> tuple[TraceSource, str]:
        if isinstance(value, Trace):
            source = TraceSource(*value.opening, value.noise)
        else:
            source = TraceSource(_absolute(value), self._request.ranks, "auto", NO_NOISE)
        return source, trace_digest(source)

    def _read_mapping(self, value: object) -> tuple[RankMapping, str]:
        if value == _GIVEN_MAPPING:
            value = "cyclic" if self._pool is None else self._pool
        mapping = RankMapping.parse(value, self._pool)
        return mapping, repr(mapping.content)


class _Table(Generic[_Item]):
    """Inputs of one kind, each read once, including those that cannot be read."""

    def __init__(self, read: Callable[[object], tuple[_Item, str]]) -> None:
        self._read = read
        self._found: dict[str | int, tuple[int, str] | TisimError] = {}
        self.listed: list[_Item] = []

    def add(self, value: object) -> tuple[int, str]:
        """Return position and digest of an input; raises the same error each time."""
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
    """Return the absolute path or paths of a trace."""
    if isinstance(files, Sequence) and not isinstance(files, str):
        return [str(Path(path).absolute()) for path in files]
    return str(_path(files).absolute())


def _path(given: object) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"expected a file name, not {given!r}")
    return Path(given)


def _read_platform(value: object) -> tuple[bytes, str]:
    platform = value if isinstance(value, Platform) else Platform.load(_path(value))
    digest = platform_digest(platform)
    return pickle.dumps(platform, protocol=5), digest


def _is_no_op(axis: Axis, choice: Choice) -> bool:
    """Return whether a change has no effect: the scenario equals the one without it."""
    noise = axis.kind.endswith("_noise") and choice.value == 0
    return axis.target == "*" and (noise or (axis.kind in SCALED and choice.value == "x1"))


def _number(value: object) -> Amount:
    """Return a number as a float: 2 and 2.0 are the same change."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return cast("Amount", value)  # an axis of numbers has no other values
