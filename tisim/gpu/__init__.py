"""Programs on GPUs: machines, NCCL's collectives, training steps."""

from tisim.gpu.machines import GPUS, MACHINES, Gpu, Machine, machine
from tisim.gpu.nccl import Collective, Communicator, collective

__all__ = [
    "GPUS",
    "MACHINES",
    "Collective",
    "Communicator",
    "Gpu",
    "Machine",
    "collective",
    "machine",
]
