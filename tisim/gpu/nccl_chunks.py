"""NCCL's rings, trees and messages, each chunk on each channel, on the links of a platform."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines import NIC_EFFICIENCY
from tisim.gpu.nccl import MOST_CHUNK, PIPELINE_CHUNK, Collective, Communicator
from tisim.gpu.nccl_rings import find_rings
from tisim.gpu.nccl_tables import tables
from tisim.gpu.nccl_trees import double_tree
from tisim.platform import Platform
from tisim.simulation.replay import replay
from tisim.traces.writer import write_trace

# Lines of a trace, and how often they follow.
_Lines = tuple[str, int]
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


def chunk_time(platform: Platform, group: Communicator, call: Collective) -> float:
    """Seconds of a call by rings or trees with Simple, or of point-to-point, chunk by chunk.

    Each channel of each GPU waits for a chunk and sends the next one, in as many rounds as the
    buffers need; along trees, each when it has come. The messages share the links of the platform,
    and have the latencies of hops.

    Parameters
    ----------
    platform
        That of the group.
    group, call
        The GPUs, and what `Communicator.collective` says of the call.

    Raises
    ------
    InputError
        If the call is not one of these, or its GPUs do not reach one another on NVLinks.
    """
    # LL and LL128 bound what a channel carries, which only links within nodes do.
    near = group.nodes == 1 and not group.machine.cables and call.algorithm == "ring"
    if call.algorithm not in ("ring", "tree", "p2p") or not (near or call.protocol == "Simple"):
        raise InputError(
            "chunks are messages for rings and trees with Simple, for rings within a node with a "
            f"switch, and for point-to-point, not for {call.operation} by {call.algorithm} with "
            f"{call.protocol} (--algo ring --proto Simple)"
        )
    if call.algorithm == "tree":
        programs, hosts = _along_trees(platform, group, call)
        seconds = message_time(platform, group, hosts, programs, trees=True)
        return tables(group.version).base["tree"]["Simple"] + seconds
    channels, copying = call.channels, 0.0
    hosts = [platform.hosts[rank].name for rank in group.ranks for _ in range(channels)]
    if call.algorithm == "p2p":
        if group.machine.cables and group.local > 1:
            raise InputError("messages over cables are not carried out; chunks are those of rings")
        programs = _exchanges(group, call)
    else:
        platform = _as_rings_use(platform, group)
        programs = _along_rings(group, call)
        if call.operation not in ("broadcast", "reduce"):
            copying = call.size / group.size / group.machine.gpu.copy_rate
    seconds = message_time(platform, group, hosts, programs, protocol=call.protocol)
    return tables(group.version).base["ring"][call.protocol] + seconds + copying


def message_time(
    platform: Platform,
    group: Communicator,
    hosts: Sequence[str],
    programs: Sequence[Iterable[_Lines]],
    *,
    protocol: str = "Simple",
    trees: bool = False,
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
    protocol, trees
        Whose latencies and bandwidth of channels count; whether those of trees do.
    """
    with tempfile.TemporaryDirectory(prefix="tisim-nccl-") as directory:
        file = Path(directory) / "chunks.tit"
        with write_trace(file, len(programs)) as writer:
            for number, lines in enumerate(programs):
                writer.write_repeated(number, lines)
        links = _as_nccl_uses(platform, group, protocol=protocol, trees=trees)
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
            first = channel % group.rings % len(gpus)
            order += [node * machine.gpus + gpu for gpu in (*gpus[first:], *gpus[:first])]
        orders.append(order)
    return orders


