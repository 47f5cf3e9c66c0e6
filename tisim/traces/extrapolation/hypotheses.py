"""Search for the process grid of a program: the simplest one that explains all of it.

A line explains rings, trees and butterflies. Only if a line fails are grids of two dimensions
tried, then of three and of four. Grids of equal dimension that explain everything must agree at
the target.
"""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.extrapolation.findings import Findings
from tisim.traces.extrapolation.grids import Grid, Place, known_grids
from tisim.traces.extrapolation.model import Model
from tisim.traces.extrapolation.next_sizes import (
    candidate_sizes,
    distinguishing_size,
    example_text,
    too_small,
)
from tisim.traces.extrapolation.nodes import identify_stages
from tisim.traces.extrapolation.recorded import ClassProgram
from tisim.traces.extrapolation.skeleton import merged
from tisim.traces.extrapolation.target import TargetNode, write_program
from tisim.traces.extrapolation.volumes import FEWEST_SIZES


@dataclass(frozen=True)
class Explanation:
    """A program at the target, and its derivation."""

    grid: Grid
    program: list[TargetNode]
    findings: Findings


def explain(
    classes: Sequence[ClassProgram],
    sizes: Sequence[int],
    target: int,
    prefer: Sequence[str],
    scaling: str,
    iterations: Mapping[str, int],
) -> Explanation:
    """Find the program at the target. Loops in `iterations`, by path, are repeated that often,
    regardless of the traces. Raises InputError when no grid explains everything, or several do
    that differ.
    """
    line, *grids = known_grids(sizes, target)
    by_dimensions: dict[int, list[Grid]] = {}
    for grid in grids:
        by_dimensions.setdefault(len(grid.sides(target) or ()), []).append(grid)
    failed: list[tuple[int, int, InputError]] = []
    in_turn = [[line], *(by_dimensions[count] for count in sorted(by_dimensions))]
    preferred = [grid for grid in (line, *grids) if grid.name in prefer]
    for alike in [preferred] if preferred else in_turn:
        found: list[Explanation] = []
        for grid in alike:
            used = [line] if grid is line else [line, grid]
            places = [Place(size, used) for size in sizes]
            model = Model(places, Place(target, used), prefer, scaling, iterations=iterations)
            try:
                nodes = identify_stages(merged(classes, places))
                program = model.program(nodes)
                if model.findings.ambiguous and model.numbers.found_slopes:
                    slopes = frozenset(model.numbers.found_slopes)
                    model = Model(places, Place(target, used), prefer, scaling, slopes, iterations)
                    program = model.program(nodes)
            except InputError as error:
                refused = type(error)(f"on {grid.name}: {error.message}")
                dimensions = len(grid.sides(target) or ())
                failed.append((len(model.findings.parameters), dimensions, refused))
                continue
            _check_loops(iterations, model.findings)
            if model.findings.ambiguous:
                raise InputError(f"on {grid.name}: {model.findings.ambiguous[0]}")
            model.findings.known.update(grid.name for grid in preferred)
            found.append(Explanation(grid, program, model.findings))
        if found:
            return _agreed(found, sizes, target)
    _, dimensions, refused = max(failed, key=lambda entry: entry[0])
    if small := too_small(sizes, target, max(dimensions, 2)):
        raise type(refused)(f"{refused.message}; {small}")
    if len(sizes) == FEWEST_SIZES:
        wanted = " and ".join(f"{size:,}" for size in islice(candidate_sizes(sizes, target), 2))
        if wanted:
            raise type(refused)(
                f"{refused.message}; of {FEWEST_SIZES} sizes, two determine a function and one "
                f"confirms it, and further sizes explain more: record {wanted} ranks too"
            )
    raise refused


def _check_loops(iterations: Mapping[str, int], findings: Findings) -> None:
    unknown = [path for path in iterations if path not in findings.loops]
    if not unknown:
        return
    known = ", ".join(f"{path} ({times} times)" for path, times in findings.loops.items())
    raise InputError(
        f"the program has no loop {unknown[0]}; its loops are {known}"
        if known
        else f"the program has no loop {unknown[0]}, and no other loops"
    )


def _agreed(found: Sequence[Explanation], sizes: Sequence[int], target: int) -> Explanation:
    first = found[0]
    if found[1:]:
        with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
            files = [Path(directory) / f"{number}.tit" for number in range(len(found))]
            for explanation, file in zip(found, files, strict=True):
                write_program(explanation.program, target, file)
            for other, file in zip(found[1:], files[1:], strict=True):
                if not filecmp.cmp(files[0], file, shallow=False):
                    example = distinguishing_size(
                        sizes, target, [first.grid.sides, other.grid.sides]
                    )
                    raise InputError(
                        f"the process grid could be {first.grid.name} or {other.grid.name}, which "
                        f"differ at {target} ranks; record another size that distinguishes "
                        f"them{example_text(example)}, or choose one with --prefer"
                    )
    return first
