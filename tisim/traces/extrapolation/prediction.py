"""Extrapolation of a program to more ranks than were recorded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.extrapolation.findings import FittedVolume, Parameter
from tisim.traces.extrapolation.pieces import (
    ACTIONS,
    ShownLimits,
    has_accesses,
    shown_limits,
    whole_accesses,
)
from tisim.traces.extrapolation.recorded import RecordedTrace, read_trace
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.extrapolation.rewriting import AS_DISTANCES, Rewriting, has_offsets


@dataclass(frozen=True)
class Extrapolation:
    """An extrapolation and how it was derived.

    Attributes
    ----------
    ranks
        The number of ranks.
    sizes
        The numbers of ranks of the traces.
    classes
        Number of classes of ranks.
    grid
        The process grid.
    parameters
        Every parameter and its function.
    volumes
        Every fitted volume; empty if all volumes are exact.
    approximate
        The actions with data-dependent numbers, and how these were approximated.
    largest_accesses
        The largest accesses to files by action, in bytes, if larger ones are split.
    """

    ranks: int
    sizes: tuple[int, ...]
    classes: int
    grid: str
    parameters: tuple[Parameter, ...]
    volumes: tuple[FittedVolume, ...]
    approximate: Mapping[str, str]
    largest_accesses: Mapping[str, int] = field(default_factory=dict)


def extrapolate(
    traces: Sequence[str | os.PathLike[str]],
    ranks: int,
    output: str | os.PathLike[str],
    *,
    prefer: Sequence[str] = (),
    scaling: str = "auto",
    approximate: Sequence[str] = (),
    iterations: Mapping[str, int] | None = None,
    max_access: int | None = None,
) -> Extrapolation:
    """Write the trace that a program would produce on more ranks.

    Parameters
    ----------
    traces
        Traces of the program on three or more numbers of ranks.
    ranks
        The requested number of ranks.
    output
        The packed trace to write.
    prefer
        Families of functions that are preferred if several explain the traces.
    scaling
        Scaling of fitted volumes: ``"strong"`` if all ranks share one problem, ``"weak"`` if each
        has its own, or ``"auto"``.
    approximate
        Actions whose numbers depend on data, such as the ``alltoallv`` of a sort. Numbers for
        ranks are drawn from a distribution, or all are the mean (``"alltoallv:means"``); the
        others are means. The trace records this.
    iterations
        Iterations of loops, by their paths as shown in messages and parameters (``"12"``,
        ``"12.3"``), which override those of the traces; for programs that were recorded with few
        iterations.
    max_access
        The largest access to a file, in bytes. Larger ones are split into pieces of this size, and
        pieces of this size in the traces are merged. None infers it: the largest access of the
        traces, if another one continues it.

    Raises
    ------
    InputError
        When no function explains a part of the program, or several that differ at `ranks` do, or
        when a name in `prefer` matches nothing.
    """
    recorded = [read_trace(path) for path in traces]
    arguments = (tuple(prefer), scaling, tuple(approximate), iterations)
    refused: InputError | None = None
    for limits, rewriting in _rewritings(recorded, max_access):
        try:
            if rewriting is None:
                return _extrapolate(recorded, ranks, output, *arguments)
            with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
                paths = rewriting.write(recorded, Path(directory))
                rewritten = Path(directory) / "made.tit"
                made = _extrapolate([*map(read_trace, paths)], ranks, rewritten, *arguments)
                rewriting.write_back(rewritten, output)
            return replace(made, largest_accesses=limits)
        except InputError as error:
            refused = refused or error  # the error of the first rewriting is the most informative
    assert refused is not None
    raise refused


def _rewritings(
    traces: Sequence[RecordedTrace], max_access: int | None
) -> list[tuple[Mapping[str, int], Rewriting | None]]:
    """Return the rewritings in which to fit the traces, in order of trial, each with its largest
    accesses.
    """
    with_accesses = [trace for trace in traces if has_accesses(trace) and not trace.legacy]
    if max_access is not None:
        if max_access < 1:
            raise InputError(f"the largest access must be at least one byte, not {max_access}")
        if not with_accesses:
            raise InputError(
                "the traces contain no file accesses that could be split: no "
                f"{', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}"
            )
        shown = ShownLimits(dict.fromkeys(ACTIONS, max_access), has_rests=True)
    else:
        shown = shown_limits(with_accesses)
    has_distances = with_accesses and all(has_offsets(trace.trace) for trace in traces)
    whole = whole_accesses(shown.limits)
    as_they_are: list[tuple[Mapping[str, int], Rewriting | None]] = [({}, None)]
    split: list[tuple[Mapping[str, int], Rewriting | None]] = [(shown.limits, whole)]
    if has_distances:
        as_they_are.append(({}, AS_DISTANCES))
        split.append((shown.limits, whole.then(AS_DISTANCES)))
    if not shown.limits:
        return as_they_are
    if max_access is not None:
        return split
    return split + as_they_are if shown.has_rests else as_they_are + split


def _extrapolate(
    traces: Sequence[RecordedTrace],
    ranks: int,
    output: str | os.PathLike[str],
    prefer: Sequence[str],
    scaling: str,
    approximate: Sequence[str],
    iterations: Mapping[str, int] | None,
) -> Extrapolation:
    recordings = Recordings.of(traces, scaling=scaling, approximate=approximate)
    found = recordings.explain(ranks, prefer, iterations)
    if unknown := [name for name in prefer if name not in found.findings.known]:
        raise InputError(
            f"--prefer {unknown[0]!r} matches nothing at {ranks:,} ranks: no process grid of these "
            "numbers of ranks, and no function or condition that explains a part of the program, "
            "has this name; omit it, or use a name from the message about several candidates"
        )
    count = recordings.write(found, ranks, output)
    return Extrapolation(
        ranks,
        recordings.sizes,
        count,
        found.grid.name,
        tuple(found.findings.parameters),
        tuple(found.findings.volumes),
        recordings.approximation.how,
    )
