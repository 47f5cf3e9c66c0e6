"""Extrapolating a program to more ranks than were recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tisim.errors import InputError
from tisim.extrapolation.findings import FittedVolume, Parameter
from tisim.extrapolation.hypotheses import explain
from tisim.extrapolation.program import read_trace
from tisim.extrapolation.target import write_program
from tisim.extrapolation.vector_calls import Approximation
from tisim.extrapolation.volumes import SCALINGS

FEWEST_SIZES = 3


@dataclass(frozen=True)
class Extrapolation:
    """What was extrapolated, and how.

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
        The actions whose numbers are means.
    """

    ranks: int
    sizes: tuple[int, ...]
    classes: int
    grid: str
    parameters: tuple[Parameter, ...]
    volumes: tuple[FittedVolume, ...]
    approximate: tuple[str, ...]


def extrapolate(
    traces: Sequence[str | os.PathLike[str]],
    ranks: int,
    output: str | os.PathLike[str],
    *,
    prefer: Sequence[str] = (),
    scaling: str = "auto",
    approximate: Sequence[str] = (),
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
        Actions whose numbers are data, such as the ``alltoallv`` of a sort: their means are taken.
        The trace says so in a comment.

    Raises
    ------
    InputError
        When a part of the program is explained by no function, or by several that differ at
        `ranks`.
    """
    recorded = [read_trace(path, size) for size, path in enumerate(traces)]
    sizes = [trace.ranks for trace in recorded]
    if len(set(sizes)) < FEWEST_SIZES:
        shown = ", ".join(map(str, sorted(set(sizes))))
        raise InputError(
            f"traces of {FEWEST_SIZES} numbers of ranks or more are needed, not of {shown}: two "
            "determine a function, and another one must confirm it"
        )
    if ranks < 1:
        raise InputError(f"a trace has a rank or more, not {ranks}")
    if len({trace.legacy for trace in recorded}) > 1:
        raise InputError("the traces are of different dialects; record them all in one")
    if scaling not in SCALINGS:
        raise InputError(f"volumes scale as {', '.join(SCALINGS)}, not as {scaling!r}")
    # Other volumes are parameters like any other, and exact.
    fit_volumes = any(trace.has_measured_volumes for trace in recorded)
    approximation = Approximation(frozenset(approximate))
    classes = [made for trace in recorded for made in trace.classes(fit_volumes, approximation)]
    unknown = approximation.actions - {c.shape.action for made in classes for c in made.calls}
    if unknown:
        raise InputError(f"the traces have no {', '.join(sorted(unknown))} to approximate")
    found = explain(classes, sizes, ranks, prefer, scaling)
    precision = "mean" if fit_volumes else ""
    comments = [f"# approximate: {action}, means" for action in sorted(approximation.actions)]
    count = write_program(found.program, ranks, output, recorded[0].legacy, precision, comments)
    return Extrapolation(
        ranks,
        tuple(sizes),
        count,
        found.grid.name,
        tuple(found.findings.parameters),
        tuple(found.findings.volumes),
        tuple(sorted(approximation.actions)),
    )
