"""Parameters of the network, CPU and protocol models, made from a configuration."""

from tisim.config.kinds import OverheadTable, StepTable
from tisim.config.table import CpuModel, NetworkModel, Overheads, Protocol

__all__ = ["CpuModel", "NetworkModel", "OverheadTable", "Overheads", "Protocol", "StepTable"]
