"""Functions of the number of ranks, those of users among them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_solvers import written
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.families import TERMS, fits
from tisim.traces.extrapolation.volumes import code_of, codes_of, value_of

SIZES = (4, 9, 16, 36)


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([320, 1280, 80, 20], None, None),
        ([46080 * (p - 1) // p**2 for p in (2, 3, 4, 6)], 64, 46080 * 7 // 64),
        ([240 * (24 // p + 1) ** 2 for p in (2, 3, 4, 6)], 64, 240 * 16),
        ([1 << 10 for _ in SIZES], 64, 1 << 10),
    ],
)
def test_products_of_sides(values: list[int], target: int | None, expected: int | None) -> None:
    usable = [fit for fit in fits(SIZES, values, target or 64, []) if fit.confirmed]
    assert {fit.value for fit in usable} == ({expected} if target else set())
    for fit in usable:
        assert [fit.at(ranks) for ranks in SIZES] == [Fraction(value) for value in values]


@pytest.mark.parametrize(
    ("values", "confirmed"), [([0, 1, 0], None), ([4, 2, 1], 2), ([2, 1, 0], 1), ([1, 0, 0], 0)]
)
def test_values_that_many_functions_have_confirm_none(
    values: list[int], confirmed: int | None
) -> None:
    found = {fit.confirmed for fit in fits((4, 8, 16), values, 64, []) if "floor(n" in fit.family}
    assert found == (set() if confirmed is None else {confirmed})


def ringed(rank: int, ranks: int) -> list[str]:
    return ["barrier", f"allreduce {ranks + ranks**2 % 7} 0"]


def test_users_add_families(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = (4, 8, 16, 32)
    traces = [written(ringed, ranks, tmp_path) for ranks in sizes]
    made = tmp_path / "made.tit"
    with pytest.raises(InputError, match=r"the nearest: .*P"):
        extrapolate(traces, 64, made)
    source = tmp_path / "own.py"
    source.write_text(
        "import tisim\n"
        '@tisim.extrapolation("P and a rest")\n'
        "def rest(ranks: int) -> int:\n"
        "    return ranks + ranks**2 % 7\n"
    )
    try:
        outcome = CommandLine(tmp_path, capsys)(
            *("extrapolate", *map(str, traces), "--to", "64", "--families", str(source)),
            *("--show", "-o", str(made), "--check", str(written(ringed, 64, tmp_path))),
        )
        assert outcome.status == 0
        assert "P and a rest = 65" in outcome.out
        with pytest.raises(InputError, match="already"):
            tisim.extrapolation("P and a rest")
    finally:
        TERMS.pop("P and a rest", None)


@pytest.mark.parametrize("value", [0, 7, 999_999, 1_000_000, (1 << 50) - 1])
def test_a_code_stands_for_its_number(value: int) -> None:
    assert value_of(code_of(value)) == value


def test_larger_volumes_are_refused() -> None:
    with pytest.raises(InputError, match=r"2\^50"):
        codes_of(np.array([1 << 50], dtype=np.int64))
    with pytest.raises(InputError, match=r"2\^50"):
        code_of(10**18)
