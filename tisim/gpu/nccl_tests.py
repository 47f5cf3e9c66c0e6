"""The table that nccl-tests prints, predicted for a platform of GPUs."""

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
#: How finely calls are simulated.
LEVELS: Final = ("flows", "chunks")
_REDUCING: Final = ("all_reduce", "reduce_scatter", "reduce")
_ROOTED: Final = ("broadcast", "reduce", "gather", "scatter")
# A size is all that ranks gather, scatter or exchange: it has an equal part for each.
_DIVIDED: Final = ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter")


@dataclass(frozen=True)
class Row:
    """One size.

    Attributes
    ----------
    size, count
        Bytes, and elements as the operation counts them: of a rank's part where each has one.
    call
        What NCCL chooses.
    time
        Seconds.
    algorithm_rate, bus_rate
        Bytes/s: the size over the time, and what each link of a ring would carry.
    """

    size: int
    count: int
    call: Collective
    time: float
    algorithm_rate: float
    bus_rate: float


@dataclass(frozen=True)
class Table:
    """The rows of an operation on some GPUs.

    Attributes
    ----------
    operation, dtype
        What is called, on elements of which type.
    ranks
        GPUs.
    rows
        A row for each size.
    network
        The part of the bandwidth of interfaces that the slowest link between nodes carries.
    """

    operation: str
    dtype: str
    ranks: int
    rows: Sequence[Row]
    network: float

    def lines(self) -> Iterator[str]:
        """The lines of nccl-tests, with what NCCL chooses in the place of the check."""
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
        """All numbers, in bytes and seconds."""
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
    """Predict what nccl-tests would print.

    Parameters
    ----------
    platform
        Of GPUs, as `tisim.gpu.machines_platform.gpu_cluster` makes them.
    operation
        One of `tisim.gpu.nccl.OPERATIONS`.
    ranks
        How many of the first GPUs; None: all.
    first, last
        The smallest and the largest size, bytes.
    factor, step
        A size is the last one times `factor`, or plus `step` bytes where that is 1.
    dtype
        Of elements, a name in `ELEMENTS`.
    level
        ``"flows"``, a latency and a rate, or ``"chunks"``, a message for each chunk
        (`tisim.gpu.nccl_chunks`).
    msccl
        What to carry out instead of NCCL's choice, message by message.
    version, algorithms, protocols
        As of `tisim.gpu.nccl.collective`.

    Raises
    ------
    InputError
        If the platform is not one of GPUs, or a number does not make sense.
    """
    machine = machine_of(platform)
    if dtype not in ELEMENTS:
        raise InputError(f"a type is one of {', '.join(ELEMENTS)}, not {dtype!r}")
    if not 0 < first <= last:
        raise InputError(f"sizes go from a byte or more upwards, not from {first} to {last}")
    if factor < 1 or (factor == 1 and step < 1):
        raise InputError("sizes grow by a factor above 1 or by a step of a byte or more")
    chosen = tuple(range(machine.size if ranks is None else ranks))
    group = Communicator(machine, chosen, version, tuple(algorithms), tuple(protocols))
    if level not in LEVELS:
        raise InputError(f"a level is one of {', '.join(LEVELS)}, not {level!r}")
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
    """The part of the bandwidth of interfaces that the slowest link between nodes carries.

    Each node sends to the next one, in all-to-alls to all others, from all of its interfaces alike.
    The bytes of these flows are added up on the links of their routes between the interfaces; the
    slowest of these links has to carry them in the time that an interface needs for its own.
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
            ends = 2 if machine.pcie else 1  # interfaces, and PCIe before them
            loads.update(route[ends:-ends])
    fatpipes = platform.resources.link_fatpipe
    shares = (
        links[link] * len(distances) / (1 if fatpipes[link] else load) / group.rails
        for link, load in loads.items()
    )
    return min(1.0, min(shares, default=math.inf) / machine.nic_rate)
