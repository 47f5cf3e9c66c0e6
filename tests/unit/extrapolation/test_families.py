"""Functions of the number of ranks, and the costs of call sites that they describe."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE
from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_programs import generated, written
from tisim import Platform
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.families import TERMS, fits
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.extrapolation.scaling import scaling_curves
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
    usable = [fit for fit in fits(SIZES, values, target or 64, []) if fit.confirming_sizes]
    assert {fit.value for fit in usable} == ({expected} if target else set())
    for fit in usable:
        assert [fit.evaluate(ranks) for ranks in SIZES] == [Fraction(value) for value in values]


@pytest.mark.parametrize(
    ("values", "confirmed"), [([0, 1, 0], None), ([4, 2, 1], 2), ([2, 1, 0], 1), ([1, 0, 0], 0)]
)
def test_values_that_many_functions_have_confirm_none(
    values: list[int], confirmed: int | None
) -> None:
    found = {
        fit.confirming_sizes for fit in fits((4, 8, 16), values, 64, []) if "floor(n" in fit.family
    }
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


DOUBLED = (4, 8, 16)


def crossing(rank: int, ranks: int) -> list[str]:
    """One computation is divided among the ranks, another is proportional to their number."""
    return [f"compute {6400 // ranks}", "barrier", f"compute {25 * ranks}", "allreduce 8 0"]


def test_curves_say_what_dominates_from_which_number_on(tmp_path: Path) -> None:
    recordings = Recordings.read([written(crossing, ranks, tmp_path) for ranks in DOUBLED])
    curves = scaling_curves(recordings, 64)
    assert curves.unit == "flops"
    assert curves.ranks == (4, 8, 16, 32, 64)
    values = {curve.site: [point.value for point in curve.points] for curve in curves.curves}
    assert sorted(values.values()) == [
        [100.0, 200.0, 400.0, 800.0, 1600.0],
        [1600.0, 800.0, 400.0, 200.0, 100.0],
    ]
    ranks, sites = zip(*((ranks, curve.site) for ranks, curve in curves.dominating()), strict=True)
    assert len(sites) == 2
    assert ranks[0] == 4
    assert ranks[1] in (16, 32)  # both are equal at 16
    assert curves.computing is not None
    assert [p.value for p in curves.computing.points] == [1700.0, 1000.0, 800.0, 1000.0, 1700.0]
    # Exact functions have no interval.
    assert all(p.low == p.value == p.high for curve in curves.curves for p in curve.points)


def test_fitted_volumes_have_intervals(tmp_path: Path) -> None:
    parameters = {"iterations": 4, "noise": 0.1, "compute": 1e7}
    traces = [generated(tmp_path, "ring", ranks, **parameters) for ranks in DOUBLED]
    curves = scaling_curves(Recordings.read(traces), 32, platform=Platform.load(GRAPHENE))
    assert curves.unit == "s"
    assert curves.whole is not None
    assert curves.computing is None  # there is one call site
    computing = next(curve for curve in curves.curves if curve.computes)
    waiting = next(curve for curve in curves.curves if not curve.computes)
    assert all(point.low < point.value < point.high for point in computing.points)
    assert waiting.points[-1].value < curves.whole.points[-1].value
    assert curves.dominating()[0][1] is computing


def test_the_page_and_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tisim = CommandLine(tmp_path, capsys)
    traces = [str(written(crossing, ranks, tmp_path)) for ranks in DOUBLED]
    page, picture = tmp_path / "scaling.html", tmp_path / "scaling.svg"
    command = ("extrapolate", *traces, "--to", "64", "-o", str(tmp_path / "made.tit"))
    outcome = tisim(*command, "--report", str(page), "--plot", str(picture))
    assert outcome.status == 0
    assert "from 4 ranks on, the largest cost is" in outcome.out
    text = page.read_text()
    assert "What dominates" in text
    assert "data:image/svg+xml" in text
    assert "P^2" not in text  # only the functions that were found
    assert "computing at all call sites" in text
    assert "part of computing in the time" not in text
    timed = tmp_path / "times.html"
    assert tisim(*command, "--platform", str(GRAPHENE), "--report", str(timed)).status == 0
    cells = timed.read_text().partition("the whole program")[2].partition("</table>")[0]
    assert " us</td>" in cells
    # Numbers are short, and empty intervals are omitted.
    assert "e-0" not in cells
    assert " to " not in cells
    assert "<li>part of computing in the time: " in timed.read_text()
    assert f"real runs are stored next to {GRAPHENE.name}" in timed.read_text()
    first = picture.read_bytes()
    assert tisim(*command, "--plot", str(picture)).status == 0
    assert picture.read_bytes() == first
    assert tisim(*command, "--plot", str(tmp_path / "x.pdf")).status == 2
    assert tisim(*command, "--report", str(tmp_path / "x.txt")).status == 2


def test_intervals_stand_below_their_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Next to the values, they would push the target's column out of the window."""
    parameters = {"iterations": 4, "noise": 0.1, "compute": 1e7}
    traces = [str(generated(tmp_path, "ring", ranks, **parameters)) for ranks in DOUBLED]
    page = tmp_path / "scaling.html"
    made = ("--to", "32", "-o", str(tmp_path / "made.tit"), "--report", str(page))
    assert CommandLine(tmp_path, capsys)("extrapolate", *traces, *made).status == 0
    assert re.search(r"<td>\S+<br><small[^>]*>\S+ to \S+</small></td>", page.read_text())


def silent(rank: int, ranks: int) -> list[str]:
    return ["barrier"]


def test_without_computations_there_is_nothing_to_show(tmp_path: Path) -> None:
    recordings = Recordings.read([written(silent, ranks, tmp_path) for ranks in DOUBLED])
    with pytest.raises(InputError, match="--platform"):
        scaling_curves(recordings, 32)
