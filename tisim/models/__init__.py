"""What a simulation is made with, and the kernel that can be read (`tisim.models.kernel`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.models.network import NetworkModel, Route
    from tisim.models.processors import HostModel
    from tisim.models.sharing import Sharing

_HOME_OF = {
    "HostModel": "tisim.models.processors",
    "NetworkModel": "tisim.models.network",
    "Route": "tisim.models.network",
    "Sharing": "tisim.models.sharing",
}

__all__ = ["HostModel", "NetworkModel", "Route", "Sharing"]


if not TYPE_CHECKING:  # NumPy, which they import, is slow to load

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'tisim.models' has no attribute {name!r}")
        return getattr(importlib.import_module(_HOME_OF[name]), name)
