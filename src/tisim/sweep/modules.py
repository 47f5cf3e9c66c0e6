"""The modules in which a user has defined actions and collective algorithms of their own."""

from __future__ import annotations

from tisim.actions.registry import default_registry


def own_modules() -> tuple[str, ...]:
    """Names of the modules that hold them; ``__main__`` for a script or notebook."""
    return default_registry.modules()
