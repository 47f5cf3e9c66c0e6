"""Traces without a machine, for scale studies: patterns of communication and I/O of any size.

>>> from tisim.traces.generate import Halo3D
>>> Halo3D(ranks=8, iterations=100, allreduce=8).write("halo.tit")  # doctest: +SKIP
"""

from tisim.traces.generate.halo import Halo2D, Halo3D
from tisim.traces.generate.io import Io
from tisim.traces.generate.pattern import Pattern
from tisim.traces.generate.ring import Ring
from tisim.traces.generate.ring_allreduce import RingAllreduce
from tisim.traces.generate.sparse import Sparse
from tisim.traces.generate.transpose import Transpose
from tisim.traces.generate.tree_allreduce import TreeAllreduce
from tisim.traces.generate.wavefront import Wavefront

#: What the command line calls each pattern.
PATTERNS: dict[str, type[Pattern]] = {
    "ring": Ring,
    "halo2d": Halo2D,
    "halo3d": Halo3D,
    "wavefront": Wavefront,
    "transpose": Transpose,
    "ring-allreduce": RingAllreduce,
    "tree-allreduce": TreeAllreduce,
    "sparse": Sparse,
    "io": Io,
}

__all__ = [
    "PATTERNS",
    "Halo2D",
    "Halo3D",
    "Io",
    "Pattern",
    "Ring",
    "RingAllreduce",
    "Sparse",
    "Transpose",
    "TreeAllreduce",
    "Wavefront",
]
