"""Predict how long an MPI program takes on a hypothetical machine.

Public names are loaded on first use, to keep ``import tisim`` fast.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

import tisim.support.extras  # noqa: F401

if TYPE_CHECKING:
    from tisim.actions.registry import Registry, action, collective, default_registry
    from tisim.analysis.compare import compare
    from tisim.analysis.result import Result
    from tisim.config import Config
    from tisim.errors import InputError, SimulationError, TisimError
    from tisim.platform import Platform, PlatformBuilder
    from tisim.platform.deployment import Deployment
    from tisim.simulation.replay import replay
    from tisim.studies.sweep import sweep
    from tisim.traces import Trace
    from tisim.traces.extrapolation import extrapolation

    __version__: str

_HOME_OF = {
    "Config": "tisim.config",
    "Deployment": "tisim.platform.deployment",
    "InputError": "tisim.errors",
    "Platform": "tisim.platform",
    "PlatformBuilder": "tisim.platform",
    "Registry": "tisim.actions.registry",
    "Result": "tisim.analysis.result",
    "SimulationError": "tisim.errors",
    "TisimError": "tisim.errors",
    "Trace": "tisim.traces",
    "action": "tisim.actions.registry",
    "collective": "tisim.actions.registry",
    "compare": "tisim.analysis.compare",
    "default_registry": "tisim.actions.registry",
    "extrapolation": "tisim.traces.extrapolation",
    "replay": "tisim.simulation.replay",
    "sweep": "tisim.studies.sweep",
}

__all__ = [
    "Config",
    "Deployment",
    "InputError",
    "Platform",
    "PlatformBuilder",
    "Registry",
    "Result",
    "SimulationError",
    "TisimError",
    "Trace",
    "__version__",
    "action",
    "collective",
    "compare",
    "default_registry",
    "extrapolation",
    "replay",
    "sweep",
]


if find_spec("tisim._core") is None:
    # A source checkout shadows an installed tisim: use the core of the installation.
    from pkgutil import extend_path

    __path__ = extend_path(__path__, __name__)
    if find_spec("tisim._core") is None:
        import sys

        from tisim.support import missing_core

        sys.modules["tisim._core"] = missing_core


if not TYPE_CHECKING:  # a type checker sees the imports above

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value: object = _version()
        elif name == "_core":
            value = importlib.import_module("tisim._core")
        elif name in _HOME_OF:
            value = getattr(importlib.import_module(_HOME_OF[name]), name)
        else:
            raise AttributeError(f"module 'tisim' has no attribute {name!r}")
        globals()[name] = value
        return value


def _version() -> str:
    try:
        # Written by the build: querying package metadata takes longer than many replays.
        return str(importlib.import_module("tisim.support._version").VERSION)
    except ModuleNotFoundError:
        return "unknown"


def __dir__() -> list[str]:
    return sorted(__all__)
