"""Call paths of single calls of a recorded trace."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.call_sites import modules_of, named_paths, short_path
from tisim.traces.recorded import lines_without_numbers

if TYPE_CHECKING:
    from tisim.traces.trace import Trace


def call_paths(trace: Trace, wanted: Mapping[int, Set[int]]) -> dict[tuple[int, int], str]:
    """Return the call paths of some calls, such as ``main (ring.c:12) > pass_on (ring.c:40)``, by
    rank and line. Only traces recorded with call sites have any.
    """
    if "call_site" not in trace.attributes:
        return {}
    paths = {
        (rank, line): path
        for rank, lines in wanted.items()
        for line, path in recorded_paths(trace, rank, max(lines, default=0))
        if line in lines
    }
    names = names_of_paths(trace, {*paths.values()})
    return {place: short_path(names[path]) for place, path in paths.items()}


def recorded_paths(trace: Trace, rank: int, last: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield line and call path, as the recorder wrote it, of each call of a rank that has one.
    Stops after the line `last`, if given.
    """
    for line, attributes in trace.attributes_of(rank):
        if last is not None and line > last:
            return
        if "call_site" in attributes:
            yield line, str(attributes["call_site"])


def names_of_paths(trace: Trace, paths: Collection[str]) -> dict[str, str]:
    """Resolve recorded call paths to functions and source lines, where these can be found."""
    return named_paths(paths, modules_of(_comments(trace)))


def call_paths_of(trace: str, wanted: Mapping[int, Set[int]]) -> dict[tuple[int, int], str]:
    """`call_paths` of a trace given by name, if it exists; only packed files have call sites."""
    from tisim.traces.trace import Trace

    if not wanted or Path(trace).suffix != ".tit" or not Path(trace).is_file():
        return {}
    try:
        opened = Trace.open(trace)
        known = {rank: lines for rank, lines in wanted.items() if rank < opened.ranks}
        return call_paths(opened, known)
    except InputError:
        return {}


def _comments(trace: Trace) -> list[str]:
    """Return the lines of the packed file that name modules; none if it is inside another file."""
    source = trace.source
    if isinstance(source, str | os.PathLike) and Path(source).is_file():
        return lines_without_numbers(Path(source))
    return []
