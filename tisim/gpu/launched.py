"""GPUs driven by MPI: the ranks of a trace launch blocks of a graph on their GPUs.

A rank is the host thread of its GPU. Messages between GPUs load the NVLinks and network interfaces
of the platform and share them with the messages of ranks; each channel of a collective is one
message between two of its hosts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.streams import Span, Streams
from tisim.errors import InputError, SimulationError
from tisim.gpu.machines_platform import machine_of
from tisim.gpu.step_graph import Node, read_graph
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_run import CoreGraph
from tisim.gpu.step_traffic import Traffic, calls_of, nodes_and_links

if TYPE_CHECKING:
    from tisim._core import Simulation
    from tisim.gpu.step_graph import Graph
    from tisim.kernel.driver import Driver
    from tisim.platform import Platform


# Suffixes of the outgoing and the incoming link of a GPU, node or switch.
_WAYS = ("UP", "DOWN")


class LaunchedGraph:
    """A graph whose blocks the ranks of a trace launch: ``tisim.replay(..., gpus=...)``.

    Parameters
    ----------
    path
        A graph file with blocks and without programs.

    Raises
    ------
    InputError
        If it is not such a file.
    """

    def __init__(self, path: str | Path) -> None:
        graph = read_graph(path)
        if graph.programs:
            raise InputError(
                "has programs; a graph whose blocks are launched by the ranks of a trace must have "
                "none",
                file=path,
            )
        # Any rank may launch any block.
        nodes = [Node("do", "", name, (1,), 0) for name in graph.blocks]
        self.graph: Graph = replace(graph, programs=[(0, graph.ranks - 1, nodes)])
        self._core_graph: CoreGraph | None = None

    @property
    def lanes(self) -> list[tuple[int, str]]:
        """Rank and name of each stream of all GPUs."""
        nodes = (node for block in self.graph.blocks.values() for node in block)
        names = dict.fromkeys(node.stream for node in nodes if node.stream)
        return [(rank, name) for rank in range(self.graph.ranks) for name in names]

    def streams(self, core: Simulation) -> Streams:
        """Return the activities of the streams of all ranks."""
        from tisim.gpu.step_run_file import state_rows

        assert self._core_graph is not None
        spans = [self._core_graph.span(row) for row in core.graph_spans().reshape(-1, 5)]
        of_lane: dict[tuple[int, str], list[Span]] = {lane: [] for lane in self.lanes}
        for span in spans:
            of_lane[span.lane, span.stream].append(span)
        ranks = self.graph.ranks
        states = state_rows([*of_lane.values()], core.now, ranks)
        return Streams(spans, states, ranks, core.now)

    def start(self, driver: Driver, hosts: Sequence[int], *, logs: bool = False) -> None:
        """Place the GPUs on the hosts of ranks, given by index, in a new simulation.

        `logs`: record when each node began and ended, for `streams`.

        Raises
        ------
        InputError
            If the platform has no GPUs, or a rank is not on the GPU with its number.
        """
        settings, graph = driver.settings, self.graph
        platform = settings.platform
        hardware = machine_of(platform)
        if hardware.gpu.name not in STEP_MACHINES:
            raise InputError(
                f"kernel times are known for {', '.join(STEP_MACHINES)}, not for "
                f"{hardware.gpu.name}",
                file=platform.file,
            )
        if len(hosts) != graph.ranks:
            raise InputError(
                f"is for {graph.ranks} ranks, but the trace has {len(hosts)}", file=graph.file
            )
        for rank, host in enumerate(hosts):
            if rank != host:
                raise InputError(
                    f"rank {rank} is on {settings.host_name(host)}; ranks that launch a graph must "
                    "be on the GPUs in order, one per GPU"
                )
        machine = replace(STEP_MACHINES[hardware.gpu.name], hardware=hardware)
        self._core_graph = core_graph = CoreGraph(graph, machine, np.arange(graph.ranks))
        traffic = Traffic(calls_of(graph), nodes_and_links(hardware))
        core_graph.share_links(traffic, traffic.loads(core_graph.lane_of, merge=False))
        core_graph.lane_blocks = [-1] * graph.ranks
        rows, shares = core_graph.call_rows(has_other_traffic=True)
        places = _places(core_graph, traffic, platform)
        reached, core_graph.links = core_graph.links, list(settings.routes.link_bandwidth)
        # Meetings achieve only a fraction of a link's bandwidth.
        shares = [
            [
                (places[link], channels * core_graph.links[places[link]] / reached[link])
                for link, channels in uses
            ]
            for uses in shares
        ]
        sources, destinations = zip(*map(self._like, core_graph.meetings), strict=True) or ((), ())
        programs = core_graph.core_programs(rows, shares)
        while not driver.core.add_gpus(programs, list(sources), list(destinations), logs):
            driver.add_route(*driver.core.missing_route())

    def _like(self, key: tuple[str | int, ...]) -> tuple[int, int]:
        """Return two members of a meeting, on different nodes if possible."""
        assert self._core_graph is not None
        first = 1 if isinstance(key[0], str) else len(key) - 2
        ranks = [int(rank) for rank in key[first:]]
        gpus = self._core_graph.machine.hardware.gpus
        other = next((r for r in ranks if r // gpus != ranks[0] // gpus), ranks[-1])
        return ranks[0], other

    def launch(self, core: Simulation) -> None:
        """Launch the block that a rank requests."""
        core_graph = self._core_graph
        assert core_graph is not None
        needed = core.needed_action()
        state = core.rank_state(needed.rank)
        words = needed.words[1:]
        times = words[1] if words[1:] else "1"
        if len(words) not in (1, 2) or not re.fullmatch("[1-9][0-9]{0,8}", times):
            raise InputError(
                "launch needs a block and, optionally, a number of launches below 1e9",
                file=state.file,
                line=state.line,
            )
        numbers = core_graph.block_numbers[state.rank]
        if words[0] not in numbers:
            raise InputError(
                f"{self.graph.file} has no block {words[0]!r}", file=state.file, line=state.line
            )
        core.launch(numbers[words[0]], int(times))

    def check(self, core: Simulation) -> None:
        """Raise an error if communication does not match, or an activity never ended."""
        if self._core_graph is None:
            return
        if wrong := core.graph_mismatch():
            raise self._core_graph.mismatch(wrong[0], wrong[1])
        if standing := core.graph_current_nodes():
            raise SimulationError(self._core_graph.deadlock(core.now, standing))


def _places(core_graph: CoreGraph, traffic: Traffic, platform: Platform) -> dict[int, int]:
    """Map each link that meetings load to the link of the platform."""
    machine = core_graph.machine.hardware
    numbers = {link.name: link.index for link in platform.links}
    places: dict[int, int] = {}
    for lane in range(2 * core_graph.graph.ranks):
        node, gpu = divmod(lane // 2, machine.gpus)
        inside = "pcie" if machine.pcie else "nvlink"
        places[lane] = numbers[f"node-{node}-{inside}-{gpu}_{_WAYS[lane % 2]}"]
    for number, link in core_graph.link_numbers.items():
        if traffic.is_uplink(number):
            way, leaf = divmod(number - 2 * traffic.interfaces, traffic.uplinks)
            places[link] = numbers[f"leaf-{leaf}-up_{_WAYS[way]}"]
        else:
            way, interface = divmod(number, traffic.interfaces)
            node, nic = divmod(interface, machine.nics)
            places[link] = numbers[f"node-{node}-nic-{nic}_{_WAYS[way]}"]
    return places
