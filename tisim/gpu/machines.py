"""GPUs and the machines built from them, from public figures.

`GPUS` and `MACHINES` follow data sheets, which the page "GPU clusters and NCCL" names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tisim.errors import InputError

#: Fraction of an interface's bandwidth that messages achieve: 24 of 25 GB/s, and 46 to 48 of 50
#: (NVIDIA/nccl-tests, issues 160 and 290).
NIC_EFFICIENCY: Final = 0.96
# Factor on the link bytes of a message between two PCIe switches of one CPU: NCCL's
# ``INTEL_P2P_OVERHEAD``; an Intel CPU divides the message into packets of 64 bytes.
_HOST_BRIDGE: Final = 6 / 5
#: Topologies that connect the interfaces of nodes: see `Machine`.
FABRICS: Final = ("rail", "fat-tree")
_PORTS_DOWN: Final = 32


@dataclass(frozen=True)
class Primitive:
    """The cost of one step of a ring on one channel with one protocol.

    Attributes
    ----------
    hop
        Latency of a step within a node, seconds.
    rate
        Bytes/s that a channel sends when links do not limit it.
    """

    hop: float
    rate: float = float("inf")


@dataclass(frozen=True)
class Gpu:
    """A GPU model.

    Attributes
    ----------
    name
        Name as users write it.
    capability
        Compute capability times ten: 70, 80, 90 or 100.
    sms
        Streaming multiprocessors.
    memory, memory_rate
        Capacity in bytes, and bandwidth in bytes/s.
    nvlinks, nvlink_rate, nvlink_achieved_rate
        NVLinks of a GPU, raw bytes/s of one in each direction, and the bytes/s that NCCL achieves.
    peaks
        Peak dense performance by data type, flop/s.
    primitives
        Measured cost of NCCL's steps by protocol; NCCL's own latencies and bandwidths apply to the
        others.
    copy_rate
        Bytes/s that NCCL copies within the memory of a GPU; infinite where copies are hidden by
        links.
    """

    name: str
    capability: int
    sms: int
    memory: float
    memory_rate: float
    nvlinks: int
    nvlink_rate: float
    nvlink_achieved_rate: float
    peaks: Mapping[str, float]
    primitives: Mapping[str, Primitive] = field(default_factory=dict)
    copy_rate: float = float("inf")

    def peak(self, dtype: str) -> float:
        """Return the peak dense performance for a data type, flop/s."""
        if dtype not in self.peaks:
            known = ", ".join(self.peaks)
            raise InputError(
                f"the peak of a {self.name} is not known for {dtype}, only for: {known}"
            )
        return self.peaks[dtype]


def _peaks(**teraflops: float) -> dict[str, float]:
    return {dtype: peak * 1e12 for dtype, peak in teraflops.items()}


_V100 = Gpu(
    *("v100", 70, 80, 32e9, 0.9e12, 6, 25e9, 22.22e9),
    _peaks(fp64=7.8, fp32=15.7, fp16=125),
    # Fitted to all-reduces of 4 and 8 GPUs, like those of the A100: docs/ai_validation.md.
    {"LL128": Primitive(3.35e-6, 7.26e9), "Simple": Primitive(2.64e-6)},
)
_A100 = Gpu(
    *("a100", 80, 108, 80e9, 2.039e12, 12, 25e9, 20.36e9),
    _peaks(fp64=9.7, fp32=19.5, tf32=156, fp16=312, bf16=312, int8=624),
    {"LL128": Primitive(2.73e-6, 7.46e9), "Simple": Primitive(7.43e-6)},
    copy_rate=490e9,
)
_H100 = Gpu(
    *("h100", 90, 132, 80e9, 3.35e12, 18, 25e9, 20.6e9),
    _peaks(fp64=34, fp32=67, tf32=494.5, fp16=989.5, bf16=989.5, fp8=1979, int8=1979),
)
_H200 = replace(_H100, name="h200", memory=141e9, memory_rate=4.8e12)
_GB200 = Gpu(
    *("gb200", 100, 148, 186e9, 8e12, 18, 50e9, 40.1e9),
    _peaks(fp64=40, fp32=80, tf32=1250, fp16=2500, bf16=2500, fp8=5000, int8=5000, fp4=10000),
)
# SM89, which NCCL treats as SM80.
_L40S = Gpu(
    *("l40s", 80, 142, 48e9, 0.864e12, 0, 0.0, 0.0),
    _peaks(fp32=91.6, tf32=183, fp16=362, bf16=362, fp8=733, int8=733),
)

#: GPUs by name.
GPUS: Final[Mapping[str, Gpu]] = {
    gpu.name: gpu for gpu in (_V100, _A100, _H100, _H200, _GB200, _L40S)
}


@dataclass(frozen=True)
class Machine:
    """Identical nodes of identical GPUs: rank r is GPU ``r % gpus`` of node ``r // gpus``.

    Attributes
    ----------
    gpu
        Model of all GPUs.
    gpus
        GPUs per node, that is, per NVLink domain.
    nics, nic_rate
        Network interfaces per node, and bytes/s of one in each direction.
    nodes
        Number of nodes.
    cables
        Direct NVLinks between two GPUs of a node without a switch: the two GPUs, and the number of
        links.
    fabric
        ``"rail"``: interfaces with the same number in all nodes share their first switch;
        ``"fat-tree"``: all interfaces of a node share it.
    oversubscription
        Bandwidth of the interfaces at a first switch divided by that of its uplinks.
    latency
        Latency of a network cable including the port behind it, seconds.
    nvlink_latency
        Latency of an NVLink, seconds.
    sharp
        Whether the switches between nodes reduce (SHARP).
    pcie_rate
        Bytes/s that NCCL assumes for 16 PCIe lanes in each direction (``topo.cc``: 3/4 of raw).
    pcie_gpus
        GPUs that share a PCIe switch with their interfaces, and its link to a host bridge; 0: each
        GPU and interface has a link of its own to the CPU.
    socket_rate
        Bytes/s between the two CPUs in each direction; each CPU has half of the switches.
    """

    gpu: Gpu
    gpus: int
    nics: int
    nic_rate: float
    nodes: int = 1
    cables: tuple[tuple[int, int, int], ...] = ()
    fabric: str = "rail"
    oversubscription: float = 1.0
    latency: float = 0.6e-6
    nvlink_latency: float = 0.35e-6
    sharp: bool = False
    pcie_rate: float = 12e9
    pcie_gpus: int = 0
    socket_rate: float = math.inf

    @property
    def size(self) -> int:
        """Total number of GPUs."""
        return self.nodes * self.gpus

    @property
    def switch_nodes(self) -> int:
        """Nodes that share their first switches, which have 64 ports, half of them down."""
        return _PORTS_DOWN if self.fabric == "rail" else max(1, _PORTS_DOWN // self.nics)

    @property
    def pcie(self) -> bool:
        """True if the GPUs of a node are connected by PCIe, without NVLinks."""
        return not self.gpu.nvlinks

    @property
    def switched(self) -> bool:
        """True if NVSwitch connects the GPUs of a node."""
        return not self.pcie and not self.cables

    @property
    def nvlink_rate(self) -> float:
        """Raw bytes/s of all NVLinks of a GPU, or of its PCIe link without them, each direction."""
        return self.pcie_rate if self.pcie else self.gpu.nvlinks * self.gpu.nvlink_rate

    @property
    def pcie_switches(self) -> int:
        """PCIe switches per node."""
        return -(-self.gpus // (self.pcie_gpus or self.gpus))

    @property
    def bridge_rate(self) -> float:
        """Bytes/s of messages between GPUs on the link from a PCIe switch to its CPU."""
        return self.pcie_rate / (_HOST_BRIDGE if self.pcie_switches > 2 else 1)

    def pcie_place(self, gpu: int) -> tuple[int, int]:
        """Return the CPU and the PCIe switch of a GPU of a node."""
        switch = gpu // (self.pcie_gpus or self.gpus)
        return switch * 2 // max(self.pcie_switches, 2), switch

    def without_gpudirect(self) -> Machine:
        """Return the machine with interfaces that access host memory instead of GPU memory.

        The link from a PCIe switch to its CPU then carries the data that its GPUs send and its
        interfaces receive in one direction, and the rest in the other.
        """
        each = max(1.0, self.pcie_gpus * self.nics / self.gpus)  # interfaces of a switch
        bounced = self.pcie_rate / (2 * each) if self.pcie_gpus else math.inf
        return replace(self, nic_rate=min(self.nic_rate, bounced))

    def with_nvlinks(self, rate: float) -> Machine:
        """Return the machine with another raw NVLink bandwidth; NCCL achieves the same fraction.

        `rate` is bytes/s of one NVLink in each direction.
        """
        if self.pcie:
            raise InputError(f"a {self.gpu.name} has no NVLinks")
        reached = self.gpu.nvlink_achieved_rate * rate / self.gpu.nvlink_rate
        return replace(self, gpu=replace(self.gpu, nvlink_rate=rate, nvlink_achieved_rate=reached))


# The hybrid cube mesh of a DGX-1 with V100: six NVLinks per GPU.
_CUBE_MESH = (
    *((0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 1)),
    *((2, 6, 2), (3, 7, 2), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 1)),
)

_HOPPER_NODE = Machine(_H100, gpus=8, nics=8, nic_rate=50e9, pcie_rate=48e9, pcie_gpus=2)
#: A node by GPU: DGX-1, DGX A100, DGX H100, DGX H200, GB200 NVL72, and two CPUs with one PCIe
#: switch each for four L40S and two interfaces.
MACHINES: Final[Mapping[str, Machine]] = {
    "v100": Machine(_V100, gpus=8, nics=4, nic_rate=12.5e9, cables=_CUBE_MESH, pcie_gpus=2),
    "a100": Machine(_A100, gpus=8, nics=8, nic_rate=25e9, pcie_rate=24e9, pcie_gpus=2),
    "h100": _HOPPER_NODE,
    "h200": replace(_HOPPER_NODE, gpu=_H200),
    "gb200": Machine(_GB200, gpus=72, nics=72, nic_rate=50e9, pcie_rate=48e9),
    "l40s": Machine(
        _L40S, gpus=8, nics=4, nic_rate=25e9, pcie_rate=24e9, pcie_gpus=4, socket_rate=40e9
    ),
}


def machine(gpu: str, nodes: int = 1) -> Machine:
    """Return the usual machine of a GPU.

    Parameters
    ----------
    gpu
        A name in `MACHINES`.
    nodes
        Number of nodes.

    Raises
    ------
    InputError
        If the GPU is not known or `nodes` is below 1.
    """
    if gpu not in MACHINES:
        raise InputError(f"unknown GPU {gpu!r}; known: {', '.join(MACHINES)}")
    if nodes < 1:
        raise InputError(f"a machine must have at least one node, not {nodes}")
    return replace(MACHINES[gpu], nodes=nodes)
