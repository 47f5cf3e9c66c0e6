"""Machines of training steps: how long kernels and collectives take.

A kernel takes the longer of two times, of arithmetic and of memory. The arithmetic of a matrix
product is that of its tiles: C of M x N is cut into tiles, of which each SM does one at a time, so
that their number is rounded up to whole rounds; a tile takes K steps and ``FILL`` more, for the
pipeline to fill and the result to be written.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.gpu.step_graph import Node

#: Bytes of a number.
BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
# Tiles of cuBLAS and CUTLASS for large matrices, and how fast they are beside the largest.
_TILES = ((128, 256, 1.0), (256, 128, 1.0), (128, 128, 0.95))
#: Steps of K that a tile takes beside those of its product.
FILL = 128
# Values of a machine that may be 0.
_MAY_BE_ZERO = ("launch", "kernel", "nvlink_latency", "network_latency")
# Steps of a ring: how often a byte goes from a GPU to the next, in rounds of n - 1.
_ROUNDS = {
    "all_reduce": 2,
    "all_gather": 1,
    "reduce_scatter": 1,
    "broadcast": 1,
    "all_to_all": 1,
}


@dataclass(frozen=True, slots=True)
class StepMachine:
    """GPUs in nodes, as far as training steps depend on them.

    Attributes
    ----------
    peak_16, peak_8
        flop/s of matrix products of 16-bit and of 8-bit numbers.
    sms
        Streaming multiprocessors.
    memory_bandwidth, memory
        Bytes a second and bytes of a GPU's memory.
    gemm_efficiency, memory_efficiency
        What kernels reach of `peak_16` and of `memory_bandwidth`.
    kernel
        Seconds that a kernel takes at least.
    launch
        Seconds of the host thread for a kernel or a collective.
    node
        GPUs of a node.
    nvlink, network
        Bytes a second of a ring within a node (its bus bandwidth), and of all NICs of a node.
    network_efficiency
        What collectives and messages reach of `network`.
    nvlink_latency, network_latency
        Seconds of a step of a ring.
    channels
        Channels of a collective, each of which takes an SM.
    """

    name: str
    peak_16: float
    peak_8: float
    sms: int
    memory_bandwidth: float
    memory: float
    nvlink: float
    network: float
    gemm_efficiency: float
    memory_efficiency: float
    network_efficiency: float
    launch: float
    kernel: float = 3e-6
    node: int = 8
    nvlink_latency: float = 5.5e-6
    network_latency: float = 14e-6
    channels: int = 24

    def kernel_times(self, node: Node, dtype: str) -> tuple[float, float]:
        """Seconds of arithmetic and of memory of a kernel that has the GPU for itself."""
        numbers = node.numbers
        bandwidth = self.memory_bandwidth * self.memory_efficiency
        if node.word == "seconds":
            return numbers[0], 0.0
        if node.word == "memory":
            return self.kernel, self.kernel + numbers[0] / bandwidth
        if node.word == "flops":
            moved = numbers[1] if numbers[1:] else 0.0
            arithmetic = numbers[0] / (self.peak_16 * self.gemm_efficiency)
            return self.kernel + arithmetic, self.kernel + moved / bandwidth
        m, n, k = numbers[:3]
        batch = numbers[3] if numbers[3:] else 1.0
        moved = BYTES[dtype] * batch * (m * k + k * n) + 2 * batch * m * n
        if numbers[4:]:
            moved += numbers[4]
        return self.kernel + self._tiles(m, n, k, batch, dtype), self.kernel + moved / bandwidth

    def _tiles(self, m: float, n: float, k: float, batch: float, dtype: str) -> float:
        peak = self.peak_8 if dtype == "fp8" else self.peak_16 * 2 / BYTES[dtype]
        speed = peak * self.gemm_efficiency / self.sms  # of an SM
        return min(
            math.ceil(batch * math.ceil(m / rows) * math.ceil(n / columns) / self.sms)
            * 2
            * rows
            * columns
            * (k + FILL)
            / (speed * relative)
            for rows, columns, relative in _TILES
        )

    def collective(self, word: str, nbytes: float, nodes: int, per_node: int) -> float:
        """Seconds of a ring of ``nodes * per_node`` GPUs.

        The bytes are those of the whole buffer: of an all-gather's result, of a reduce-scatter's
        input. All other GPUs of the nodes do the same in groups of their own, so that a group has
        its part of the network.
        """
        size = nodes * per_node
        if size <= 1:
            return 0.0
        rounds = _ROUNDS[word]
        steps = rounds * (size - 1)
        between = rounds * (nodes - 1) if nodes > 1 else 0
        latency = (steps - between) * self.nvlink_latency + between * self.network_latency
        rate = self.nvlink
        if nodes > 1:
            shared = self.network * self.network_efficiency * per_node / self.node
            rate = min(self.nvlink, shared)
        share = 1.0 if word == "broadcast" else (size - 1) / size
        return latency + rounds * share * nbytes / rate

    def message(self, nbytes: float, within_node: bool) -> float:
        """Seconds of a message from a GPU to another."""
        if within_node:
            return self.nvlink_latency + nbytes / self.nvlink
        rate = self.network * self.network_efficiency / self.node
        return self.network_latency + nbytes / rate

    def with_values(self, texts: tuple[str, ...]) -> StepMachine:
        """The machine with other values, each given as ``name=value``."""
        known = {f.name: f.type for f in fields(self) if f.name != "name"}
        changed = asdict(self)
        for text in texts:
            name, equals, value = text.partition("=")
            name = name.replace("-", "_")
            if not equals or name not in known:
                names = ", ".join(known).replace("_", "-")
                raise InputError(f"{text!r} is not NAME=VALUE; names are {names}")
            try:
                number = float(value)
            except ValueError:
                number = -1.0
            if not 0 < number < 1e30 and not (number == 0 and name in _MAY_BE_ZERO):
                raise InputError(f"{name} of a machine is a number above 0, not {value!r}")
            changed[name] = int(number) if known[name] == "int" else number
        return StepMachine(**changed)


#: Machines by name. Peaks, memories and links are the makers' figures; ring bandwidths are those
#: that nccl-tests prints on such nodes; efficiencies are explained in ``docs/training_steps.md``.
MACHINES = {
    "a100": StepMachine(
        "a100",
        312e12,
        312e12,
        108,
        2.039e12,
        80e9,
        230e9,
        100e9,
        gemm_efficiency=0.8,
        memory_efficiency=0.6,
        network_efficiency=0.95,
        launch=5e-5,
    ),
    "h100": StepMachine(
        "h100",
        989e12,
        1979e12,
        132,
        3.35e12,
        80e9,
        370e9,
        400e9,
        gemm_efficiency=0.7,
        memory_efficiency=0.7,
        network_efficiency=0.9,
        launch=1e-5,
    ),
}
