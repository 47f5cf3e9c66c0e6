"""Call paths: the functions that were entered around a call of MPI, and not left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePath

from tisim.traces.call_sites import BETWEEN

#: Longer paths lose their outermost functions, as those that are recorded do.
MOST_FUNCTIONS = 128
# Bytes of the name of one function: C++ has some that are longer.
_LONGEST_NAME = 400


def function_name(name: str, file: str | None, line: int) -> str:
    """How a call path names a function.

    Parameters
    ----------
    name
        As the other tool names it.
    file, line
        Where it begins in the source; None or 0: that is not known.

    Returns
    -------
    str
        Such as ``solve (solver.c:40)``.
    """
    # Nothing in a name separates functions, or ends a line.
    printed = "".join(c if c.isprintable() else "?" for c in name).replace(BETWEEN, "> ")
    if len(printed.encode()) > _LONGEST_NAME:
        printed = printed.encode()[:_LONGEST_NAME].decode(errors="ignore") + "..."
    base = PurePath(file).name if file else ""
    if not base or not line or not base.isprintable() or len(base.encode()) > _LONGEST_NAME:
        return printed or "?"
    return f"{printed} ({base}:{line})"


class CallPaths:
    """Numbers the call paths of one rank that calls were made on.

    Parameters
    ----------
    tree
        The parent and the region of each node; node 0 is outside of all functions.
    functions
        How paths name each region.
    """

    def __init__(self, tree: Sequence[tuple[int, int]], functions: Mapping[int, str]) -> None:
        self._tree = tree
        self._functions = functions
        self._numbers: dict[int, int] = {}
        self._paths: list[str] = []

    def number(self, node: int) -> int:
        """The number of the path that ends at a node; -1: it is outside of all functions."""
        if not node:
            return -1
        if node not in self._numbers:
            self._numbers[node] = len(self._paths)
            innermost = list(islice(self._outwards(node), MOST_FUNCTIONS))
            self._paths.append(BETWEEN.join(reversed(innermost)))
        return self._numbers[node]

    def _outwards(self, node: int) -> Iterator[str]:
        while node:
            node, region = self._tree[node]
            yield self._functions.get(region, "?")

    @property
    def paths(self) -> list[str]:
        """The paths in the order of their numbers."""
        return self._paths