def _along_rings(group: Communicator, call: Collective) -> list[Iterator[_Lines]]:
    """The programs of channels that pass chunks on, rank by rank."""
    channels = call.channels
    place = {rank: index * channels for index, rank in enumerate(group.ranks)}
    programs: dict[int, Iterator[_Lines]] = {}
    for channel, order in enumerate(_orders(group, channels)):
        root = order.index(group.ranks[0])
        order = order[root:] + order[:root]
        for index, rank in enumerate(order):
            before, after = order[index - 1], order[(index + 1) % len(order)]
            ends = (place[before] + channel, place[after] + channel)
            number = place[rank] + channel
            if call.operation in ("broadcast", "reduce"):
                # The way of a reduction ends where that of a broadcast begins, and is as long.
                way = (ends[0] if index else -1, ends[1] if index < len(order) - 1 else -1)
                programs[number] = _link_of_chain(number, way, group, call)
            else:
                programs[number] = _program(number, ends, group, call)
    return [programs[number] for number in sorted(programs)]


def _program(
    number: int, ends: tuple[int, int], group: Communicator, call: Collective
) -> Iterator[_Lines]:
    """One channel of a rank of a ring in which all send."""
    steps, protocol = group.steps(call.operation), call.protocol
    chunk = max(call.size / call.channels / group.size, group.least_chunk(protocol, call.channels))
    yield f"{number} init\n", 1
    for size, count in _parts(chunk, MOST_CHUNK[protocol]):
        send = f"{number} send {ends[1]} 0 {size} 6\n"
        receive = f"{number} recv {ends[0]} 0 {size} 6\n"
        last = receive + f"{number} sleep {group.primitive(protocol).hop!r}\n"
        middle = [(receive + send, steps - 1)] if steps > 1 else []
        yield from [(send, 1), *middle, (last, 1)] * count
    yield f"{number} finalize\n", 1


def _link_of_chain(
    number: int, way: tuple[int, int], group: Communicator, call: Collective
) -> Iterator[_Lines]:
    """One channel of a rank that passes on what comes to it; -1: from or to nobody."""
    most = min(PIPELINE_CHUNK, MOST_CHUNK[call.protocol])
    passed = max(call.size / call.channels, group.least_chunk(call.protocol, call.channels))
    yield f"{number} init\n", 1
    for size, count in _parts(passed, most):
        receive = f"{number} recv {way[0]} 0 {size} 6\n" if way[0] >= 0 else ""
        send = f"{number} send {way[1]} 0 {size} 6\n" if way[1] >= 0 else ""
        yield receive + send, count
    yield f"{number} finalize\n", 1


def _exchanges(group: Communicator, call: Collective) -> list[Iterator[_Lines]]:
    """The programs of channels that send to other ranks and receive from them, all at once."""
    ranks, channels = group.size, call.channels
    distances = range(1, 2) if call.operation == "sendrecv" else range(1, ranks)
    size = math.ceil(call.size / channels / (1 if call.operation == "sendrecv" else ranks))

    def program(rank: int, channel: int) -> Iterator[_Lines]:
        number = rank * channels + channel
        yield f"{number} init\n", 1
        goals = [(rank + distance) % ranks for distance in distances]
        sources = [(rank - distance) % ranks for distance in distances]
        if call.operation == "scatter":
            goals, sources = ([], [0]) if rank else (goals, [])
        elif call.operation == "gather":
            goals, sources = ([0], []) if rank else ([], sources)
        for other in goals:
            yield f"{number} send {other * channels + channel} 0 {size} 6\n", 1
        for other in sources:
            yield f"{number} recv {other * channels + channel} 0 {size} 6\n", 1
        yield f"{number} finalize\n", 1

    return [program(rank, channel) for rank in range(ranks) for channel in range(channels)]


def _parts(size: float, most: int) -> list[tuple[int, int]]:
    """The rounds of a channel: bytes, and how often."""
    rounds = max(1, math.ceil(size / most))
    rest = math.ceil(size - most * (rounds - 1))
    return [(most, rounds - 1), (rest, 1)] if rounds > 1 else [(rest, 1)]


