"""Extrapolating a program to more ranks than were recorded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.extrapolation.findings import FittedVolume, Parameter
from tisim.traces.extrapolation.offsets import write_distances, write_offsets
from tisim.traces.extrapolation.recordings import Recordings


@dataclass(frozen=True)
class Extrapolation:
    """An extrapolation and its method.

    Attributes
    ----------
    ranks
        The number of ranks.
    sizes
        The numbers of ranks of the traces.
    classes
        How many classes of ranks there are.
    grid
        The process grid.
    parameters
        Every parameter and its function.
    volumes
        Every volume that was fitted; none where all are exact.
    approximate
        The actions whose numbers are data, and what stands for these.
    """

    ranks: int
    sizes: tuple[int, ...]
    classes: int
    grid: str
    parameters: tuple[Parameter, ...]
    volumes: tuple[FittedVolume, ...]
    approximate: Mapping[str, str]


def extrapolate(
    traces: Sequence[str | os.PathLike[str]],
    ranks: int,
    output: str | os.PathLike[str],
    *,
    prefer: Sequence[str] = (),
    scaling: str = "auto",
    approximate: Sequence[str] = (),
    iterations: Mapping[str, int] | None = None,
) -> Extrapolation:
    """Write the trace that a program would leave on more ranks.

    Parameters
    ----------
    traces
        Traces of the program on three or more numbers of ranks.
    ranks
        The number of ranks that is asked for.
    output
        The packed trace to write.
    prefer
        Families of functions that are taken where several explain what was seen.
    scaling
        How fitted volumes scale: ``"strong"``, where all ranks share one problem, ``"weak"``, where
        each has its own, or ``"auto"``.
    approximate
        Actions whose numbers are data, such as the ``alltoallv`` of a sort. Numbers for ranks are
        drawn from a distribution, or all are the mean (``"alltoallv:means"``); the others are
        means. The trace says so.
    iterations
        How often loops are repeated, by their paths as messages and parameters have them
        (``"12"``, ``"12.3"``), whatever the traces say; for programs that were recorded with few
        iterations.

    Raises
    ------
    InputError
        When a part of the program is explained by no function, or by several that differ at
        `ranks`, or nothing is called as in `prefer`.
    """
    arguments = (tuple(prefer), scaling, tuple(approximate), iterations)
    try:
        return _extrapolate(traces, ranks, output, *arguments)
    except InputError:
        with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
            apart = [Path(directory) / f"{at}.tit" for at in range(len(traces))]
            if not all(map(write_distances, traces, apart)):
                raise
            distances = Path(directory) / "made.tit"
            try:
                made = _extrapolate(apart, ranks, distances, *arguments)
            except InputError:
                made = None
            if made is None:  # what is wrong with the traces as they are is known better
                raise
            write_offsets(distances, output)
        return made


def _extrapolate(
    traces: Sequence[str | os.PathLike[str]],
    ranks: int,
    output: str | os.PathLike[str],
    prefer: Sequence[str],
    scaling: str,
    approximate: Sequence[str],
    iterations: Mapping[str, int] | None,
) -> Extrapolation:
    recordings = Recordings.read(traces, scaling=scaling, approximate=approximate)
    found = recordings.explained(ranks, prefer, iterations)
    if unknown := [name for name in prefer if name not in found.findings.known]:
        raise InputError(
            f"--prefer {unknown[0]!r} chooses nothing at {ranks:,} ranks: no process grid of these "
            "numbers of ranks, and no function or condition that explains a part of the program, "
            "is called so; leave it out, or take a name from the message about several of them"
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
