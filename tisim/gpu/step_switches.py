"""The part of communication between nodes that crosses the cables between switches.

Nodes that share their first switches reach the others over the cables up of these switches and
down to them, which are one link in each direction. What crosses them depends on which nodes of a
group send to which.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tisim.gpu.nccl_trees import double_tree

#: Communication patterns among the nodes of a group, in their order: each node sends to the next
#: one, the last to the first; along NCCL's two binary trees; as PAT does; each to all others; each
#: to the switches, which reduce.
PATTERNS: Final = ("ring", "tree", "pat", "all", "sharp")
#: Patterns that the collectives of graph files may have.
PATTERNS_OF: Final = {
    "all_reduce": ("ring", "tree", "sharp"),
    "all_gather": ("ring", "pat", "sharp"),
    "reduce_scatter": ("ring", "pat", "sharp"),
    "broadcast": ("ring",),
    "all_to_all": ("all",),
    "shift": ("ring",),
}
_Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]


def crossings(pattern: str, switches: tuple[int, ...]) -> dict[int, tuple[float, float]]:
    """The traffic from the first switches of a group's nodes to others, and from others to them.

    Parameters
    ----------
    pattern
        One of `PATTERNS`.
    switches
        By node of the group, in order: the number of its first switches.

    Returns
    -------
    dict
        By number of switches: out and in, as multiples of what the interfaces of a node carry that
        carries the most.
    """
    of_node = np.array(switches)
    found: dict[int, tuple[float, float]] = {}
    if pattern == "all":
        numbers, counts = np.unique(of_node, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            part = count * (len(switches) - count) / (len(switches) - 1)
            found[number] = part, part
    elif pattern == "sharp":
        # Switches that reduce send one sum up, and copy what comes down.
        elsewhere = 1.0 if len(set(switches)) > 1 else 0.0
        found = dict.fromkeys(switches, (elsewhere, elsewhere))
    else:
        senders, receivers, parts = _edges(pattern, len(switches))
        out, into = of_node[senders], of_node[receivers]
        far = out != into
        for number in np.unique(of_node).tolist():
            ends = (far & (out == number), far & (into == number))
            found[number] = float(parts[ends[0]].sum()), float(parts[ends[1]].sum())
    return {number: ways for number, ways in found.items() if any(ways)}


@lru_cache(maxsize=256)
def _edges(pattern: str, nodes: int) -> _Edges:
    """Senders, receivers, and the part of its bytes that the busiest node sends this way."""
    numbers = np.arange(nodes)
    if pattern == "ring":
        return numbers, (numbers + 1) % nodes, np.ones(nodes)
    if pattern == "pat":
        # A part for each distance from its owner, in steps whose lengths are its bits.
        steps = numbers[1:] & -numbers[1:]
        senders = np.tile(numbers, nodes.bit_length())
        lengths = np.repeat(1 << np.arange(nodes.bit_length()), nodes)
        shares = np.array([np.count_nonzero(steps == length) for length in 1 << np.arange(
            nodes.bit_length())])  # fmt: skip
        parts = np.repeat(shares / (nodes - 1), nodes)
        return senders, (senders - lengths) % nodes, parts
    # Half of the bytes on each tree, up and down.
    trees = [
        (child, above.parent)
        for tree in double_tree(nodes)
        for child, above in enumerate(tree)
        if above.parent >= 0
    ]
    children, above = np.array(trees, dtype=np.int64).T
    part = 0.5 if nodes == 2 else 0.25
    ends = np.concatenate([children, above]), np.concatenate([above, children])
    return *ends, np.full(len(ends[0]), part)
