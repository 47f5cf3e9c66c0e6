"""Deprecated: the names of this module moved to `tisim.analysis.compare`."""

from __future__ import annotations

from tisim.deprecation import moved

_MOVED = {
    name: ("tisim.analysis.compare", name)
    for name in ("Comparison", "Difference", "RankDifference", "compare", "read_result")
}


def __getattr__(name: str) -> object:
    return moved("tisim.studies.sweep.comparison", name, _MOVED)
