"""The table of parameters: every name, unit, default, choice and meaning stands here, once.

A parameter of the core is a field of one of the records. To add one, add its row to the record, its
field to `core/platform/model.hpp`, and its use. The options that a replay does not use are in
`tisim.config.table.unused`.
"""

from tisim.config.table.files import CollectiveFiles
from tisim.config.table.mpi import Overheads, Protocol, check_thresholds
from tisim.config.table.names import PARAMETERS, SAME_TABLE, canonical, suggestion
from tisim.config.table.network import NetworkModel
from tisim.config.table.processors import CpuModel

__all__ = [
    "PARAMETERS",
    "SAME_TABLE",
    "CollectiveFiles",
    "CpuModel",
    "NetworkModel",
    "Overheads",
    "Protocol",
    "canonical",
    "check_thresholds",
    "suggestion",
]
