"""Rings of NCCL as messages: each chunk on each channel, on the links of a platform."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines import NIC_EFFICIENCY
from tisim.gpu.nccl import MOST_CHUNK, Collective, Communicator
from tisim.gpu.nccl_rings import find_rings
from tisim.gpu.nccl_tables import tables
from tisim.platform import Platform
from tisim.simulation.replay import replay
from tisim.traces.writer import write_trace

# A message starts when it is sent, after those of its channel before it, and has an equal share of
# its links.
_PLAIN: Final = {
    "network/model": "CM02",
    "network/bandwidth-factor": 1.0,
    "network/latency-factor": 1.0,
    "network/weight-S": 0.0,
    "network/TCP-gamma": 0.0,
    "network/crosstraffic": "no",
    "network/ordering": "fifo",
    "smpi/async-small-thresh": 1 << 30,
    "smpi/send-is-detached-thresh": 1 << 30,
}
_OPERATIONS: Final = ("all_reduce", "all_gather", "reduce_scatter")


def chunk_time(platform: Platform, group: Communicator, call: Collective) -> float:
    """Seconds of a call by rings with Simple, each of whose chunks is a message.

    Each channel of each GPU waits for a chunk and sends the next one, in as many rounds as the
    buffers need. The messages share the links of the platform, and have the latencies of hops.

    Parameters
    ----------
    platform
        That of the group.
    group, call
        The GPUs, and what `Communicator.collective` says of the call.

    Raises
    ------
    InputError
        If the call is not one of such rings, or rings pass through a third GPU.
    """
    if (call.algorithm, call.protocol) != ("ring", "Simple") or call.operation not in _OPERATIONS:
        raise InputError(
            f"chunks are messages for {', '.join(_OPERATIONS)} by rings with Simple, not for "
            f"{call.operation} by {call.algorithm} with {call.protocol} (--algo ring --proto "
            "Simple)"
        )
    channels = call.channels
    place = {rank: index * channels for index, rank in enumerate(group.ranks)}
    hosts = [platform.hosts[rank].name for rank in group.ranks for _ in range(channels)]
    lines: dict[int, Iterator[tuple[str, int]]] = {}
    for channel, order in enumerate(_orders(group, channels)):
        for index, rank in enumerate(order):
            before, after = order[index - 1], order[(index + 1) % len(order)]
            ends = (place[before] + channel, place[after] + channel)
            number = place[rank] + channel
            lines[number] = _program(number, ends, group, call)
    links = _as_rings_use(platform, group)
    seconds = message_time(links, group, hosts, [lines[number] for number in sorted(lines)])
    base = tables(group.version).base["ring"]["Simple"]
    return base + seconds + call.size / group.size / group.machine.gpu.copy_rate


def message_time(
    platform: Platform,
    group: Communicator,
    hosts: Sequence[str],
    programs: Sequence[Iterable[tuple[str, int]]],
) -> float:
    """Seconds of some programs of messages on a platform, as NCCL uses it.

    Parameters
    ----------
    platform, group
        The platform, and the GPUs whose primitives and version count.
    hosts
        Of each program.
    programs
        Lines of a trace, each piece with how often it follows.
    """
    with tempfile.TemporaryDirectory(prefix="tisim-nccl-") as directory:
        file = Path(directory) / "chunks.tit"
        with write_trace(file, len(programs)) as writer:
            for number, lines in enumerate(programs):
                writer.write_repeated(number, lines)
        links = _as_nccl_uses(platform, group)
        return replay(file, platform=links, hosts=hosts, config=_PLAIN).simulated_time


def _orders(group: Communicator, channels: int) -> list[list[int]]:
    """The ranks along the ring of each channel.

    Over a switch, each channel enters the nodes at the next GPU, so that all interfaces are used.
    """
    machine = group.machine
    if machine.cables:
        (node, gpus), *others = group.by_node.items()
        rings = find_rings(machine.cables, gpus)
        if others or len(rings[0]) > len(gpus):
            raise InputError(
                "chunks over cables are messages within a node, of rings that pass no GPU twice"
            )
        return [
            [node * machine.gpus + gpu for gpu in rings[channel % len(rings)]]
            for channel in range(channels)
        ]
    orders = []
    for channel in range(channels):
        order: list[int] = []
        for node, gpus in sorted(group.by_node.items()):
            first = channel % len(gpus)
            order += [node * machine.gpus + gpu for gpu in (*gpus[first:], *gpus[:first])]
        orders.append(order)
    return orders


def _program(
    number: int, ends: tuple[int, int], group: Communicator, call: Collective
) -> Iterator[tuple[str, int]]:
    """Lines of one channel of a rank, each piece with how often it follows."""
    steps = group.steps(call.operation)
    whole = call.size / (call.channels * group.size)
    most = MOST_CHUNK["Simple"]
    rounds = max(1, math.ceil(whole / most))
    yield f"{number} init\n", 1
    for size, count in ((most, rounds - 1), (math.ceil(whole - most * (rounds - 1)), 1)):
        send = f"{number} send {ends[1]} 0 {size} 6\n"
        receive = f"{number} recv {ends[0]} 0 {size} 6\n"
        last = receive + f"{number} sleep {group.primitive('Simple').hop!r}\n"
        middle = [(receive + send, steps - 1)] if steps > 1 else []
        yield from [(send, 1), *middle, (last, 1)] * count
    yield f"{number} finalize\n", 1


def _as_nccl_uses(platform: Platform, group: Communicator) -> Platform:
    """The platform with what NCCL reaches of its bandwidths, and the latencies of hops."""
    machine = group.machine
    platform = platform.scaled(latency="x0")
    reached = machine.gpu.nvlink_reached / machine.gpu.nvlink_rate
    for links, share, latency in (
        # A message takes two NVLinks to and from a switch, or one cable.
        ("*-nvlink-*", reached, group.primitive("Simple").hop / (1 if machine.cables else 2)),
        ("*-nic-*", NIC_EFFICIENCY, group.network_hop("ring", "Simple") / 2),
    ):
        platform = platform.scaled(links=links, bandwidth=f"x{share!r}", latency=f"{latency!r}s")
    if not machine.cables:
        share = group.primitive("Simple").rate / machine.nvlink_rate
        platform = platform.scaled(links="*-channel", bandwidth=f"x{share!r}")
    return platform


def _as_rings_use(platform: Platform, group: Communicator) -> Platform:
    """The platform with one NVLink of a cable for each ring over it."""
    machine = group.machine
    if not machine.cables:
        return platform
    (gpus,) = group.by_node.values()
    rings = find_rings(machine.cables, gpus)
    taken = Counter(step for ring in rings for step in zip(ring, (*ring[1:], ring[0]), strict=True))
    for one, other, count in machine.cables:
        used = max(taken[one, other], taken[other, one])
        if 0 < used < count:
            cable = f"*-nvlink-{one}-{other}"
            platform = platform.scaled(links=cable, bandwidth=f"x{used / count!r}")
    return platform
