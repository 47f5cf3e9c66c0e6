"""Old spellings of names that have moved."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping


def moved(module: str, name: str, homes: Mapping[str, tuple[str, str]]) -> object:
    """The value of a name that has moved, with a warning that says where; for ``__getattr__``.

    Parameters
    ----------
    module
        The module that had the name.
    name
        The name.
    homes
        Old name to the module and the name of today.

    Raises
    ------
    AttributeError
        When the module never had the name.
    """
    if name not in homes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    home, new = homes[name]
    warnings.warn(
        f"{module}.{name} is deprecated; use {home}.{new}", DeprecationWarning, stacklevel=3
    )
    value: object = getattr(importlib.import_module(home), new)
    return value


def warn_of_old_name(old: str, new: str) -> None:
    """Warn the caller's caller that a name of its own has a new spelling."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=3)
