"""The project's own MPI programs, recorded on few ranks, are as predicted on more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.unit.record.programs import EXAMPLES, Mpi, compile_program, need_fortran, record_program
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check


def recorded(
    name: str,
    sizes: Sequence[int],
    arguments: Sequence[str],
    mpi: Mpi,
    directory: Path,
) -> dict[int, Path]:
    """Traces of an example by their numbers of ranks."""
    source = EXAMPLES / name
    if source.suffix != ".c":
        need_fortran(mpi)
    program = compile_program(source, directory, mpi)
    files = {}
    for ranks in sizes:
        place = directory / str(ranks)
        place.mkdir()
        files[ranks] = record_program(program, place, mpi, *arguments, ranks=ranks).file
    return files


@pytest.mark.parametrize(
    ("name", "sizes", "targets", "arguments"),
    [
        # Grids of 3 x 3, 4 x 3 and 4 x 4, which have inner ranks.
        ("wavefront.c", (9, 12, 16), (20, 25), ("4", "1")),
        # More than 8 ranks: on fewer, a rank is its place in a node of 8, too.
        ("transpose.f90", (4, 8, 10), (12, 14), ()),
        ("conjugate_gradient.f90", (4, 6, 8), (10, 12), ()),
        ("heat.f", (4, 6, 8), (10, 12), ()),
    ][: campaign(2, 4)],
)
def test_examples_are_exact_at_the_next_two_sizes(
    name: str,
    sizes: tuple[int, ...],
    targets: tuple[int, ...],
    arguments: tuple[str, ...],
    one_mpi: Mpi,
    tmp_path: Path,
) -> None:
    targets = targets[: campaign(1, 2)]
    files = recorded(name, (*sizes, *targets), arguments, one_mpi, tmp_path)
    for target in targets:
        made = tmp_path / "made.tit"
        extrapolate([files[ranks] for ranks in sizes], target, made)
        found = check(made, files[target])
        assert found.calls >= 3 * target
        assert found.first is None


def test_nodes_of_8_that_no_size_exceeds_are_refused(one_mpi: Mpi, tmp_path: Path) -> None:
    """The key of `MPI_Comm_split` could begin anew with each 8 ranks."""
    files = recorded("transpose.f90", (4, 6, 8), (), one_mpi, tmp_path)
    with pytest.raises(InputError, match=r"comm_split.*rank; \(rank mod 8\); they differ at 12"):
        extrapolate(list(files.values()), 12, tmp_path / "made.tit")
