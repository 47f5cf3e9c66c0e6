"""Platforms made from a few numbers: a cluster, a fat tree, a torus or a dragonfly.

Each function takes the number of hosts and what one link and one core do, and chooses the sizes of
the topology that the caller leaves open. A number of hosts that does not fit is refused with the
nearest that does. `calibrated` names a platform that `tisim calibrate` has written: its options
are taken over, and its numbers stand in for those not given.
"""

from tisim.platform.new.platforms import cluster, dragonfly, fat_tree, torus

__all__ = ["cluster", "dragonfly", "fat_tree", "torus"]