def _along_trees(
    platform: Platform, group: Communicator, call: Collective
) -> tuple[list[Iterator[_Lines]], list[str]]:
    """The programs of channels along trees, and their hosts: of each GPU, up and down.

    In a node GPUs are a chain, whose head sends to the parent. The head also receives from the
    second child, and the GPU behind it from the first (``connectRings`` and ``connectTrees`` of
    ``src/graph/connect.cc``).
    """
    nodes = sorted(group.by_node.items())
    place = {rank: index for index, rank in enumerate(group.ranks)}
    parts = _parts(call.size / call.channels, int(group.tree_chunk(call.size, call.channels)))
    programs: dict[int, Iterator[_Lines]] = {}
    for channel in range(call.channels):
        chains = []
        for node, gpus in nodes:
            first = channel % group.rings % len(gpus)
            order = (*gpus[first:], *gpus[:first])
            chains.append(
                [place[node * group.machine.gpus + gpu] * call.channels + channel for gpu in order]
            )
        tree = double_tree(len(nodes))[2 * channel // call.channels]
        above: dict[int, int] = {}
        for chain, (parent, is_first) in zip(chains, tree, strict=True):
            above |= dict(itertools.pairwise(reversed(chain)))
            if parent >= 0:
                above[chain[0]] = chains[parent][is_first and len(chains[parent]) > 1]
        below: dict[int, list[int]] = {}
        for one, other in above.items():
            below.setdefault(other, []).append(one)
        for one in itertools.chain.from_iterable(chains):
            up, down = 2 * one, 2 * one + 1
            children = below.get(one, ())
            to = 2 * above[one] if one in above else down
            source = 2 * above[one] + 1 if one in above else up
            programs[up] = _relay(up, [2 * child for child in children], [to], parts)
            programs[down] = _relay(down, [source], [2 * child + 1 for child in children], parts)
    hosts = [platform.hosts[rank].name for rank in group.ranks for _ in range(2 * call.channels)]
    return [programs[number] for number in sorted(programs)], hosts


def _relay(
    number: int, sources: Sequence[int], goals: Sequence[int], parts: Sequence[tuple[int, int]]
) -> Iterator[_Lines]:
    """A program that passes on each chunk when it has come from all; within a GPU it is empty."""

    def size_to(other: int, size: int) -> int:
        return 0 if other // 2 == number // 2 else size

    yield f"{number} init\n", 1
    for size, count in parts:
        lines = [f"{number} recv {other} 0 {size_to(other, size)} 6\n" for other in sources]
        lines += [f"{number} send {other} 0 {size_to(other, size)} 6\n" for other in goals]
        yield "".join(lines), count
    yield f"{number} finalize\n", 1


def _as_nccl_uses(
    platform: Platform, group: Communicator, *, protocol: str, trees: bool
) -> Platform:
    """The platform with what NCCL reaches of its bandwidths, and the latencies of hops."""
    machine = group.machine
    platform = platform.scaled(latency="x0")
    hop = group.tree_hop if trees else group.primitive(protocol).hop
    far = group.network_hop("tree" if trees else "ring", protocol)
    interface = group.tree_interface() / machine.nic_rate if trees else NIC_EFFICIENCY
    if machine.pcie:
        # Messages between nodes take two PCIe links beside those of interfaces.
        inside, reached, far = "*-pcie-*", 1.0, max(far - hop, 0.0)
    else:
        inside, reached = "*-nvlink-*", machine.gpu.nvlink_reached / machine.gpu.nvlink_rate
    reached = group.tree_links() / machine.nvlink_rate if trees else reached
    for links, share, latency in (
        # A message takes two NVLinks to and from a switch, or one cable.
        (inside, reached, hop / (1 if machine.cables else 2)),
        ("*-nic-*", interface, far / 2),
    ):
        platform = platform.scaled(links=links, bandwidth=f"x{share!r}", latency=f"{latency!r}s")
    if not machine.cables:
        share = group.primitive(protocol).rate / machine.nvlink_rate
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
