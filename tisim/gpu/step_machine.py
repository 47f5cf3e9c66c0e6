"""Time of kernels and communication of training steps on a machine.

A kernel takes the maximum of two times, arithmetic and memory. The arithmetic of a matrix product
is that of its tiles: C of M x N is cut into tiles, each SM computes one at a time, so that their
number is rounded up to whole rounds; a tile takes K steps plus ``FILL``, to fill the pipeline and
write the result. NCCL's model gives the time of communication.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.gpu.machines import FABRICS, MACHINES, NIC_EFFICIENCY, Machine
from tisim.gpu.nccl import Communicator

if TYPE_CHECKING:
    from tisim.gpu.step_graph import Node

#: Bytes per number.
BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
# Tiles of cuBLAS and CUTLASS for large matrices, and their speed relative to the largest.
_TILES = ((128, 256, 1.0), (256, 128, 1.0), (128, 128, 0.95))
#: Additional steps of K per tile.
FILL = 128
# Channels per message.
_MESSAGE_CHANNELS = 2
# Operations whose names in NCCL differ from those in graph files.
_OPERATIONS = {"all_to_all": "alltoall", "send": "sendrecv", "shift": "sendrecv"}
# Communication patterns between nodes, by algorithm or operation, other than ring.
_PATTERNS = {
    **{"tree": "tree", "nvls_tree": "tree", "pat": "pat", "alltoall": "all"},
    **{"nvls": "sharp", "collnet_direct": "sharp", "collnet_chain": "sharp"},
}


@dataclass(frozen=True)
class CommunicationPhase:
    """A phase of communication: a latency, followed by channels that move bytes in lockstep.

    Attributes
    ----------
    latency
        Seconds before bytes move, or the whole time if no links are shared.
    bytes, rate
        Bytes per channel, and the maximum bytes/s of a channel.
    within, between
        Number of channels that load a GPU's NVLinks, and a network interface, in each direction.
    pattern
        Communication pattern between nodes: a name in `tisim.gpu.step_traffic.PATTERNS`.
    sms
        Fraction of the SMs that it takes from kernels.
    traffic
        Bytes moved in the memory of a GPU.
    """

    latency: float
    bytes: float = 0.0
    rate: float = math.inf
    within: float = 0.0
    between: float = 0.0
    pattern: str = "ring"
    sms: float = 0.0
    traffic: float = 0.0

    @property
    def seconds(self) -> float:
        """Total time on otherwise idle links."""
        return self.latency + self.bytes / self.rate


@dataclass(frozen=True)
class StepMachine:
    """A machine, and the efficiency of programs on it.

    Attributes
    ----------
    hardware
        GPUs, nodes and network.
    gemm_efficiency, attention_efficiency, memory_efficiency
        Fractions of peak arithmetic that matrix products and fused attention achieve, and fraction
        of the memory bandwidth that kernels achieve.
    network_efficiency
        Fraction of the network interfaces' bandwidth that communication achieves.
    kernel
        Minimum seconds of a kernel.
    launch
        Seconds of the host thread per kernel or collective.
    """

    hardware: Machine
    gemm_efficiency: float = 0.8
    attention_efficiency: float = 0.6
    memory_efficiency: float = 0.6
    network_efficiency: float = 1.0
    kernel: float = 3e-6
    launch: float = 1e-5

    def with_ranks(self, ranks: int) -> StepMachine:
        """Return the machine with as many nodes as `ranks` ranks need."""
        return replace(self, hardware=replace(self.hardware, nodes=-(-ranks // self.hardware.gpus)))

    def with_values(self, texts: tuple[str, ...]) -> StepMachine:
        """Return the machine with other values, each given as ``name=value``."""
        own = [f.name for f in fields(self) if f.name != "hardware"]
        changed = self
        for text in texts:
            name, equals, value = text.partition("=")
            name = name.replace("-", "_")
            if not equals or name not in (*own, *_HARDWARE):
                names = ", ".join((*own, *_HARDWARE)).replace("_", "-")
                what = f"no parameter {name!r}" if equals else f"{text!r} is not NAME=VALUE"
                raise InputError(f"{what}; names are {names}")
            if name == "fabric":
                if value not in FABRICS:
                    raise InputError(f"fabric must be one of {', '.join(FABRICS)}, not {value!r}")
                changed = replace(changed, hardware=replace(changed.hardware, fabric=value))
                continue
            try:
                number = float(value)
            except ValueError:
                number = -1.0
            may_be_zero = name in ("kernel", "launch", "sharp")
            most = 1.0 if name.endswith("efficiency") or name == "sharp" else 1e18
            if not (0 <= number <= most and (number > 0 or may_be_zero)):
                bounds = f"{'from' if may_be_zero else 'above'} 0 to {most:g}"
                raise InputError(
                    f"{text.partition('=')[0]} must be a number {bounds}, not {value!r}"
                )
            if name in _HARDWARE:
                amount = max(1, int(number)) if name in ("gpus", "nics") else number
                amount = number > 0 if name == "sharp" else amount
                hardware = replace(changed.hardware, **{name: amount})  # type: ignore[arg-type]
                changed = replace(changed, hardware=hardware)
            else:
                changed = replace(changed, **{name: number})  # type: ignore[arg-type]
        return changed

    def kernel_times(self, node: Node, dtype: str) -> tuple[float, float]:
        """Return the seconds of arithmetic and of memory of a kernel alone on the GPU."""
        numbers, gpu = node.numbers, self.hardware.gpu
        bandwidth = gpu.memory_rate * self.memory_efficiency
        if node.word == "seconds":
            return numbers[0], 0.0
        if node.word == "memory":
            return self.kernel, self.kernel + numbers[0] / bandwidth
        if node.word in ("flops", "attention"):
            moved = numbers[1] if numbers[1:] else 0.0
            products = node.word == "flops"
            reached = self.gemm_efficiency if products else self.attention_efficiency
            peak = gpu.peak("fp16") * reached
            return self.kernel + numbers[0] / peak, self.kernel + moved / bandwidth
        m, n, k = numbers[:3]
        batch = numbers[3] if numbers[3:] else 1.0
        moved = BYTES[dtype] * batch * (m * k + k * n) + 2 * batch * m * n
        if numbers[4:]:
            moved += numbers[4]
        return self.kernel + self._tiles(m, n, k, batch, dtype), self.kernel + moved / bandwidth

    def _tiles(self, m: float, n: float, k: float, batch: float, dtype: str) -> float:
        sms = self.hardware.gpu.sms
        speed = self.hardware.gpu.peak(dtype) * self.gemm_efficiency / sms  # per SM
        times = []
        for most, columns, relative in _TILES:
            rows = min(most, 16 * math.ceil(m / 16))  # few rows: as many as tensor cores process
            rounds = math.ceil(batch * math.ceil(m / rows) * math.ceil(n / columns) / sms)
            times.append(rounds * 2 * rows * columns * (k + FILL) / (speed * relative))
        return min(times)

    @property
    def within_rate(self) -> float:
        """Bytes/s that communication achieves on the NVLinks of a GPU, in each direction."""
        hardware = self.hardware
        reached = hardware.gpu.nvlinks * hardware.gpu.nvlink_achieved_rate
        return hardware.pcie_rate if hardware.pcie else reached

    @property
    def between_rate(self) -> float:
        """Bytes/s that communication achieves on a network interface, in each direction."""
        return self.hardware.nic_rate * NIC_EFFICIENCY * self.network_efficiency

    @property
    def uplink_rate(self) -> float:
        """Bytes/s that communication achieves on all uplinks of first switches, in each direction.

        Infinite if the uplinks are not a bottleneck of the interfaces.
        """
        hardware = self.hardware
        if hardware.oversubscription <= 1:
            return math.inf
        interfaces = hardware.switch_nodes * hardware.nics
        return interfaces * self.between_rate / hardware.oversubscription

    def communication(self, word: str, nbytes: float, ranks: tuple[int, ...]) -> CommunicationPhase:
        """Return a collective among some ranks, or a message between two, without other traffic.

        `nbytes` is the largest buffer of a rank.
        """
        if len(ranks) < 2 or nbytes == 0:
            return CommunicationPhase(0.0)
        group = Communicator(self.hardware, ranks)
        call = group.collective(_OPERATIONS.get(word, word), nbytes)
        channels = _MESSAGE_CHANNELS if word in ("send", "shift") else call.channels
        within, between = group.traffic(call.operation, call.algorithm)
        # Bytes that all channels carry per byte: those of a ring travel from node to node, and for
        # messages each GPU has its own.
        carried = between * group.rails if group.nodes > 1 else within
        if call.algorithm == "p2p":
            carried /= group.min_local_ranks
        return CommunicationPhase(
            call.latency,
            carried * nbytes / channels,
            carried * call.rate / channels,
            channels * (within / carried),
            channels * (between / carried),
            _PATTERNS.get(call.algorithm if call.algorithm != "p2p" else call.operation, "ring"),
            min(0.9, channels / self.hardware.gpu.sms),
            2 * call.nvlink_bytes,
        )


_HARDWARE = ("gpus", "nics", "nic_rate", "fabric", "oversubscription", "sharp")


# Fitted to measured steps: benchmarks/training_steps.py, docs/ai_validation.md. No measured steps
# of GB200 and L40S were available; H100 and A100 values are used.
_REACHED = {"memory_efficiency": 0.592, "network_efficiency": 0.995}
# Published attention performance: FlashAttention-2 achieves 50 to 73 % of the peak of an A100
# (arXiv 2307.08691), cuDNN on an H100 518 and 499 Tflop/s forward and backward at 4,096 tokens and
# a head size of 128 (arXiv 2407.08608).
_AMPERE = {
    **{"gemm_efficiency": 0.849, "attention_efficiency": 0.6, "launch": 6.09e-5},
    **_REACHED,
}
_HOPPER = {"gemm_efficiency": 0.711, "attention_efficiency": 0.51, "launch": 1e-5, **_REACHED}
#: Machines of `tisim.gpu.MACHINES` with the efficiency of programs on them.
STEP_MACHINES = {
    "a100": StepMachine(MACHINES["a100"], **_AMPERE),
    "h100": StepMachine(MACHINES["h100"], **_HOPPER),
    "h200": StepMachine(MACHINES["h200"], **_HOPPER),
    "gb200": StepMachine(MACHINES["gb200"], **_HOPPER),
    "l40s": StepMachine(MACHINES["l40s"], **_AMPERE),
}
