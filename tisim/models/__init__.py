"""Parameters of the network, CPU and protocol models, made from a configuration."""

from tisim.config.table import CpuModel, NetworkModel, Overheads, Protocol
from tisim.config.tables import OverheadTable, StepTable

__all__ = ["CpuModel", "NetworkModel", "OverheadTable", "Overheads", "Protocol", "StepTable"]
