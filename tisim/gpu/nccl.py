"""Time of NCCL's collectives: its choice of algorithm and protocol, and their cost.

The equations, their sources and the measurements they were compared with are on the page "GPU
clusters and NCCL" (docs/gpu_clusters.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines import NIC_EFFICIENCY, Machine, Primitive
from tisim.gpu.nccl_graphs import find_rings, tree_chunk, tree_depth
from tisim.gpu.nccl_tables import (
    COLLNET_GATHER_SHARE,
    COLLNET_SHARE,
    COLLNET_TURN,
    MAX_CHANNEL_BANDWIDTH,
    MAX_INTER_NODE_LL_BANDWIDTH,
    MAX_LL_BANDWIDTH,
    MAX_NVLS_TREE_BANDWIDTH,
    NETWORK_SPEEDS,
    NEWEST,
    NVLS_EFFICIENCY,
    NVLS_NETWORK_HOP,
    NVLS_TREE_HOP,
    PAT_BASE,
    PAT_RANK,
    PAT_SHARE,
    PROTOCOLS,
    TREE_CORRECTION,
    tables,
)

#: Operations: by rings, trees or NVLS; by pipelines; by point-to-point messages.
OPERATIONS: Final = (
    *("all_reduce", "all_gather", "reduce_scatter"),
    *("broadcast", "reduce"),
    *("alltoall", "gather", "scatter", "sendrecv"),
)
_FROM_POINT_TO_POINT: Final = OPERATIONS[5:]
ALGORITHMS: Final = (
    *("ring", "tree", "nvls", "nvls_tree", "pat"),
    *("collnet_direct", "collnet_chain"),
)

# Bytes of a channel's step: the maximum that a buffer takes, and the minimum that a step costs
# (half of what 640 threads of LL128 and 512 threads of LL move at once).
MAX_CHUNK_BYTES: Final = {"LL": 32 * 1024, "LL128": 576_000, "Simple": 2 * 1024 * 1024}
_MIN_CHUNK_BYTES: Final = {"LL": 4096, "LL128": 19_200, "Simple": 0}
# Bytes per channel of a call: 512 (LL128: 640) threads of 64 or 8 bytes each. For LL they apply to
# each rank of a ring (``src/graph/tuning.cc``: ``threadThresholds``).
_BYTES_PER_CHANNEL: Final = {"LL": 512 * 8, "LL128": 640 * 8, "Simple": 512 * 64}
_MIN_THREAD_FRACTION: Final = 96 / 512
PIPELINE_CHUNK: Final = 512 * 1024
_MAX_CHANNELS: Final = 32
# Data of LL relative to LL128: 8 of 16 bytes are data, against 120 of 128.
_LL_OF_LL128: Final = (8 / 16) / (120 / 128)


@dataclass(frozen=True)
class Collective:
    """One call by all ranks of a communicator.

    Attributes
    ----------
    operation, size
        The requested operation; bytes as defined by `collective`.
    algorithm, protocol, channels
        NCCL's choice; each channel occupies an SM of each GPU.
    latency, rate
        Seconds, and bytes/s on an idle machine: the call takes ``latency + size / rate``.
    nvlink_bytes, nic_bytes
        Bytes that a GPU sends on its NVLinks (or PCIe), and that each used network interface sends;
        as many are received.
    """

    operation: str
    size: float
    algorithm: str
    protocol: str
    channels: int
    latency: float
    rate: float
    nvlink_bytes: float
    nic_bytes: float

    @property
    def time(self) -> float:
        """Duration of the call in seconds."""
        return self.latency + self.size / self.rate


@dataclass(frozen=True)
class Communicator:
    """GPUs of a machine that call NCCL together.

    Parameters
    ----------
    machine
        The whole machine.
    ranks
        Numbers of the GPUs.
    version
        NCCL version.
    algorithms, protocols
        Those that NCCL may choose from, as in ``NCCL_ALGO`` and ``NCCL_PROTO``.
    network
        Fraction of its interfaces' bandwidth that the network between nodes carries.

    Raises
    ------
    InputError
        If a GPU does not exist or is listed twice, or there is nothing to choose from.
    """

    machine: Machine
    ranks: tuple[int, ...]
    version: str = NEWEST
    algorithms: tuple[str, ...] = ALGORITHMS
    protocols: tuple[str, ...] = PROTOCOLS
    network: float = 1.0

    def __post_init__(self) -> None:
        if len(self.ranks) < 2:
            raise InputError(f"a collective needs at least two GPUs, not {len(self.ranks)}")
        if len(set(self.ranks)) < len(self.ranks):
            raise InputError("a GPU occurs twice in a communicator")
        if min(self.ranks) < 0 or max(self.ranks) >= self.machine.size:
            raise InputError(
                f"the machine has GPUs 0 to {self.machine.size - 1}, not "
                f"{min(self.ranks)} to {max(self.ranks)}"
            )
        for what, given, known in (
            ("an algorithm", self.algorithms, ALGORITHMS),
            ("a protocol", self.protocols, PROTOCOLS),
        ):
            if not given or not set(given) <= set(known):
                raise InputError(f"{what} of NCCL must be one of {', '.join(known)}, not {given}")
        tables(self.version)

    @cached_property
    def by_node(self) -> Mapping[int, Sequence[int]]:
        """GPUs of each node, by their number in the node."""
        nodes: dict[int, list[int]] = {}
        for rank in self.ranks:
            node, gpu = divmod(rank, self.machine.gpus)
            nodes.setdefault(node, []).append(gpu)
        return nodes

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.ranks)

    @property
    def nodes(self) -> int:
        """Number of nodes with ranks."""
        return len(self.by_node)

    @cached_property
    def min_local_ranks(self) -> int:
        """Ranks of the node with the fewest."""
        return min(map(len, self.by_node.values()))

    @cached_property
    def _links(self) -> float:
        """Bytes/s from a GPU to the other GPUs of its node on all rings together."""
        gpu = self.machine.gpu
        if self.machine.pcie:
            return self._pcie
        cabled = self.machine.cables and self.min_local_ranks > 1
        return (self._cable_rings if cabled else gpu.nvlinks) * gpu.nvlink_achieved_rate

    @property
    def _inside(self) -> str:
        """Kind of the links between GPUs of a node."""
        return "pcie" if self.machine.pcie else "nvlink"

    @cached_property
    def _pcie(self) -> float:
        """Bytes/s of all rings over PCIe: they cross each link once, and each CPU once."""
        machine, rate = self.machine, self.machine.pcie_rate
        for gpus in self.by_node.values():
            sockets, switches = zip(*map(machine.pcie_place, gpus), strict=True)
            rate = min(rate, machine.bridge_rate if len(set(switches)) > 1 else math.inf)
            rate = min(rate, machine.socket_rate if len(set(sockets)) > 1 else math.inf)
        return rate

    def _pcie_exchange(self, operation: str) -> float:
        """Return the bytes/s of a GPU that sends equally to all, as limited by the CPUs."""
        machine, rate = self.machine, math.inf
        for gpus in self.by_node.values():
            sockets, switches = zip(*map(machine.pcie_place, gpus), strict=True)
            for places, most in ((switches, machine.bridge_rate), (sockets, machine.socket_rate)):
                for below in Counter(places).values():
                    senders = below if operation == "alltoall" else 1
                    passing = senders * (len(gpus) - below) / self.size
                    rate = min(rate, most / passing if passing else math.inf)
        return rate

    def _cable_exchange(self, operation: str) -> float:
        """Return the seconds per byte of messages on the cable of two GPUs, or else on PCIe."""
        machine, slowest = self.machine, 0.0
        cables = {frozenset(ends): count for *ends, count in machine.cables}
        for gpus in self.by_node.values():
            senders = gpus[:1] if operation in ("gather", "scatter") else gpus
            for place, sender in enumerate(senders):
                others, part = [gpu for gpu in gpus if gpu != sender], 1 / self.size
                if operation == "sendrecv":
                    following = gpus[place + 1 :] or (gpus if self.nodes == 1 else ())
                    others, part = list(following[:1]), 1.0
                counts = [cables.get(frozenset((sender, other)), 0) for other in others]
                busiest = max((1 / count for count in counts if count), default=0.0)
                slowest = max(slowest, part * busiest / machine.gpu.nvlink_achieved_rate)
                slowest = max(slowest, part * counts.count(0) / machine.pcie_rate)
        return slowest

    @cached_property
    def _cable_rings(self) -> int:
        return min(len(find_rings(self.machine.cables, gpus)) for gpus in self.by_node.values())

    @property
    def _nic(self) -> float:
        """Bytes/s that an interface sends to the other nodes."""
        return self.machine.nic_rate * NIC_EFFICIENCY * self.network

    @cached_property
    def rails(self) -> int:
        """Number of network interfaces that the GPUs of a node have together."""
        return min(map(self._rails_of, self.by_node.values()))

    def _rails_of(self, gpus: Sequence[int]) -> int:
        return len({gpu * self.machine.nics // self.machine.gpus for gpu in gpus})

    @property
    def rings(self) -> int:
        """Number of distinct rings; each has a channel and a second one on the same path."""
        return self._graph[0]

    @property
    def _ring_rails(self) -> int:
        """Interfaces of a node that rings and trees use: one each, which may be few on PCIe."""
        return min(self.rails, self.rings) if self.machine.pcie else self.rails

    @cached_property
    def _graph(self) -> tuple[int, float]:
        """Channels of NCCL's rings and trees before they are doubled, and the bytes/s of each."""
        known, capability = tables(self.version), self.machine.gpu.capability
        nvlink = known.nvlink[capability]
        if self.machine.cables and self.min_local_ranks > 1:
            total = self._cable_rings * nvlink
        elif self.machine.pcie:
            total = self._pcie
        else:
            # Any large number if each node has one GPU.
            total = self.machine.gpu.nvlinks * nvlink if self.min_local_ranks > 1 else 1e18
        nic, most = self.machine.nic_rate, math.inf
        if self.nodes > 1:
            speeds = [s for s in NETWORK_SPEEDS[max(capability, 80)] if s <= nic] or [nic]
        elif self.machine.cables:
            return self._cable_rings, nvlink
        else:
            speeds = list(known.speeds_of(capability))
        channels, speed = 0, 0.0
        for tried in speeds:
            if tried <= 0.49 * speed:
                break  # the search ends here
            if self.nodes > 1:
                most = self.rails * (nic // tried)
            found = int(min(total / tried, most))
            if found * tried > channels * speed:
                channels, speed = found, tried
        if speed >= 25e9 and not (capability > 80 and speed < 50e9 and channels > 4):
            return 2 * channels, speed / 2
        return channels, speed

    @property
    def channels(self) -> int:
        """Maximum number of channels of a ring or a tree."""
        return min(2 * self._graph[0], _MAX_CHANNELS)

    def collective(self, operation: str, size: float) -> Collective:
        """Return the call of an operation; see `collective` for its parameters."""
        if operation not in OPERATIONS:
            raise InputError(
                f"an operation must be one of {', '.join(OPERATIONS)}, not {operation!r}"
            )
        if not 0 <= size < math.inf:
            raise InputError(f"a size must be at least 0 bytes, not {size}")
        if operation in _FROM_POINT_TO_POINT:
            return self._point_to_point(operation, size)
        choices = dict(self._choices(operation, size))
        if not choices:
            reduces = (
                ""
                if self.machine.sharp
                else (", whose inter-node switches do not perform reductions")
            )
            wants = any(algorithm.startswith("collnet") for algorithm in self.algorithms)
            raise InputError(
                f"NCCL does not support {', '.join(self.algorithms)} with "
                f"{', '.join(self.protocols)} for {operation} on these "
                f"GPUs{reduces if wants else ''}"
            )
        algorithm, protocol = min(choices, key=lambda name: choices[name][0])
        _, latency, rate = choices[algorithm, protocol]
        if algorithm == "ring":
            if operation in ("broadcast", "reduce"):
                return self._pipeline(operation, size, protocol)
            return self._ring(operation, size, protocol)
        if algorithm == "tree" and protocol == "Simple":
            return self._tree(size)
        if algorithm == "tree":
            # NCCL rounds the depth of its trees down.
            deeper = tree_depth(self.nodes)[0] - int(math.log2(self.nodes))
            latency += 2 * deeper * self.network_hop("tree", protocol)
            channels = self._used_channels(size, protocol, algorithm)
        else:
            channels = (
                min(self.min_local_ranks, 32) if algorithm.startswith("nvls") else self.channels
            )
        within, between = self.traffic(operation, algorithm)
        rate = min(rate, self._links / within if within else math.inf)
        rate = min(rate, self._nic / between if between else math.inf)
        return self._result(operation, size, algorithm, protocol, channels, latency, rate)

    def steps(self, operation: str) -> int:
        """Return the number of steps of a ring in which all ranks send."""
        if operation in ("broadcast", "reduce"):
            return self.size
        return (self.size - 1) * (2 if operation == "all_reduce" else 1)

    def _choices(
        self, operation: str, size: float
    ) -> Iterator[tuple[tuple[str, str], tuple[float, float, float]]]:
        """Yield algorithms with protocols, and NCCL's estimates: time, latency, bytes/s."""
        for choice in product(self.algorithms, self.protocols):
            if (found := self._estimate(*choice, operation, size)) is not None:
                latency, rate = found
                yield choice, (latency + size / rate, latency, rate)

    def _estimate(
        self, algorithm: str, protocol: str, operation: str, size: float
    ) -> tuple[float, float] | None:
        """Return the latency and bytes/s of an operation; None if it is not supported."""
        if protocol == "LL128" and self.machine.pcie:
            return None
        if algorithm == "ring":
            return self._estimate_ring(operation, size, protocol)
        if algorithm == "tree":
            return self._estimate_tree(size, protocol) if operation == "all_reduce" else None
        if protocol != "Simple":
            return None
        if algorithm == "pat":
            return self._estimate_pat() if self._has_pat(operation) else None
        if algorithm.startswith("collnet"):
            has = self._has_collnet(algorithm, operation)
            return self._estimate_collnet(algorithm, operation) if has else None
        has = self._has_nvls(algorithm, operation)
        return self._estimate_nvls(algorithm, operation) if has else None

    def _estimate_ring(self, operation: str, size: float, protocol: str) -> tuple[float, float]:
        known, steps = tables(self.version), self.steps(operation)
        within = known.hop[self._inside, "ring"][protocol]
        between = self.network_hop("ring", protocol)
        if operation in ("broadcast", "reduce"):
            latency = known.base["ring"][protocol] + (between if self.nodes > 1 else within)
        else:
            far = self._inter_node_steps(operation)
            latency = known.base["ring"][protocol] + (steps - far) * within + far * between
        plateau = size / (self.channels * self.size) >= 64 and self.nodes > 1
        if protocol == "Simple" and operation == "all_reduce" and plateau:
            latency *= 1.9 if self.machine.gpu.capability < 80 else 1.4
        return latency, self._bus_rate("ring", protocol) * self.size / steps

    def _inter_node_steps(self, operation: str) -> int:
        """Return the number of steps of a ring in which a chunk crosses to another node."""
        return (self.nodes - 1) * (2 if operation == "all_reduce" else 1)

    def network_hop(self, algorithm: str, protocol: str) -> float:
        """Return the latency of a step to another node, seconds."""
        if self.size == self.nodes:
            algorithm = "tree"  # latencies are fully exposed
        return tables(self.version).hop["network", algorithm][protocol]

    def _bus_rate(self, algorithm: str, protocol: str) -> float:
        """Return the bandwidth that NCCL assumes for all its rings or trees, bytes/s."""
        known, capability = tables(self.version), self.machine.gpu.capability
        channels, speed = self._graph
        place = min(self.nodes, 3) - 1
        ll_most = (
            MAX_LL_BANDWIDTH[capability] if place == 0 else MAX_INTER_NODE_LL_BANDWIDTH[place - 1]
        )
        rate = min(channels * speed, known.max_bandwidth.get(capability, math.inf))
        if algorithm == "ring":
            if protocol == "LL":
                return min(ll_most, rate * known.ll_share)
            if protocol == "LL128":
                most = MAX_CHANNEL_BANDWIDTH["ring LL128"][capability][place]
                return min(0.92 * rate, channels * most)
            return rate
        rate = min(0.92 * rate, channels * MAX_CHANNEL_BANDWIDTH["tree"][capability][place])
        if protocol == "LL":
            return min(rate / 3.8, ll_most)
        if protocol == "LL128":
            share = 7 / 9 if place == 0 else 120 / 128
            return min(
                rate * share, channels * MAX_CHANNEL_BANDWIDTH["tree LL128"][capability][place]
            )
        return rate

    def _estimate_tree(self, size: float, protocol: str) -> tuple[float, float]:
        known = tables(self.version)
        within = known.hop[self._inside, "tree"][protocol]
        hops = (self.size // self.nodes - 1) * within
        hops += int(math.log2(self.nodes)) * known.hop["network", "tree"][protocol]
        doubling = int(math.log2(size / 64)) if size >= 64 else -1
        factors = TREE_CORRECTION[protocol]
        factor = factors[doubling] if 0 <= doubling < len(factors) - 1 else 1.0
        rate = 0.5 * factor * self._bus_rate("tree", protocol)
        return known.base["tree"][protocol] + 2 * hops, rate

    def _has_pat(self, operation: str) -> bool:
        """Return whether NCCL has PAT for this operation: only with one GPU per node."""
        one_each = self.nodes == self.size and operation in ("all_gather", "reduce_scatter")
        return one_each and tables(self.version).pat

    def _estimate_pat(self) -> tuple[float, float]:
        hops = int(math.log2(self.nodes)) * self.network_hop("tree", "Simple") / 3.5
        rate = PAT_SHARE * self._bus_rate("ring", "Simple")
        return PAT_BASE + hops + self.size * PAT_RANK, rate

    def _has_nvls(self, algorithm: str, operation: str) -> bool:
        gpu = self.machine.gpu
        if (
            gpu.capability not in NVLS_EFFICIENCY
            or not self.machine.switched
            or self.min_local_ranks < 3
        ):
            return False
        if algorithm == "nvls_tree":
            return self.nodes > 1 and operation == "all_reduce"
        if operation not in ("all_reduce", "all_gather", "reduce_scatter"):
            return False
        return self.nodes == 1 or self._switches_reduce(operation)

    def _switches_reduce(self, operation: str) -> bool:
        """Return whether switches between nodes reduce; gathers need an interface for each GPU."""
        most = max(map(len, self.by_node.values()))
        heads = operation == "all_reduce" or self.rails >= most
        return self.machine.sharp and self.nodes > 1 and heads

    def _has_collnet(self, algorithm: str, operation: str) -> bool:
        known = tables(self.version).collnet
        if algorithm not in known or not self._switches_reduce(operation):
            return False
        if algorithm == "collnet_chain":
            return operation == "all_reduce"
        # NCCL supports at most eight GPUs per node, and requires an NVLink switch.
        direct = self.machine.switched and max(map(len, self.by_node.values())) <= 8
        return direct and operation in ("all_reduce", "all_gather", "reduce_scatter")

    def _estimate_collnet(self, algorithm: str, operation: str) -> tuple[float, float]:
        """``ncclTopoTuneModel``; between nodes a byte goes to the switches once, and back."""
        within, between = tables(self.version).collnet[algorithm]
        if self.size == self.nodes:
            between = self.network_hop("tree", "Simple")
        channels, speed = self._graph
        others, gpu = self.min_local_ranks - 1, self.machine.gpu
        links = gpu.nvlinks * tables(self.version).nvlink[gpu.capability]
        links = self._pcie if self.machine.pcie else links
        if algorithm == "collnet_chain":
            latency = 2 * others * within + between
            return latency, 0.5 * channels * self._intra_node_speed(speed, links / channels)
        latency = 2 * (min(1, others) * within + others * COLLNET_TURN) + between
        # A head exchanges a part with each of the other GPUs.
        heads, speed = self.rails, min(speed * channels / self.rails, self.machine.nic_rate)
        inside = self._intra_node_speed(speed, links * max(others, 1) / max(heads, 1))
        if operation != "all_reduce":
            return latency, self.min_local_ranks * min(inside, COLLNET_GATHER_SHARE * speed)
        factor = self.min_local_ranks / heads
        factor -= (factor - 1) / 2
        share = COLLNET_SHARE if gpu.capability >= 90 else 1.0
        return latency, 0.5 * heads * inside / factor * share

    def _intra_node_speed(self, speed: float, most: float) -> float:
        """Return the speed within nodes, which the search raises up to twice that between nodes."""
        for tried in reversed(NETWORK_SPEEDS[max(self.machine.gpu.capability, 80)]):
            if speed < tried <= most and speed < 2 * self._graph[1]:
                speed = tried
        return speed

    def _estimate_nvls(self, algorithm: str, operation: str) -> tuple[float, float]:
        known, capability = tables(self.version), self.machine.gpu.capability
        heads = min(self.min_local_ranks, 32)
        # The GPU of a head carries its share twice.
        most = self.machine.gpu.nvlinks * known.nvlink[capability] / (heads + 1)
        speed = max((s for s in known.speeds_of(capability) if s <= most), default=most)
        rate = speed * NVLS_EFFICIENCY[capability] * (heads - 1) / heads
        rate *= (
            2.0 if operation == "all_reduce" else (self.min_local_ranks - 1) / self.min_local_ranks
        )
        latency = known.nvls
        if algorithm == "nvls_tree":
            factor = 2 if self.nodes == 2 else 1
            between = self.rails * self.machine.nic_rate * factor / heads
            place = min(self.nodes, 3) - 1
            rate = min(rate, between, MAX_NVLS_TREE_BANDWIDTH[capability][place])
            latency += 2 * int(math.log2(self.nodes)) * NVLS_TREE_HOP
        elif self.nodes > 1:
            rate = min(rate, self.rails * self.machine.nic_rate / heads)
            latency += NVLS_NETWORK_HOP
        if operation == "all_reduce":
            return latency, heads * rate * self.size / self.steps(operation)
        return latency, heads * rate

    def primitive(self, protocol: str) -> Primitive:
        """Return the cost of a step: measured, or from NCCL's tables."""
        measured = self.machine.gpu.primitives
        hop = tables(self.version).hop[self._inside, "ring"][protocol]
        if protocol == "Simple":
            most = MAX_CHANNEL_BANDWIDTH["tree"][self.machine.gpu.capability][0]
            return Primitive(measured[protocol].hop if protocol in measured else hop, most)
        if protocol in measured:
            return measured[protocol]
        if "LL128" in measured:
            return Primitive(hop, measured["LL128"].rate * _LL_OF_LL128)
        return Primitive(hop, self._bus_rate("ring", protocol) / self.channels)

    def _seconds_per_byte(self, rate: float, channels: int) -> float:
        """Return the seconds per byte of each of `channels`, limited by channel or links."""
        rates = [rate]
        if self.min_local_ranks > 1:
            rates.append(self._links / (channels * self._intra_node_fraction))
        if self.nodes > 1:
            rates.append(self._ring_rails * self._nic / channels)
        return 1 / min(rates)

    @property
    def _intra_node_fraction(self) -> float:
        """Fraction of the bytes that a GPU sends in a ring over its NVLinks, or over PCIe."""
        # In each ring, one GPU per node sends to the next node.
        near = self.machine.pcie or self.nodes == 1
        return 1.0 if near else 1 - self.nodes / self.size

    def _idle_seconds_per_byte(self, byte_time: float, primitive: Primitive) -> float:
        """Return the seconds per byte on idle links of a node; all channels share those of PCIe."""
        return byte_time if self.machine.pcie else 1 / primitive.rate

    def _used_channels(self, size: float, protocol: str, algorithm: str = "ring") -> int:
        per_rank = protocol == "LL" and algorithm == "ring"
        least = _BYTES_PER_CHANNEL[protocol] * (self.size if per_rank else 1)
        return max(1, min(self.channels, int(size // least)))

    def least_chunk(self, protocol: str, channels: int) -> float:
        """Return the minimum bytes that a step costs; calls with one channel have fewer threads."""
        least = _MIN_CHUNK_BYTES[protocol]
        return least if channels > 1 else least * _MIN_THREAD_FRACTION

    def _ring(self, operation: str, size: float, protocol: str) -> Collective:
        """All ranks send in each step; one additional step copies the last chunk."""
        steps = self.steps(operation)
        primitive = self.primitive(protocol)
        channels = self._used_channels(size, protocol)
        byte_time = self._seconds_per_byte(primitive.rate, channels)
        chunk = size / (channels * self.size)
        loops = max(1, math.ceil(chunk / MAX_CHUNK_BYTES[protocol]))
        short = max(self.least_chunk(protocol, channels) - chunk, 0)
        latency, seconds = loops * (steps + 1) * primitive.hop, steps * byte_time
        if self.nodes > 1:
            # A chunk crosses to another node once in as many steps as a node has GPUs. Nodes are
            # not synchronised: either the slowest links are always busy, or a chunk finds idle
            # links.
            far = math.ceil(steps * self.nodes / self.size)
            hop = self.network_hop("ring", protocol)
            latency += loops * far * (hop - primitive.hop)
            free = (steps - far) * self._idle_seconds_per_byte(byte_time, primitive)
            free += far * max(byte_time, 1 / primitive.rate)
            if latency + free * (chunk + short) < seconds * (chunk + short):
                latency = 0.0
            else:
                seconds = free
        latency += tables(self.version).base["ring"][protocol] + short * seconds
        a_byte = (seconds / channels + 1 / self.machine.gpu.copy_rate) / self.size
        return self._result(operation, size, "ring", protocol, channels, latency, 1 / a_byte)

    def _pipeline(self, operation: str, size: float, protocol: str) -> Collective:
        """Ranks forward chunks one after the other."""
        primitive = self.primitive(protocol)
        channels = self._used_channels(size, protocol)
        byte_time = self._seconds_per_byte(primitive.rate, channels)
        chunk = min(size / channels, PIPELINE_CHUNK, MAX_CHUNK_BYTES[protocol])
        # The path begins at the root, which is the first GPU of its node on one ring only.
        far = math.ceil((self.size - 1) * self.nodes / self.size) if self.nodes > 1 else 0
        latency = tables(self.version).base["ring"][protocol]
        latency += (self.size - 1 - far) * primitive.hop
        latency += far * self.network_hop("ring", protocol)
        # Ranks of several nodes are not synchronised, so that the first chunk finds idle NVLinks.
        near = self._idle_seconds_per_byte(byte_time, primitive) if far else byte_time
        # Threads of LL and LL128 forward data before a chunk is complete (src/device/prims_ll.h);
        # interfaces send whole chunks, which have to arrive completely first.
        least = self.least_chunk(protocol, channels)
        passed = chunk if protocol == "Simple" else least
        latency += (self.size - 1 - max(far, 1)) * passed * near
        latency += min(far, self.size - 1 - far) * max(chunk - passed, 0) * near
        latency += (
            max(far - 1, 0) * max(chunk, least) * byte_time + max(least - chunk, 0) * byte_time
        )
        rate = channels / byte_time
        return self._result(operation, size, "ring", protocol, channels, latency, rate)

    def _tree(self, size: float) -> Collective:
        """Chunks go up two trees and down again, pipelined."""
        channels = self._used_channels(size, "Simple")
        steps, seconds = tree_depth(self.nodes)
        near = self.min_local_ranks - 1 + (seconds if self.min_local_ranks > 1 else 0)
        chunk = self.tree_chunk(size, channels, "Simple")
        rate = self.tree_rate()
        # Channels that begin at the same GPU share its links; those of an interface share it.
        together = channels / min(self.rings, self.min_local_ranks)
        links, interface = self.achieved_rates("all_reduce", "tree", rate)
        byte_time = max(1 / self.primitive("Simple").rate, together / links)
        hop = self.tree_hop("Simple") + chunk * byte_time
        latency = tables(self.version).base["tree"]["Simple"] + 2 * near * hop
        if self.nodes > 1:
            far = chunk * max(channels / self._ring_rails / 2, 1) / interface
            # A node receives from two children concurrently on each interface, and the root from
            # one. Downwards the first child's chunk leaves a GPU after that of the second.
            both = max(0.0, 1 - hop / far) if self.min_local_ranks > 1 and far else 1.0
            latency += 2 * steps * self.network_hop("tree", "Simple")
            latency += (2 + (steps - 1) * (3 + both)) * far
        latency -= chunk * channels / rate
        return self._result("all_reduce", size, "tree", "Simple", channels, latency, rate)

    def tree_hop(self, protocol: str) -> float:
        """Return the latency of a step of a tree within a node, seconds."""
        return tables(self.version).hop[self._inside, "tree"][protocol]

    def tree_chunk(self, size: float, channels: int, protocol: str) -> float:
        """Return the bytes of a chunk of a tree."""
        shrinks = tables(self.version).tree_shrinks
        return tree_chunk(size, channels, self.nodes, self.size, protocol, shrinks=shrinks)

    def tree_rate(self) -> float:
        """Return the bytes/s of long all-reduces by trees with Simple, limited by the links."""
        within, between = self.traffic("all_reduce", "tree")
        rates = [0.5 * self._bus_rate("tree", "Simple")]
        rates += [self._links / within] if within else []
        return min(rates + ([self._nic / between] if between else []))

    def achieved_rates(self, operation: str, algorithm: str, rate: float) -> tuple[float, float]:
        """Return the bytes/s of a GPU's links in its node, and of an interface, at a call's rate.

        With several nodes, trees find idle NVLinks.
        """
        within, between = self.traffic(operation, algorithm)
        links, nic = self._links, self._nic
        if within and (self.nodes == 1 or algorithm != "tree"):
            links = min(links, rate * within)
        return links, min(nic, rate * between) if between else nic

    def _point_to_point(self, operation: str, size: float) -> Collective:
        """Messages between pairs, all concurrent; always Simple."""
        primitive = self.primitive("Simple")
        sent = self.traffic(operation, "p2p")
        within = self.channels * primitive.rate
        if (self.min_local_ranks > 1 and not self.machine.cables) or self.machine.pcie:
            within = min(within, self._links)
        a_byte = max(sent[0] / within, sent[1] / self._nic)
        if operation != "sendrecv" and self.machine.pcie:
            a_byte = max(a_byte, 1 / self._pcie_exchange(operation))
        if self.machine.cables:
            a_byte = max(a_byte, self._cable_exchange(operation))
        hop = self.network_hop("ring", "Simple") if self.nodes > 1 else primitive.hop
        latency = tables(self.version).base["ring"]["Simple"] + hop
        return self._result(
            operation, size, "p2p", "Simple", self.channels, latency, 1 / max(a_byte, 1e-18)
        )

    def traffic(self, operation: str, algorithm: str) -> tuple[float, float]:
        """Return the load of a GPU's NVLinks and of an interface, in bytes per byte of size."""
        ranks, nodes, pcie = self.size, self.nodes, self.machine.pcie
        if operation in ("alltoall", "gather", "scatter"):
            # All GPUs send from all interfaces of their node, or the root from its own.
            senders = [tuple(gpus) for gpus in self.by_node.values()]
            if operation != "alltoall":
                senders = senders[:1]
            near = max(ranks if pcie else len(gpus) for gpus in senders) - 1
            away = (
                (ranks - len(gpus))
                * (len(gpus) / self._rails_of(gpus) if operation == "alltoall" else 1)
                for gpus in senders
            )
            return near / ranks, max(away) / ranks
        if operation == "sendrecv":
            return float(self.min_local_ranks > 1 or pcie), float(nodes > 1)
        rails = self._ring_rails
        if algorithm in ("ring", "pat"):
            sent = 1.0 if operation in ("broadcast", "reduce") else self.steps(operation) / ranks
            return sent * self._intra_node_fraction, sent / rails * (nodes > 1)
        if algorithm in ("nvls", "collnet_direct", "collnet_chain") and nodes > 1:
            # Switches reduce: a byte goes to them once, and back.
            within = 2.0 if algorithm == "collnet_chain" else 1.0
            if algorithm == "collnet_direct":
                # A GPU sends parts to all heads; a head sends its part to all other GPUs.
                to_heads = (rails - 1) / rails if operation != "all_gather" else 0.0
                back = (self.min_local_ranks - 1) / rails if operation != "reduce_scatter" else 0.0
                within = to_heads + back
            return within, 1.0 / rails
        within = 1.0 if algorithm.startswith("nvls") else self._chain_load
        # On PCIe, also half of what the node inside a tree sends to two children and its parent.
        within += 0.5 * (self.machine.pcie and nodes > 2 and algorithm == "tree")
        return within, (2.0 if nodes > 2 else 1.0) / rails * (nodes > 1)

    @property
    def _chain_load(self) -> float:
        """Bytes that the busiest GPU in the chains of its node sends per byte of an all-reduce.

        All GPUs except the ends of a chain send up and down; each of `rings` begins at another GPU.
        """
        local = self.min_local_ranks
        if self.rings >= local:
            return 2.0 - 2.0 / local
        return 2.0 - 1.0 / self.rings if self.rings == local - 1 else 2.0

    def _result(
        self,
        operation: str,
        size: float,
        algorithm: str,
        protocol: str,
        channels: int,
        latency: float,
        rate: float,
    ) -> Collective:
        within, between = self.traffic(operation, algorithm)
        return Collective(
            *(operation, size, algorithm, protocol, channels, latency, rate),
            nvlink_bytes=size * within,
            nic_bytes=size * between,
        )


def collective(
    machine: Machine,
    ranks: int | Iterable[int],
    operation: str,
    size: float,
    *,
    version: str = NEWEST,
    algorithms: Sequence[str] = ALGORITHMS,
    protocols: Sequence[str] = PROTOCOLS,
) -> Collective:
    """Return the time of an NCCL collective on an idle machine.

    Parameters
    ----------
    machine
        The whole machine.
    ranks
        Numbers of the GPUs that call it, or their number: the first ones.
    operation
        One of `OPERATIONS`.
    size
        Bytes of the largest buffer of a rank, as nccl-tests prints it: the data that is reduced or
        broadcast, that all ranks gather or scatter together, or that a rank sends to all or to the
        next one.
    version
        NCCL version.
    algorithms, protocols
        Those that NCCL may choose from, as in ``NCCL_ALGO`` and ``NCCL_PROTO``.

    Raises
    ------
    InputError
        If the GPUs, the operation or the version do not exist, or there is nothing to choose from.

    Examples
    --------
    >>> from tisim.gpu import machine
    >>> from tisim.gpu.nccl import collective
    >>> call = collective(machine("a100"), 8, "all_reduce", 1 << 30)
    >>> call.algorithm, call.protocol, call.channels
    ('ring', 'Simple', 24)
    >>> f"{call.time * 1e3:.1f} ms"
    '8.3 ms'
    """
    chosen = tuple(range(ranks)) if isinstance(ranks, int) else tuple(ranks)
    group = Communicator(machine, chosen, version, tuple(algorithms), tuple(protocols))
    return group.collective(operation, size)
