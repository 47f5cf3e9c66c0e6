"""Figures from which NCCL estimates times, by version.

They are taken from NCCL's source, ``src/graph/tuning.cc``, ``topo.h`` and ``search.cc``, at the
tags v2.12.12, v2.18.3, v2.19.3, v2.20.5, v2.22.3, v2.23.4 and v2.30.7, converted to seconds and
bytes/s. A version applies up to the next one listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from tisim.errors import InputError

PROTOCOLS: Final = ("LL", "LL128", "Simple")


def _by_protocol(*microseconds: float) -> dict[str, float]:
    return {name: value * 1e-6 for name, value in zip(PROTOCOLS, microseconds, strict=True)}


@dataclass(frozen=True)
class Tables:
    """Latencies and bandwidths of one NCCL version.

    Attributes
    ----------
    base
        Latency of a call, by algorithm and protocol.
    hop
        Latency of a step, by link (NVLink, PCIe or network), algorithm and protocol.
    nvls
        Latency of NVLS within a node.
    ll_share
        Fraction of a ring's bandwidth that LL achieves.
    nvlink
        Bandwidth of an NVLink, by compute capability.
    speeds, wide_speeds, widest_speeds
        Channel bandwidths that the search for rings within a node tries: up to SM80, from SM90 and
        from SM100.
    max_bandwidth
        Upper bound of the bandwidth of a ring or tree of a node, by capability.
    collnet
        Latency of a hop on NVLinks and on the network, by algorithm of reducing switches.
    pat
        Whether this version has PAT.
    tree_shrinks
        Whether the chunks of trees with Simple depend on the size.
    """

    base: Mapping[str, Mapping[str, float]]
    hop: Mapping[tuple[str, str], Mapping[str, float]]
    nvls: float
    ll_share: float
    nvlink: Mapping[int, float]
    speeds: tuple[float, ...]
    wide_speeds: tuple[float, ...]
    widest_speeds: tuple[float, ...]
    max_bandwidth: Mapping[int, float]
    collnet: Mapping[str, tuple[float, float]]
    pat: bool = False
    tree_shrinks: bool = False

    def speeds_of(self, capability: int) -> tuple[float, ...]:
        """Return the channel bandwidths that the search within a node tries."""
        if capability >= 90:
            return self.widest_speeds if capability >= 100 else self.wide_speeds
        return self.speeds


_2_23 = Tables(
    base={"tree": _by_protocol(6.8, 14, 8.4), "ring": _by_protocol(6.6, 14, 8.4)},
    hop={
        ("nvlink", "tree"): _by_protocol(0.6, 1.25, 4.0),
        ("nvlink", "ring"): _by_protocol(0.6, 1.9, 3.4),
        ("pcie", "tree"): _by_protocol(1.0, 1.9, 4.0),
        ("pcie", "ring"): _by_protocol(1.0, 2.5, 5.7),
        ("network", "tree"): _by_protocol(5.0, 8.5, 14),
        ("network", "ring"): _by_protocol(2.7, 4.0, 14),
    },
    nvls=25e-6,
    ll_share=0.5,
    nvlink={70: 20e9, 80: 20e9, 90: 20.6e9, 100: 40.1e9},
    speeds=(40e9, 30e9, 20e9, 18e9, 15e9, 12e9, 10e9, 9e9, 7e9, 6e9, 5e9, 4e9, 3e9),
    wide_speeds=(60e9, 50e9, 40e9, 30e9, 24e9, 20e9, 15e9, 12e9, 11e9, 6e9, 3e9),
    widest_speeds=(90e9, 80e9, 70e9, 60e9, 50e9, 45e9, 40e9, 30e9, 24e9, 20e9, 19e9, 18e9),
    max_bandwidth={},
    collnet={"collnet_direct": (3.7e-6, 31e-6), "collnet_chain": (2.8e-6, 30e-6)},
    pat=True,
)
# Before 2.23 a tree with Simple has no base latency and, except in 2.18, 28 us per hop.
_SLOW_TREES = {
    **_2_23.hop,
    ("nvlink", "tree"): _by_protocol(0.6, 1.25, 28),
    ("pcie", "tree"): _by_protocol(1.0, 1.9, 28),
    ("network", "tree"): _by_protocol(5.0, 8.5, 28),
}
_2_22 = replace(
    _2_23,
    base={"tree": _by_protocol(6.8, 14, 0), "ring": _by_protocol(6.6, 14, 8.4)},
    hop=_SLOW_TREES,
    pat=False,
)
_2_20 = replace(_2_22, nvls=23e-6, ll_share=0.25)
_2_19 = replace(_2_20, nvlink={**_2_23.nvlink, 90: 20e9}, tree_shrinks=True)
_2_18 = replace(
    _2_19,
    hop={**_2_23.hop, ("pcie", "tree"): _by_protocol(1.0, 1.9, 6)},
    wide_speeds=(60e9, 40e9, 30e9, 24e9, 20e9, 15e9, 12e9, 6e9, 3e9),
    collnet={"collnet_direct": (8e-6, 10.7e-6), "collnet_chain": (4.75e-6, 14e-6)},
)
_2_12 = replace(
    _2_18,
    base={"tree": _by_protocol(4.4, 4.4, 0), "ring": _by_protocol(3.6, 10, 8.4)},
    hop={
        **_SLOW_TREES,
        ("nvlink", "tree"): _by_protocol(0.52, 1.25, 28),
        ("nvlink", "ring"): _by_protocol(0.47, 1.9, 3.4),
    },
    nvlink={70: 22e9, 80: 22e9, 90: 22e9, 100: 40.1e9},
    speeds=(44e9, 30e9, 22e9, 18e9, 15e9, 12e9, 10e9, 9e9, 7e9, 6e9, 5e9, 4e9, 3e9),
    wide_speeds=(66e9, 33e9, 24e9, 20e9, 15e9, 12e9, 6e9, 3e9),
    max_bandwidth={80: 235e9, 90: 370e9},
    collnet={},
)

#: Tables by version, newest last.
VERSIONS: Final[Mapping[str, Tables]] = {
    "2.12": _2_12,
    "2.18": _2_18,
    "2.19": _2_19,
    "2.20": _2_20,
    "2.22": _2_22,
    "2.23": _2_23,
}
NEWEST: Final = "2.30"

#: Largest bandwidth of LL on one node, by capability; on two and on more nodes (Intel).
MAX_LL_BANDWIDTH: Final = {70: 39e9, 80: 87.7e9, 90: 141e9, 100: 282e9}
MAX_INTER_NODE_LL_BANDWIDTH: Final = (39e9, 20.4e9)
#: Largest bandwidth of a channel on one, two and more nodes, by capability.
MAX_CHANNEL_BANDWIDTH: Final[Mapping[str, Mapping[int, tuple[float, float, float]]]] = {
    "ring LL128": {
        70: (20e9, 20e9, 20e9),
        80: (20e9, 20e9, 20e9),
        90: (36.7e9, 36.7e9, 36.7e9),
        100: (40e9, 40e9, 40e9),
    },
    "tree LL128": {
        70: (20e9, 20e9, 20e9),
        80: (20e9, 20e9, 20e9),
        90: (36.7e9, 36.7e9, 29e9),
        100: (55.6e9, 31.67e9, 20e9),
    },
    "tree": {
        70: (26.5e9, 18.5e9, 10e9),
        80: (24e9, 23.6e9, 17.8e9),
        90: (38.7e9, 41.4e9, 36e9),
        100: (70e9, 42.8e9, 24e9),
    },
}
NVLS_EFFICIENCY: Final = {90: 0.85, 100: 0.74}
#: NVLS across nodes whose switches reduce: network latency.
NVLS_NETWORK_HOP: Final = 18e-6
#: Reducing switches: seconds of a GPU's turn within a node; the fraction of the bandwidth that SM90
#: and later achieve, and the fraction of interface bandwidth that gathers achieve.
COLLNET_TURN: Final = 0.4e-6
COLLNET_SHARE: Final = 0.85
COLLNET_GATHER_SHARE: Final = 0.9
#: A tree across nodes: latency of a hop, and bandwidth of a channel on one, two and more nodes.
NVLS_TREE_HOP: Final = 20.9e-6
MAX_NVLS_TREE_BANDWIDTH: Final = {90: (0.0, 57.7e9, 45.5e9), 100: (0.0, 96e9, 80e9)}
#: Network between nodes: channel bandwidths that the search tries, by capability.
NETWORK_SPEEDS: Final = {
    80: (48e9, 30e9, 28e9, 24e9, 20e9, 18e9, 15e9, 12e9, 10e9, 9e9, 7e9, 6e9, 5e9, 4e9, 3e9),
    90: (48e9, 45e9, 42e9, 40e9, 30e9, 24e9, 22e9, 20e9, 17.5e9, 15e9, 12e9, 6e9, 3e9),
    100: (96e9, 86e9, 80e9, 48e9, 45.1e9, 42e9, 40e9, 30e9, 24e9, 22e9, 20e9, 17.5e9, 15e9),
}
#: PAT: latency per call, and per rank; the fraction of the bandwidth of rings.
PAT_BASE: Final = 8e-6
PAT_RANK: Final = 2.8e-6
PAT_SHARE: Final = 0.75
#: Factors on the bandwidth of trees, starting at messages of 64 bytes, by doubling.
TREE_CORRECTION: Final[Mapping[str, tuple[float, ...]]] = {
    "LL": (
        *(1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5),
        *(0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    "LL128": (
        *(1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6),
        *(0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0),
    ),
    "Simple": (
        *(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5),
        *(0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9),
    ),
}


@lru_cache
def tables(version: str) -> Tables:
    """Return the figures of a version such as ``"2.19"`` or ``"2.21.5"``."""
    parts = version.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(f"the NCCL version must be a number such as {NEWEST}, not {version!r}")
    key = (int(parts[0]), int(parts[1]))
    known = [name for name in VERSIONS if tuple(map(int, name.split("."))) <= key]
    if not known or key[0] != 2:
        oldest = next(iter(VERSIONS))
        raise InputError(f"NCCL {version} is not known; known are those from {oldest} to {NEWEST}")
    return VERSIONS[known[-1]]
