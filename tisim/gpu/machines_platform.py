"""GPU clusters as platforms: a host per GPU, and links for NVLinks, interfaces and switches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tisim.errors import InputError
from tisim.gpu.machines import FABRICS, MACHINES, Machine
from tisim.platform import Platform, PlatformBuilder

#: Property of hosts that are GPUs: ``model=h100,gpus=8,nics=8`` and figures for human readers.
GPU: Final = "tisim/gpu"


def gpu_cluster(machine: Machine) -> Platform:
    """Return the platform of a machine.

    Host ``node-2-gpu-5`` is GPU 5 of node 2; its speed is the fp32 peak, and its property
    ``tisim/gpu`` has all figures. GPUs of the same node communicate over their NVLinks, those of
    different nodes over their interfaces. Switches have 64 ports: with ``rail``, each interface of
    a node has a first switch of its own, which 32 nodes share; with ``fat-tree``, all interfaces of
    a node share one, and as many nodes share it as its downward ports allow. The cables between
    first and second switches are one link.

    Parameters
    ----------
    machine
        Nodes, GPUs and fabric.

    Raises
    ------
    InputError
        If the fabric is not known, or a number is not positive.
    """
    if machine.fabric not in FABRICS:
        raise InputError(f"a fabric must be {' or '.join(FABRICS)}, not {machine.fabric!r}")
    for what, value in (
        ("the number of nodes", machine.nodes),
        ("the number of interfaces of a node", machine.nics),
        ("the oversubscription", machine.oversubscription),
        ("the bandwidth of an interface", machine.nic_rate),
        ("the bandwidth of NVLinks", machine.nvlink_rate),
    ):
        if not 0 < value < float("inf"):
            raise InputError(f"{what} must be above 0, not {value:g}")
    if machine.gpus % machine.nics:
        raise InputError(
            f"{machine.gpus} GPUs of a node cannot share {machine.nics} interfaces evenly"
        )
    each = machine.switch_nodes
    leaves = -(-machine.nodes // each)
    builder = PlatformBuilder("a new GPU cluster")
    with builder.zone("gpus", routing="Dijkstra"):
        for node in range(machine.nodes):
            with builder.zone(f"node-{node}"):
                _add_node(builder, machine, f"node-{node}")
        for leaf in range(leaves):
            with builder.zone(f"leaf-{leaf}"):
                builder.router(f"leaf-{leaf}-switch")
        # The ports of a node; never a bottleneck of its interfaces.
        ports = machine.nics * machine.nic_rate
        builder.link("ports", ports, 0.0, sharing="FATPIPE")
        if leaves > 1:
            with builder.zone("spine"):
                builder.router("spine-switch")
            for leaf in range(leaves):
                rate = each * ports / machine.oversubscription
                builder.link(f"leaf-{leaf}-up", rate, machine.latency, sharing="SPLITDUPLEX")
        # SimGrid requires routes after all other elements.
        for node in range(machine.nodes):
            leaf = node // each
            gateways = (f"node-{node}-interfaces", f"leaf-{leaf}-switch")
            builder.zone_route(f"node-{node}", f"leaf-{leaf}", ["ports"], gateways=gateways)
        for leaf in range(leaves if leaves > 1 else 0):
            gateways = (f"leaf-{leaf}-switch", "spine-switch")
            up = f"leaf-{leaf}-up"
            builder.zone_route(f"leaf-{leaf}", "spine", [(up, "UP")], gateways=gateways)
    return builder.build()


def _figures(machine: Machine) -> str:
    gpu = machine.gpu
    figures: dict[str, object] = {
        "model": gpu.name,
        "gpus": machine.gpus,
        "nics": machine.nics,
        **({"sharp": 1} if machine.sharp else {}),
        "sms": gpu.sms,
        "memory": f"{gpu.memory:g}",
        "memory-rate": f"{gpu.memory_rate:g}",
        "nvlinks": gpu.nvlinks,
        **{dtype: f"{peak:g}" for dtype, peak in gpu.peaks.items()},
    }
    return ",".join(f"{name}={value}" for name, value in figures.items())


def _add_node(builder: PlatformBuilder, machine: Machine, name: str) -> None:
    interfaces = f"{name}-interfaces"
    builder.router(interfaces)
    hosts = [f"{name}-gpu-{gpu}" for gpu in range(machine.gpus)]

    def add_link(link: str, rate: float, latency: float) -> str:
        builder.link(f"{name}-{link}", rate, latency, sharing="SPLITDUPLEX")
        return f"{name}-{link}"

    inside = "nvlink" if machine.switched else "pcie"
    rate = machine.nvlink_rate if machine.switched else machine.pcie_rate
    nics = [
        add_link(f"nic-{nic}", machine.nic_rate, machine.latency) for nic in range(machine.nics)
    ]
    switched = [
        add_link(f"{inside}-{gpu}", rate, machine.nvlink_latency) for gpu in range(machine.gpus)
    ]
    cabled = {}
    for a, b, count in machine.cables:
        link_rate = count * machine.gpu.nvlink_rate
        cabled[a, b] = add_link(f"nvlink-{a}-{b}", link_rate, machine.nvlink_latency)
    if not machine.cables:  # limit of a single message on the NVLinks to a switch
        builder.link(f"{name}-channel", machine.nvlink_rate, 0.0, sharing="FATPIPE")
    for host in hosts:
        builder.host(host, machine.gpu.peaks["fp32"], properties={GPU: _figures(machine)})
    places = [machine.pcie_place(gpu) for gpu in range(machine.gpus)]
    bridges: dict[int, str] = {}
    if machine.pcie:
        for _, switch in dict.fromkeys(places):
            bridges[switch] = add_link(f"bridge-{switch}", machine.bridge_rate, 0.0)
        add_link("sockets", min(machine.socket_rate, 1e18), 0.0)
    for gpu, host in enumerate(hosts):
        out = [(nics[gpu * machine.nics // machine.gpus], "UP")]
        builder.route(host, interfaces, [(switched[gpu], "UP"), *out] if machine.pcie else out)
        for b in range(gpu):
            through: list[str | tuple[str, str]] = [
                (switched[b], "UP"),
                (switched[gpu], "DOWN"),
            ]
            if (b, gpu) in cabled:
                through = [(cabled[b, gpu], "UP")]
            elif not machine.cables:
                through.insert(1, f"{name}-channel")
            if machine.pcie and places[gpu] != places[b]:
                # GPUs are in the order of their CPUs and switches.
                (low, from_switch), (high, to_switch) = places[b], places[gpu]
                cpus = [(f"{name}-sockets", "UP")] if low != high else []
                through[2:2] = [(bridges[from_switch], "UP"), *cpus, (bridges[to_switch], "DOWN")]
            builder.route(hosts[b], host, through)


def machine_of(platform: Platform) -> Machine:
    """Return the machine that a GPU platform describes, with the bandwidths of its links.

    Its hosts have the property ``tisim/gpu`` and are ordered by node, as in `gpu_cluster`.

    Raises
    ------
    InputError
        If hosts are not GPUs, or nodes differ.
    """
    properties: dict[str, Mapping[str, str]] = {}
    nodes: dict[str, list[int]] = {}
    for host in platform.hosts:
        text = host.properties.get(GPU)
        if text is None:
            raise InputError(
                f"host {host.name} lacks the property {GPU}; 'tisim platform new gpu-cluster' "
                "creates platforms of GPUs",
                file=platform.file,
            )
        if text not in properties:
            properties[text] = dict(word.split("=", 1) for word in text.split(",") if "=" in word)
        nodes.setdefault(host.zone, []).append(host.index)
    if len(properties) > 1:
        raise InputError("its GPUs or nodes are not equal", file=platform.file)
    (words,) = properties.values()
    model = words.get("model", "")
    if model not in MACHINES:
        known = ", ".join(MACHINES)
        raise InputError(f"{GPU}: unknown model {model!r}; known: {known}", file=platform.file)
    usual = MACHINES[model]
    counts = {}
    for word in ("gpus", "nics"):
        text = words.get(word, "")
        if not (text.isascii() and text.isdigit() and int(text) > 0):
            raise InputError(
                f"{GPU}: {word} must be a whole number, not {text!r}", file=platform.file
            )
        counts[word] = int(text)
    members = list(nodes.values())
    if {len(node) for node in members} != {counts["gpus"]} or counts["gpus"] % counts["nics"]:
        raise InputError(f"not all its nodes have {counts['gpus']} GPUs", file=platform.file)
    found = replace(usual, nodes=len(members), gpus=counts["gpus"], nics=counts["nics"])
    found = replace(found, sharp=words.get("sharp") == "1")
    first = members[0]
    if len(first) > 1:
        one, other, count = usual.cables[0] if usual.cables else (0, -1, usual.gpu.nvlinks)
        links = platform.route(*(platform.hosts[first[gpu]] for gpu in (one, other))).links
        if usual.pcie:
            cpus = [link.bandwidth for link in links if "-sockets" in link.name]
            found = replace(found, pcie_rate=links[0].bandwidth)
            found = replace(found, socket_rate=min(cpus, default=math.inf))
        else:
            found = found.with_nvlinks(links[0].bandwidth / count)
    if len(members) > 1:
        ends = (platform.hosts[members[node][0]] for node in (0, 1))
        interface = platform.route(*ends).links[1 if usual.pcie else 0]
        found = replace(found, nic_rate=interface.bandwidth)
    return found
