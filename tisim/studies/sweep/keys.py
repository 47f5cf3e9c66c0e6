"""Digests of what a scenario depends on, so that nothing is simulated twice."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.traces.sources import Part, find_source
from tisim.traces.spool import Spool, reading

if TYPE_CHECKING:
    from tisim.actions.registry import Registry
    from tisim.platform import Platform
    from tisim.studies.sweep.scenario import TraceSource

_CHUNK = 1 << 20
# Parts of the package that no simulated time depends on: they present results, or measure machines.
_NOT_SIMULATING = ("analysis", "commands", "studies", "__main__.py")
# Hexadecimal digits of a key: 80 bits, unique among millions of scenarios.
_DIGITS = 20


def trace_digest(source: TraceSource) -> str:
    """The digest of a trace's text, however it is packed and wherever it is.

    Raises
    ------
    InputError
        If there is no such trace, or it is damaged.
    """
    files, ranks, dialect, noise = source
    digest = hashlib.sha256(f"{ranks} {dialect} {noise}".encode())
    with Spool() as spool:
        for part in find_source(files, spool).parts:
            digest.update(b"\0file\0")
            _add_part(digest, part)
    return digest.hexdigest()


def platform_digest(platform: Platform) -> str:
    """The digest of everything that a platform consists of."""
    # Zones note down what compiling works out: a platform that was used has it, another has not.
    _ = platform.compiled
    parts = (platform.topology, platform.resources, dict(platform.config), platform.profiles)
    return hashlib.sha256(pickle.dumps(parts, protocol=5)).hexdigest()


def modules_digest(modules: Iterable[str]) -> str:
    """The digest of the source of the user's own modules."""
    digest = hashlib.sha256()
    for name in modules:
        digest.update(name.encode())
        file = inspect.getsourcefile(sys.modules[name])
        digest.update(Path(file).read_bytes() if file else b"")
    return digest.hexdigest()


def registry_digest(registry: Registry) -> str:
    """The digest of what a registry holds: names and functions, their modules apart.

    The functions of a script or notebook, whose whole text is no input, count with their source.
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
    """The key of a scenario whose inputs are these digests, numbers and texts.

    It depends on the simulator too, so that a sweep does not go on with the rows of another one.
    """
    content = {"simulator": simulator_digest(), **inputs}
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@cache
def simulator_digest() -> str:
    """The digest of everything that simulates: the compiled core and the sources beside it.

    A version number would not do: sources change between releases. What only presents results is
    left out, so that rows stay of use when a picture or a table changes.
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
