"""What a refusal says of the sizes that are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_generated_patterns import generated
from tisim.traces.extrapolation.next_sizes import further_sizes, telling_size, undecided_grids


@pytest.mark.parametrize(
    ("sizes", "target", "found"),
    [
        ((4, 8, 16), 128, [32, 64]),
        ((4, 16, 64), 128, [32, 8]),
        ((4, 9, 16), 50, [25, 36, 49]),
        ((8, 64, 27), 200, [125]),
        ((6, 12, 24), 40, [30, 36, 18]),
    ],
)
def test_further_sizes_are_like_the_recorded_ones(
    sizes: tuple[int, ...], target: int, found: list[int]
) -> None:
    assert list(further_sizes(sizes, target)) == found


def test_a_size_that_tells_functions_apart() -> None:
    both = [lambda p: p, lambda p: p if p <= 16 else 16]
    assert telling_size((4, 8, 16), 128, both) == 32
    assert telling_size((4, 8, 16), 128, [lambda p: p, lambda p: p]) is None


def test_grids_that_squares_do_not_tell_apart() -> None:
    (sentence,) = undecided_grids((9, 16, 25), 72)
    assert "the longest first from an even grid of 2 dimensions, the longest last" in sentence
    assert undecided_grids((9, 16, 25), 64) == []
    assert "no rank of 4 and 8 has" in undecided_grids((4, 8, 16), 64)[0]


def test_the_sizes_that_a_refusal_names_are_enough(
    tisim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, output = Path(tisim.directory), str(tisim.directory / "o.tit")

    def extrapolated(*sizes: int) -> tuple[int, str]:
        traces = [str(generated(directory, "halo2d", n, iterations=2)) for n in sizes]
        outcome = tisim("extrapolate", *traces, "--to", "64", "-o", output)
        return outcome.status, outcome.err

    monkeypatch.setattr("tisim.commands.extrapolate.PATIENCE", 3600.0)
    status, refusal = extrapolated(4, 8, 16)
    assert status == 2
    assert refusal.endswith("record 12, 16 and 20 ranks\n")
    monkeypatch.setattr("tisim.commands.extrapolate.PATIENCE", 0.0)
    first, again = extrapolated(4, 8, 16)[1].splitlines()
    assert first.startswith("tisim: if the program has a grid: on a grid of 2 dimensions no rank")
    assert f"{again}\n" == refusal
    assert extrapolated(12, 16, 20)[0] == 0
    status, said = extrapolated(16, 32)
    assert (status, "record 64 ranks too, for example" in said) == (2, True)
