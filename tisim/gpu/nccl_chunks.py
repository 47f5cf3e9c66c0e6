"""NCCL's collectives in detail: each chunk of each channel is a message on a platform's links."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines import NIC_EFFICIENCY
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.nccl import MAX_CHUNK_BYTES, PIPELINE_CHUNK, Collective, Communicator
from tisim.gpu.nccl_graphs import double_tree, find_rings
from tisim.gpu.nccl_tables import tables
from tisim.platform import Platform
from tisim.simulation.replay import replay
from tisim.traces.writer import write_trace

# Lines of a trace, and their number of repetitions.
_Lines = tuple[str, int]
# Algorithms whose steps are executed by switches, and PAT: NCCL's estimate has no other parts.
_SWITCHED: Final = ("nvls", "nvls_tree", "pat", "collnet_direct", "collnet_chain")
# Number of chunks of a channel in these, and the minimum bytes of one.
_STEPS: Final = 8
_MIN_PART_BYTES: Final = 16 * 1024
# A message starts when it is sent, after the previous messages of its channel, and has an equal
# share of its links.
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
    """Return the seconds of a call, simulating each chunk as a message on the platform's links.

    Each channel of each GPU waits for a chunk and sends the next one, in as many rounds as the
    buffers require; along trees, and where switches reduce, each chunk once it has arrived.

    Steps are scaled such that on the machine's own links their total is the time of the call as a
    flow: hops and bytes on NVLinks, PCIe and interfaces take `step_scale` times as long.

    Parameters
    ----------
    platform
        Platform of the group.
    group, call
        The GPUs, and the result of `Communicator.collective` for the call.

    Raises
    ------
    InputError
        If NVLinks do not connect the GPUs.
    """
    return _seconds(platform, group, call, step_scale(group, call))


def step_scale(group: Communicator, call: Collective) -> float:
    """Return the time of a call as a flow divided by that of its messages with NCCL's figures."""
    free = replace(group, network=1.0)
    flow = free.collective(call.operation, call.size)
    own = gpu_cluster(replace(group.machine, oversubscription=1.0))
    fixed, seconds = _fixed(group, call), _seconds(own, group, call, 1.0)
    return (flow.time - fixed) / (seconds - fixed) if seconds > fixed else 1.0


def _fixed(group: Communicator, call: Collective) -> float:
    """Return the seconds of a call that do not belong to steps."""
    if call.algorithm in _SWITCHED:
        return 0.0
    base = tables(group.version).base["tree" if call.algorithm == "tree" else "ring"]
    copied = call.algorithm == "ring" and call.operation not in ("broadcast", "reduce")
    copying = call.size / group.size / group.machine.gpu.copy_rate if copied else 0.0
    return base[call.protocol] + copying


def _seconds(platform: Platform, group: Communicator, call: Collective, scale: float) -> float:
    width = 1
    if call.algorithm == "ring":
        platform = _platform_for_rings(platform, group)
        programs = _ring_programs(group, call, scale)
    elif call.algorithm == "p2p":
        programs = _exchange_programs(group, call)
    else:
        width, programs = (
            _tree_relays(group, call) if call.algorithm == "tree" else _switch_relays(group, call)
        )
    width *= call.channels
    hosts = [platform.hosts[rank].name for rank in group.ranks for _ in range(width)]
    links = _platform_for_nccl(platform, group, _speeds(group, call), scale)
    return _fixed(group, call) + _replayed(links, hosts, programs)


def message_time(
    platform: Platform,
    group: Communicator,
    hosts: Sequence[str],
    programs: Sequence[Iterable[_Lines]],
) -> float:
    """Return the seconds of programs of messages on a platform, as NCCL uses it with Simple.

    Parameters
    ----------
    platform, group
        The platform, and the GPUs whose primitives and version apply.
    hosts
        Host of each program.
    programs
        Lines of a trace, each piece with its number of repetitions.
    """
    links = _platform_for_nccl(platform, group, _ring_speeds(group, "Simple"), 1.0)
    return _replayed(links, hosts, programs)


def _replayed(
    platform: Platform, hosts: Sequence[str], programs: Sequence[Iterable[_Lines]]
) -> float:
    with tempfile.TemporaryDirectory(prefix="tisim-nccl-") as directory:
        file = Path(directory) / "chunks.tit"
        with write_trace(file, len(programs)) as writer:
            for number, lines in enumerate(programs):
                writer.write_repeated(number, lines)
        return replay(file, platform=platform, hosts=hosts, config=_PLAIN).simulated_time


