"""The table that nccl-tests prints, predicted for a GPU platform."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines_platform import machine_of
from tisim.gpu.nccl import ALGORITHMS, Collective, Communicator
from tisim.gpu.nccl_chunks import chunk_time
from tisim.gpu.nccl_msccl import Algorithm, algorithm_time
from tisim.gpu.nccl_tables import NEWEST, PROTOCOLS
from tisim.platform import Platform

#: Bytes of an element of each type.
ELEMENTS: Final = {
    **{"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8},
    **{"half": 2, "bfloat16": 2, "float": 4, "double": 8, "f8e4m3": 1, "f8e5m2": 1},
}
#: Levels of detail at which calls are simulated.
LEVELS: Final = ("flows", "chunks")
_REDUCING: Final = ("all_reduce", "reduce_scatter", "reduce")
_ROOTED: Final = ("broadcast", "reduce", "gather", "scatter")
# The size is the total that ranks gather, scatter or exchange: each rank has an equal part.
_DIVIDED: Final = ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter")


@dataclass(frozen=True)
class Row:
    """Row of the table for one size.

    Attributes
    ----------
    size, count
        Bytes, and elements as the operation counts them: those of a rank's part if it is divided.
    call
        NCCL's choice.
    time
        Seconds.
    algorithm_rate, bus_rate
        Bytes/s: the size divided by the time, and the equivalent load of each link of a ring.
    """

    size: int
    count: int
    call: Collective
    time: float
    algorithm_rate: float
    bus_rate: float


@dataclass(frozen=True)
class Table:
    """Rows of an operation on a number of GPUs.

    Attributes
    ----------
    operation, dtype
        The operation, and the type of its elements.
    ranks
        Number of GPUs.
    rows
        One row per size.
    network
        Fraction of the interfaces' bandwidth that the slowest link between nodes carries.
    """

    operation: str
    dtype: str
    ranks: int
    rows: Sequence[Row]
    network: float

    def lines(self) -> Iterator[str]:
        """Yield the lines of nccl-tests, with NCCL's choice in place of the check."""
        reduction = "sum" if self.operation in _REDUCING else "none"
        root = 0 if self.operation in _ROOTED else -1
        yield (
            f"#{'size':>12} {'count':>13} {'type':>9} {'redop':>7} {'root':>6} {'time':>9} "
            f"{'algbw':>8} {'busbw':>8}  choice"
        )
        yield (
            f"#{'(B)':>12} {'(elements)':>13} {'':>9} {'':>7} {'':>6} {'(us)':>9} {'(GB/s)':>8} "
            f"{'(GB/s)':>8}"
        )
        for row in self.rows:
            call = row.call
            yield (
                f"{row.size:13d} {row.count:13d} {self.dtype:>9} {reduction:>7} {root:6d} "
                f"{row.time * 1e6:9.2f} {row.algorithm_rate / 1e9:8.2f} {row.bus_rate / 1e9:8.2f}"
                f"  {call.algorithm} {call.protocol} x{call.channels}"
            )
        mean = sum(row.bus_rate for row in self.rows) / len(self.rows)
        yield f"# Avg bus bandwidth    : {mean / 1e9:g}"

    def data(self) -> dict[str, object]:
        """Return all numbers, in bytes and seconds."""
        rows = [
            {
                "size": row.size,
                "count": row.count,
                "time": row.time,
                "algbw": row.algorithm_rate,
                "busbw": row.bus_rate,
                "algorithm": row.call.algorithm,
                "protocol": row.call.protocol,
                "channels": row.call.channels,
            }
            for row in self.rows
        ]
        return {
            "operation": self.operation,
            "type": self.dtype,
            "gpus": self.ranks,
            "network": self.network,
            "rows": rows,
        }


