"""Networks other than a star of equal nodes, and the programs that run on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.validation.programs import (
    KB,
    Program,
    collective,
    exchange,
    fan_out,
    incast,
    pattern,
    shift,
)
from benchmarks.validation.testbed import Layout
from tisim.traces.generate import Halo2D, Ring


@dataclass(frozen=True)
class Network:
    """A testbed: a layout, its number of nodes, and the number of ranks of its programs."""

    layout: Layout
    nodes: int
    ranks: int


#: The name is the group of the cases.
NETWORKS = {
    "trees": Network(Layout(far=3, trunk=0.5), 6, 6),
    "slow node": Network(Layout(slow={3: 0.4}), 6, 6),
    "latency": Network(Layout(delay=1e-3), 6, 6),  # 2 ms between two nodes
    "two ranks a node": Network(Layout(ranks=2), 4, 8),
}


def programs_on(name: str) -> list[Program]:
    """Return the programs of a network, as cases of its group."""
    return [replace(program, group=name) for program in _programs(NETWORKS[name].ranks)]


def _programs(ranks: int) -> Iterator[Program]:
    for size in (20 * KB, 300 * KB):
        yield incast(size, ranks)
        yield fan_out(size, ranks)
        yield shift(size, ranks)
        yield exchange(size, ranks, receive_first=True)
        for name in ("bcast", "scatter", "gather", "allreduce", "allgather", "alltoall"):
            yield collective(name, size, ranks)
    yield pattern("ring", Ring(ranks=ranks, nbytes=100 * KB, iterations=2), 100 * KB)
    for size in (20 * KB, 100 * KB):
        halo = Halo2D(ranks=ranks, nbytes=size, iterations=4, compute=2e6)
        yield pattern(f"halo2d of {size // KB} kB", halo, size)
