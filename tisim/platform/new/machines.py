"""Well-known machines, built from public descriptions.

A description gives the topology, the bandwidth of cables and the clock of the processors. The
missing numbers, the latency of a cable and the speed of a program on a core, are assumptions
stated in the platform's file: calibrate the machine for predictions (`tisim calibrate`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tisim.errors import InputError
from tisim.platform.new import cluster, dragonfly, fat_tree, torus
from tisim.platform.platform import Platform
from tisim.support.similar import similar


@dataclass(frozen=True)
class Machine:
    """A machine and the source of its numbers.

    Attributes
    ----------
    summary
        One-line description.
    source
        Publisher and location of the description.
    assumed
        Assumptions about parameters missing from the description.
    build
        Builds the platform.
    """

    summary: str
    source: str
    assumed: str
    build: Callable[[], Platform]

    def comment(self, name: str) -> str:
        """Return the comment lines of the platform's file."""
        return f"{name}: {self.summary}.\nSource: {self.source}.\nAssumed: {self.assumed}."


_PEAK = "each core reaches the double-precision peak of its nominal clock"
_SUPERPOD = "NVIDIA DGX SuperPOD reference architecture (docs.nvidia.com/dgx-superpod)"

MACHINES = {
    "paravance": Machine(
        "Grid'5000 Rennes, 72 nodes of 2 x Xeon E5-2630 v3 (16 cores, 2.4 GHz), 10 Gb/s Ethernet",
        "www.grid5000.fr/w/Rennes:Hardware and github.com/grid5000/reference-repository",
        f"one switch that never blocks, cables of 10 us; {_PEAK} (16 flop a cycle)",
        lambda: cluster(
            72, bandwidth="10Gbps", latency="10us", speed="38.4Gf", cores=16, name="paravance"
        ),
    ),
    "gros": Machine(
        "Grid'5000 Nancy, 124 nodes of a Xeon Gold 5220 (18 cores, 2.2 GHz), 25 Gb/s Ethernet",
        "www.grid5000.fr/w/Nancy:Hardware and github.com/grid5000/reference-repository",
        f"one switch that never blocks, cables of 5 us; {_PEAK} (16 flop a cycle)",
        lambda: cluster(
            124, bandwidth="25Gbps", latency="5us", speed="35.2Gf", cores=18, name="gros"
        ),
    ),
    "superpod-h100": Machine(
        "a rail-optimised scalable unit of 32 DGX H100: 256 GPUs, a 400 Gb/s adapter each, 8 leaf "
        "switches of 64 ports, one for each rail; hosts 32 r to 32 r + 31 are the GPUs of rail r",
        _SUPERPOD,
        "cables of 0.5 us, 34 Tflop/s a GPU (double precision), no NVLinks inside nodes",
        lambda: fat_tree(
            256, radix=64, bandwidth="400Gbps", latency="500ns", speed="34Tf", name="gpu"
        ),
    ),
    "superpod-b200": Machine(
        "16 scalable units of 32 DGX B200: 4,096 GPUs, a 400 Gb/s adapter each, on a fat tree of "
        "three levels of switches of 64 ports that never blocks",
        _SUPERPOD,
        "cables of 0.5 us, 40 Tflop/s a GPU (double precision), no NVLinks inside nodes",
        lambda: fat_tree(
            4096, radix=64, bandwidth="400Gbps", latency="500ns", speed="40Tf", name="gpu"
        ),
    ),
    "perlmutter-cpu": Machine(
        "NERSC Perlmutter, 3,072 CPU nodes of 2 x EPYC 7763 (128 cores, 2.45 GHz) on a "
        "Slingshot 11 dragonfly: 12 groups of 16 switches, 16 nodes each, 200 Gb/s",
        "docs.nersc.gov/systems/perlmutter/architecture",
        f"cables of 0.3 us, as many between switches as uniform traffic fills; {_PEAK} (16 flop a "
        "cycle)",
        lambda: dragonfly(
            3072,
            groups=12,
            chassis=1,
            blades=16,
            hosts=16,
            bandwidth="200Gbps",
            latency="300ns",
            speed="39.2Gf",
            cores=128,
            name="nid",
        ),
    ),
    "bluegene-l": Machine(
        "IBM Blue Gene/L at Livermore, 65,536 nodes of 2 PowerPC 440 (700 MHz, 2.8 Gflop/s) on a "
        "3-D torus of 64 x 32 x 32, 1.4 Gb/s a link and direction",
        "G. Almasi et al., The Blue Gene/L supercomputer, Nucl. Phys. B (Proc. Suppl.), 2003",
        f"100 ns a hop; {_PEAK}",
        lambda: torus(
            65536,
            dims=(64, 32, 32),
            bandwidth="1.4Gbps",
            latency="100ns",
            speed="2.8Gf",
            cores=2,
            name="bgl",
        ),
    ),
}


def machine(name: str) -> Machine:
    """Return a machine by name; raise an `InputError` that lists similar names."""
    if name not in MACHINES:
        near = "".join(f"; did you mean {one}?" for one in similar(name, MACHINES))
        raise InputError(f"unknown machine {name!r}{near}; see 'tisim platform list'")
    return MACHINES[name]
