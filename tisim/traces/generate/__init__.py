"""Synthetic traces for scale studies: patterns of communication and I/O of any size.

>>> from tisim.traces.generate import Halo3D
>>> Halo3D(ranks=8, iterations=100, allreduce=8).write("halo.tit")  # doctest: +SKIP
"""

from tisim.traces.generate.pattern import Pattern
from tisim.traces.generate.patterns import (
    Halo2D,
    Halo3D,
    Io,
    Ocean,
    Refined,
    Ring,
    RingAllreduce,
    Sparse,
    Transpose,
    TreeAllreduce,
    Wavefront,
)

#: The name of each pattern on the command line.
PATTERNS: dict[str, type[Pattern]] = {
    "ring": Ring,
    "halo2d": Halo2D,
    "halo3d": Halo3D,
    "wavefront": Wavefront,
    "transpose": Transpose,
    "ring-allreduce": RingAllreduce,
    "tree-allreduce": TreeAllreduce,
    "sparse": Sparse,
    "ocean": Ocean,
    "refined": Refined,
    "io": Io,
}

__all__ = [
    "PATTERNS",
    "Halo2D",
    "Halo3D",
    "Io",
    "Ocean",
    "Pattern",
    "Refined",
    "Ring",
    "RingAllreduce",
    "Sparse",
    "Transpose",
    "TreeAllreduce",
    "Wavefront",
]