def predict(
    platform: Platform,
    operation: str,
    ranks: int | None = None,
    *,
    first: int = 32 << 20,
    last: int = 32 << 20,
    factor: int = 1,
    step: int = 1 << 20,
    dtype: str = "float",
    level: str = "flows",
    msccl: Algorithm | None = None,
    version: str = NEWEST,
    algorithms: Sequence[str] = ALGORITHMS,
    protocols: Sequence[str] = PROTOCOLS,
) -> Table:
    """Predict the output of nccl-tests.

    Parameters
    ----------
    platform
        A platform of GPUs, as made by `tisim.gpu.machines_platform.gpu_cluster`.
    operation
        One of `tisim.gpu.nccl.OPERATIONS`.
    ranks
        Number of GPUs, starting with the first; None: all.
    first, last
        Smallest and largest size, bytes.
    factor, step
        Each size is the previous one times `factor`, or plus `step` bytes if `factor` is 1.
    dtype
        Type of the elements, a name in `ELEMENTS`.
    level
        ``"flows"``: a latency and a rate; ``"chunks"``: a message for each chunk
        (`tisim.gpu.nccl_chunks`).
    msccl
        Algorithm to execute message by message, in place of NCCL's choice.
    version, algorithms, protocols
        As in `tisim.gpu.nccl.collective`.

    Raises
    ------
    InputError
        If the platform has no GPUs, or a number is invalid.
    """
    machine = machine_of(platform)
    if dtype not in ELEMENTS:
        raise InputError(f"a type must be one of {', '.join(ELEMENTS)}, not {dtype!r}")
    if not 0 < first <= last:
        raise InputError(
            f"sizes must increase from at least one byte, not go from {first} to {last}"
        )
    if factor < 1 or (factor == 1 and step < 1):
        raise InputError("sizes need a factor above 1 or a step of at least one byte")
    chosen = tuple(range(machine.size if ranks is None else ranks))
    group = Communicator(machine, chosen, version, tuple(algorithms), tuple(protocols))
    if level not in LEVELS:
        raise InputError(f"a level must be one of {', '.join(LEVELS)}, not {level!r}")
    if msccl is not None and msccl.operation != operation:
        raise InputError(f"{msccl.name} is an algorithm for {msccl.operation}, not {operation}")
    network = network_share(platform, group, operation)
    group = replace(group, network=network)
    rows = []
    size = first
    parts = group.size if operation in _DIVIDED else 1
    while size <= last:
        count = size // (ELEMENTS[dtype] * parts)
        whole = count * ELEMENTS[dtype] * parts
        call = group.collective(operation, whole)
        if msccl is not None:
            call = replace(call, algorithm=msccl.name, protocol="MSCCL", channels=msccl.channels)
            time = algorithm_time(platform, group, msccl, whole)
        else:
            time = call.time if level == "flows" else chunk_time(platform, group, call)
        rate = whole / time
        rows.append(Row(whole, count, call, time, rate, rate * _bus_factor(operation, group.size)))
        size = size * factor if factor > 1 else size + step
    return Table(operation, dtype, group.size, rows, network)


def _bus_factor(operation: str, ranks: int) -> float:
    if operation == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in _DIVIDED else 1.0


def network_share(platform: Platform, group: Communicator, operation: str) -> float:
    """Return the fraction of interface bandwidth that the slowest link between nodes carries.

    Each node sends to the next one, in all-to-alls to all others, equally from all of its
    interfaces. The bytes of these flows are summed on the links of their routes between the
    interfaces; the slowest of these links has to carry them in the time that an interface needs for
    its own.
    """
    nodes = sorted(group.by_node)
    if len(nodes) < 2:
        return 1.0
    machine, links = group.machine, platform.resources.link_bandwidth
    distances = range(1, len(nodes)) if operation == "alltoall" else (1,)
    loads: Counter[int] = Counter()
    for place, node in enumerate(nodes):
        for distance in distances:
            goal = nodes[(place + distance) % len(nodes)]
            route, _ = platform.route_links(node * machine.gpus, goal * machine.gpus)
            ends = 2 if machine.pcie else 1  # interfaces, and PCIe in front of them
            loads.update(route[ends:-ends])
    fatpipes = platform.resources.link_fatpipe
    shares = (
        links[link] * len(distances) / (1 if fatpipes[link] else load) / group.rails
        for link, load in loads.items()
    )
    return min(1.0, min(shares, default=math.inf) / machine.nic_rate)
