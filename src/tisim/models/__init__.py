"""Parameters of the network, CPU and protocol models, made from a configuration."""

from tisim.models.cpu import CpuModel
from tisim.models.factors import OverheadTable, StepTable
from tisim.models.network import NetworkModel
from tisim.models.protocol import Overheads, Protocol

__all__ = ["CpuModel", "NetworkModel", "OverheadTable", "Overheads", "Protocol", "StepTable"]
