"""The modules in which a user has defined actions and collective algorithms of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tisim.actions.collectives import registry
from tisim.actions.custom import registered


def own_modules() -> tuple[str, ...]:
    """Names of the modules that hold them; ``__main__`` for a script or notebook."""
    return tuple(dict.fromkeys(function.__module__ for function in _functions()))


def _functions() -> Iterator[Callable[..., Any]]:
    yield from registered().values()
    for operation, listed in registry.ALGORITHMS.items():
        known = {*registry.SELECTORS, *listed, *registry.APPROXIMATIONS.get(operation, ())}
        for name in registry.names(operation):
            if name not in known:
                yield registry.algorithm(operation, name)
