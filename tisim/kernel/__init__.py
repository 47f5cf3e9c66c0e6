"""The simulation kernel: the compiled core, and SimPy on top of it on the same clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.kernel.environment import Environment

__all__ = ["Environment"]


def __getattr__(name: str) -> object:
    if name == "Environment":
        from tisim.kernel.environment import Environment

        return Environment
    raise AttributeError(f"module 'tisim.kernel' has no attribute {name!r}")