def _chains(group: Communicator, channel: int) -> list[list[int]]:
    """Return the ranks of each node in the order in which a channel visits them.

    With a switch, each channel enters the nodes at the next GPU, so that all interfaces are used.
    """
    machine, chains = group.machine, []
    for node, members in sorted(group.by_node.items()):
        first = channel % group.rings % len(members)
        gpus = [*members[first:], *members[:first]]
        if machine.cables and len(gpus) > 1:
            gpus = _ring_order(group, members, channel)
        chains.append([node * machine.gpus + gpu for gpu in gpus])
    return chains


def _ring_order(group: Communicator, members: Sequence[int], channel: int) -> list[int]:
    """Return the GPUs of a node in ring order; the ring enters and leaves by one interface."""
    machine = group.machine
    rings = find_rings(machine.cables, members)
    if len(rings[0]) > len(members):
        raise InputError("--level chunks needs rings that pass no GPU twice")
    turn = channel % len(rings)
    rings = (*rings[turn:], *rings[:turn])
    if group.nodes > 1:
        for ring in rings:
            for first, gpu in enumerate(ring):
                ends = {peer * machine.nics // machine.gpus for peer in (gpu, ring[first - 1])}
                if ends == {channel % machine.nics}:
                    return [*ring[first:], *ring[:first]]
    return list(rings[0])


def _ring_programs(group: Communicator, call: Collective, scale: float) -> list[Iterator[_Lines]]:
    """Return the programs of channels that pass chunks on, rank by rank."""
    channels = call.channels
    place = {rank: index * channels for index, rank in enumerate(group.ranks)}
    programs: dict[int, Iterator[_Lines]] = {}
    for channel in range(channels):
        order = list(itertools.chain.from_iterable(_chains(group, channel)))
        root = order.index(group.ranks[0])
        order = order[root:] + order[:root]
        for index, rank in enumerate(order):
            before, after = order[index - 1], order[(index + 1) % len(order)]
            ends = (place[before] + channel, place[after] + channel)
            number = place[rank] + channel
            if call.operation in ("broadcast", "reduce"):
                # The path of a reduction ends where that of a broadcast begins, and has the same
                # length.
                way = (ends[0] if index else -1, ends[1] if index < len(order) - 1 else -1)
                node = rank // group.machine.gpus
                near = (before // group.machine.gpus == node, after // group.machine.gpus == node)
                programs[number] = _chain_program(number, way, near, group, call)
            else:
                programs[number] = _ring_program(number, ends, group, call, scale)
    return [programs[number] for number in sorted(programs)]


def _ring_program(
    number: int, ends: tuple[int, int], group: Communicator, call: Collective, scale: float
) -> Iterator[_Lines]:
    """Yield one channel of a rank of a ring in which all ranks send."""
    steps, protocol = group.steps(call.operation), call.protocol
    chunk = max(call.size / call.channels / group.size, group.least_chunk(protocol, call.channels))
    yield f"{number} init\n", 1
    for size, count in _parts(chunk, MAX_CHUNK_BYTES[protocol]):
        send = f"{number} send {ends[1]} 0 {size} 6\n"
        receive = f"{number} recv {ends[0]} 0 {size} 6\n"
        last = receive + f"{number} sleep {scale * group.primitive(protocol).hop!r}\n"
        middle = [(receive + send, steps - 1)] if steps > 1 else []
        yield from [(send, 1), *middle, (last, 1)] * count
    yield f"{number} finalize\n", 1


def _chain_program(
    number: int,
    way: tuple[int, int],
    near: tuple[bool, bool],
    group: Communicator,
    call: Collective,
) -> Iterator[_Lines]:
    """Yield one channel of a rank that forwards its input; -1: no predecessor or successor.

    Within a node, LL and LL128 forward as much as their threads move at once.
    """
    most = min(PIPELINE_CHUNK, MAX_CHUNK_BYTES[call.protocol])
    least = math.ceil(group.least_chunk(call.protocol, call.channels))

    def pieces(verb: str, other: int, inside: bool, size: int) -> list[str]:
        parts = _parts(size, least if least and inside else most) if other >= 0 else []
        return [f"{number} {verb} {other} 0 {s} 6\n" for s, count in parts for _ in range(count)]

    yield f"{number} init\n", 1
    for size, count in _parts(max(call.size / call.channels, least), most):
        come = pieces("recv", way[0], near[0], size)
        go = pieces("send", way[1], near[1], size)
        if len(come) == len(go):
            come, go = ["".join(both) for both in zip(come, go, strict=True)], []
        yield "".join(come + go), count
    yield f"{number} finalize\n", 1


def _exchange_programs(group: Communicator, call: Collective) -> list[Iterator[_Lines]]:
    """Return the programs of channels that send to and receive from other ranks concurrently."""
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
    """Return the rounds of a channel: bytes, and number of repetitions."""
    rounds = max(1, math.ceil(size / most))
    rest = math.ceil(size - most * (rounds - 1))
    return [(most, rounds - 1), (rest, 1)] if rounds > 1 else [(rest, 1)]


# A relay, its successor, and the fraction of a chunk's bytes that goes there.
_Edge = tuple[int, int, float]


def _tree_relays(group: Communicator, call: Collective) -> tuple[int, list[Iterator[_Lines]]]:
    """Return relays along trees: for each channel of each GPU, one up and one down.

    GPUs of a node form a chain, whose head sends to the parent. The head also receives from the
    second child, and the next GPU in the chain from the first (``connectRings`` and
    ``connectTrees`` of ``src/graph/connect.cc``).
    """
    place = {rank: index for index, rank in enumerate(group.ranks)}
    most = math.ceil(group.tree_chunk(call.size, call.channels, call.protocol))
    edges: list[_Edge] = []
    for channel in range(call.channels):
        chains = [
            [place[rank] * call.channels + channel for rank in chain]
            for chain in _chains(group, channel)
        ]
        tree = double_tree(len(chains))[2 * channel // call.channels]
        above: dict[int, int] = {}
        for chain, (parent, is_first) in zip(chains, tree, strict=True):
            above |= dict(itertools.pairwise(reversed(chain)))
            if parent >= 0:
                above[chain[0]] = chains[parent][is_first and len(chains[parent]) > 1]
        for gpu in itertools.chain.from_iterable(chains):
            if gpu in above:
                edges.append((2 * gpu, 2 * above[gpu], 1.0))
                edges.append((2 * above[gpu] + 1, 2 * gpu + 1, 1.0))
            else:  # the root
                edges.append((2 * gpu, 2 * gpu + 1, 0.0))
    parts = _parts(call.size / call.channels, most)
    return 2, _relays(edges, 2 * call.channels * group.size, parts)


def _switch_relays(group: Communicator, call: Collective) -> tuple[int, list[Iterator[_Lines]]]:
    """Return relays where switches reduce and copy, or each step goes twice as far (PAT).

    Data that a switch takes from one GPU and gives to another is a message to the next GPU, in the
    node or on its interface in the next node, so that each link has its actual load.
    """
    stages = _stages(group, call)
    channels, width = call.channels, len(stages) + 1
    place = {rank: index for index, rank in enumerate(group.ranks)}
    machine = group.machine
    nodes = [
        [node * machine.gpus + gpu for gpu in gpus] for node, gpus in sorted(group.by_node.items())
    ]
    heads = []  # of each node: the first GPU of each interface
    for ranks in nodes:
        by_nic = {rank % machine.gpus * machine.nics // machine.gpus: rank for rank in ranks[::-1]}
        heads.append([by_nic[nic] for nic in sorted(by_nic)][: group.rails])
    edges: list[_Edge] = []
    for number, ranks in enumerate(nodes):
        for stage, (distance, share) in enumerate(stages):
            further = heads[(number + distance) % len(nodes)]
            for index, rank in enumerate(ranks):
                goal, part = ranks[(index + 1) % len(ranks)], share
                if distance:
                    is_head = rank in heads[number]
                    goal = further[heads[number].index(rank)] if is_head else rank
                    part = share if is_head else 0.0
                for channel in range(channels):
                    source, target = (place[r] * channels + channel for r in (rank, goal))
                    edges.append((source * width + stage, target * width + stage + 1, part))
    size = call.size / channels
    most = int(min(max(size / _STEPS, _MIN_PART_BYTES), PIPELINE_CHUNK))
    return width, _relays(edges, width * channels * group.size, _parts(size, most))


def _stages(group: Communicator, call: Collective) -> list[tuple[int, float]]:
    """Return distance in nodes (0: same node) and fraction of the bytes of each switch stage."""
    within, between = group.traffic(call.operation, call.algorithm)
    turns = group.min_local_ranks - 1 if call.algorithm == "collnet_chain" else 1
    doublings = int(math.log2(group.nodes))
    far = [1] if group.nodes > 1 else []
    if call.algorithm == "nvls_tree":
        far = [1] * (2 * doublings)
    elif call.algorithm == "pat":
        far = [2**step for step in range((group.nodes - 1).bit_length())]
    before = turns * (call.operation != "all_gather" and within > 0)
    behind = turns * (call.operation != "reduce_scatter" and within > 0)
    near = (0, within / max(before + behind, 1))
    return [near] * before + [(nodes, between / len(far)) for nodes in far] + [near] * behind


def _relays(
    edges: Iterable[_Edge], count: int, parts: Sequence[tuple[int, int]]
) -> list[Iterator[_Lines]]:
    """Return programs that forward each chunk once it has arrived from all sources."""
    sources: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    goals: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for source, target, share in edges:
        goals[source].append((target, share))
        sources[target].append((source, share))

    def program(number: int) -> Iterator[_Lines]:
        yield f"{number} init\n", 1
        for size, often in parts:
            lines = [f"{number} recv {n} 0 {math.ceil(p * size)} 6\n" for n, p in sources[number]]
            lines += [f"{number} send {n} 0 {math.ceil(p * size)} 6\n" for n, p in goals[number]]
            yield "".join(lines), often if lines else 0
        yield f"{number} finalize\n", 1

    return [program(number) for number in range(count)]


@dataclass(frozen=True, slots=True)
class _Speeds:
    """Speeds of messages: bytes/s of links and channels, seconds of hops.

    Bytes/s of a GPU's links in its node, of an interface, and of a channel within a node and
    between nodes (infinite: limited by the links only); seconds of a hop there.
    """

    inside: float
    interface: float
    channel: float
    far_channel: float
    hop: float
    far_hop: float


def _ring_speeds(group: Communicator, protocol: str) -> _Speeds:
    machine, primitive = group.machine, group.primitive(protocol)
    reached = machine.nvlink_rate
    if not machine.pcie:
        reached *= machine.gpu.nvlink_achieved_rate / machine.gpu.nvlink_rate
    far_channel = primitive.rate if protocol != "Simple" else math.inf
    return _Speeds(
        reached,
        machine.nic_rate * NIC_EFFICIENCY,
        primitive.rate,
        far_channel,
        primitive.hop,
        group.network_hop("ring", protocol),
    )


def _speeds(group: Communicator, call: Collective) -> _Speeds:
    if call.algorithm in ("ring", "p2p"):
        speeds, gpu = _ring_speeds(group, call.protocol), group.machine.gpu
        if group.machine.cables and call.algorithm == "ring":
            # The channels of a ring alternate on its NVLink.
            moved = (
                math.ceil(call.channels / group.rings) * speeds.channel / gpu.nvlink_achieved_rate
            )
            speeds = replace(speeds, inside=speeds.inside * min(1.0, moved))
        return speeds
    inside, interface = group.achieved_rates(call.operation, call.algorithm, call.rate)
    if group.machine.cables:
        inside = group.machine.nvlink_rate * (
            group.machine.gpu.nvlink_achieved_rate / group.machine.gpu.nvlink_rate
        )
    channel, hop, far = math.inf, 0.0, 0.0
    if call.algorithm == "tree":
        hop, far = group.tree_hop(call.protocol), group.network_hop("tree", call.protocol)
        channel = group.primitive("Simple").rate if call.protocol == "Simple" else math.inf
    else:
        hop = far = call.latency / len(_stages(group, call))
    return _Speeds(inside, interface, channel, math.inf, hop, far)


def _platform_for_nccl(
    platform: Platform, group: Communicator, speeds: _Speeds, scale: float
) -> Platform:
    """Return the platform with the bandwidths that NCCL achieves, and the latencies of hops.

    All times are multiplied by `scale`.
    """
    machine = group.machine
    platform = platform.scaled(latency="x0")
    inside, far, name = speeds.inside / machine.nvlink_rate, speeds.far_hop, "nvlink"
    used = []
    if machine.pcie:
        # Messages between nodes cross two PCIe links in addition to those of interfaces.
        far, name = max(far - speeds.hop, 0.0), "pcie"
        used = [("*-bridge-*", 1.0, 0.0), ("*-sockets", 1.0, 0.0)]
    for links, share, latency in (
        # A message crosses two NVLinks, to and from a switch, or one cable.
        (f"*-{name}-*", inside, speeds.hop / (1 if machine.cables else 2)),
        ("*-nic-*", speeds.interface / machine.nic_rate, far / 2),
        *used,
    ):
        factor, seconds = share / scale, latency * scale
        platform = platform.scaled(links=links, bandwidth=f"x{factor!r}", latency=f"{seconds!r}s")
    caps = [] if machine.cables else [("*-channel", speeds.channel, machine.nvlink_rate)]
    if group.nodes > 1:
        caps.append(("ports", speeds.far_channel, machine.nics * machine.nic_rate))
    for links, most, rate in caps:
        if most < math.inf:
            platform = platform.scaled(links=links, bandwidth=f"x{most / rate / scale!r}")
    return platform


def _platform_for_rings(platform: Platform, group: Communicator) -> Platform:
    """Return the platform with one NVLink of a cable for each ring that uses it."""
    machine = group.machine
    if not machine.cables:
        return platform
    for node, gpus in group.by_node.items():
        rings = find_rings(machine.cables, gpus) if len(gpus) > 1 else []
        taken = Counter(
            step for ring in rings for step in zip(ring, (*ring[1:], ring[0]), strict=True)
        )
        for a, b, count in machine.cables:
            used = max(taken[a, b], taken[b, a])
            if 0 < used < count:
                cable = f"node-{node}-nvlink-{a}-{b}"
                platform = platform.scaled(links=cable, bandwidth=f"x{used / count!r}")
    return platform
