"""Public names of a package that are loaded on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    `modules` maps modules to the names that they define; ``.name`` is a module of the package.
    """
    home_of = {name: module for module, names in modules.items() for name in names.split()}
    own = vars(sys.modules[package])

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(home_of[name], package), name)
        own[name] = value
        return value

    return load, lambda: sorted({*own, *home_of})
