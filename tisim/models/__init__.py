"""The models of a simulation, and the kernel that can be read (`tisim.models.kernel`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim.models.network import NetworkModel, Route
    from tisim.models.processors import HostModel
    from tisim.models.sharing import Sharing

__all__ = ["HostModel", "NetworkModel", "Route", "Sharing"]


if not TYPE_CHECKING:  # NumPy, which they import, is slow to load
    __getattr__, __dir__ = lazy_names(
        __name__,
        {".network": "NetworkModel Route", ".processors": "HostModel", ".sharing": "Sharing"},
    )
