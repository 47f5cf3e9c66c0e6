"""Predict how long an MPI program takes on a hypothetical machine.

The public names are loaded when they are first used, so that ``import tisim`` is quick.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.actions.registry import Registry, action, collective, default_registry
    from tisim.config import Config
    from tisim.errors import InputError, SimulationError, TisimError
    from tisim.extrapolation import extrapolation
    from tisim.formats import Trace
    from tisim.platform import Platform, PlatformBuilder
    from tisim.platform.deployment import Deployment
    from tisim.replay import replay
    from tisim.result import Result
    from tisim.sweep import sweep

    __version__: str

_HOME_OF = {
    "Config": "tisim.config",
    "Deployment": "tisim.platform.deployment",
    "InputError": "tisim.errors",
    "Platform": "tisim.platform",
    "PlatformBuilder": "tisim.platform",
    "Registry": "tisim.actions.registry",
    "Result": "tisim.result",
    "SimulationError": "tisim.errors",
    "TisimError": "tisim.errors",
    "Trace": "tisim.formats",
    "action": "tisim.actions.registry",
    "collective": "tisim.actions.registry",
    "default_registry": "tisim.actions.registry",
    "extrapolation": "tisim.extrapolation",
    "replay": "tisim.replay",
    "sweep": "tisim.sweep",
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
    "default_registry",
    "extrapolation",
    "replay",
    "sweep",
]


if not TYPE_CHECKING:  # a type checker sees the imports above

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from tisim import _core

            value: object = _core.VERSION
        elif name in _HOME_OF:
            value = getattr(importlib.import_module(_HOME_OF[name]), name)
        else:
            raise AttributeError(f"module 'tisim' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps ``tisim.replay`` the function when the submodule of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
