"""The project's own MPI programs, recorded on few ranks, are as predicted on more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.record.programs import EXAMPLES, Mpi, compile_program, need_fortran, record_program
from tisim.extrapolation import extrapolate
from tisim.extrapolation.checking import check


@pytest.mark.parametrize(
    ("name", "sizes", "target", "arguments"),
    [
        # Grids of 3 x 3, 4 x 3 and 4 x 4, which have inner ranks.
        ("wavefront.c", (9, 12, 16), 20, ("4", "1")),
        ("conjugate_gradient.f90", (3, 4, 6), 8, ()),
        ("heat.f", (3, 4, 6), 8, ()),
        ("transpose.f90", (2, 4, 6), 8, ()),
    ],
)
def test_examples_are_exact_at_the_next_size(
    name: str,
    sizes: tuple[int, ...],
    target: int,
    arguments: tuple[str, ...],
    mpi: Mpi,
    tmp_path: Path,
    cache: Path,
) -> None:
    source = EXAMPLES / name
    if source.suffix != ".c":
        need_fortran(mpi)
    program = compile_program(source, tmp_path, mpi)
    files = {}
    for ranks in (*sizes, target):
        directory = tmp_path / str(ranks)
        directory.mkdir()
        trace = record_program(program, directory, mpi, *arguments, ranks=ranks, cache=cache)
        files[ranks] = trace.file
    made = tmp_path / "made.tit"
    extrapolate([files[ranks] for ranks in sizes], target, made)
    found = check(made, files[target])
    assert found.calls >= 3 * target
    assert found.first is None
