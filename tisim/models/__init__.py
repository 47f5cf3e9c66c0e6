"""The models of a simulation, and the readable SimPy kernel (`tisim.models.kernel`)."""

from tisim.models.network import NetworkModel, Route
from tisim.models.processors import HostModel
from tisim.models.sharing import Sharing

__all__ = ["HostModel", "NetworkModel", "Route", "Sharing"]
