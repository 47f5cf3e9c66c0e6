"""Costs of call sites over the number of ranks: curves, the page and the picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import GRAPHENE
from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_generated_patterns import generated
from tests.unit.extrapolation.test_solvers import written
from tisim import Platform
from tisim.errors import InputError
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.extrapolation.scaling import scaling_curves

SIZES = (4, 8, 16)


def crossing(rank: int, ranks: int) -> list[str]:
    """One computation is shared among the ranks, another grows with their number."""
    return [f"compute {6400 // ranks}", "barrier", f"compute {25 * ranks}", "allreduce 8 0"]


def test_curves_say_what_dominates_from_which_number_on(tmp_path: Path) -> None:
    recordings = Recordings.read([written(crossing, ranks, tmp_path) for ranks in SIZES])
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
    assert ranks[1] in (16, 32)  # they are equal at 16
    assert curves.computing is not None
    assert [p.value for p in curves.computing.points] == [1700.0, 1000.0, 800.0, 1000.0, 1700.0]
    # Exact functions have no interval.
    assert all(p.low == p.value == p.high for curve in curves.curves for p in curve.points)


def test_fitted_volumes_have_intervals(tmp_path: Path) -> None:
    parameters = {"iterations": 4, "noise": 0.1, "compute": 1e7}
    traces = [generated(tmp_path, "ring", ranks, **parameters) for ranks in SIZES]
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
    traces = [str(written(crossing, ranks, tmp_path)) for ranks in SIZES]
    page, picture = tmp_path / "scaling.html", tmp_path / "scaling.svg"
    command = ("extrapolate", *traces, "--to", "64", "-o", str(tmp_path / "made.tit"))
    outcome = tisim(*command, "--report", str(page), "--plot", str(picture))
    assert outcome.status == 0
    assert "from 4 ranks on most is" in outcome.out
    text = page.read_text()
    assert "What dominates" in text
    assert "data:image/svg+xml" in text
    assert "P^2" not in text  # the functions that were found, no others
    assert "computing at all call sites" in text
    assert "part of computing in the time" not in text
    timed = tmp_path / "times.html"
    assert tisim(*command, "--platform", str(GRAPHENE), "--report", str(timed)).status == 0
    cells = timed.read_text().partition("the whole program")[2].partition("</table>")[0]
    assert " us</td>" in cells
    # Short numbers, and no intervals that have no extent.
    assert "e-0" not in cells
    assert " to " not in cells
    assert "<li>part of computing in the time: " in timed.read_text()
    assert f"real runs stand beside {GRAPHENE.name}" in timed.read_text()
    first = picture.read_bytes()
    assert tisim(*command, "--plot", str(picture)).status == 0
    assert picture.read_bytes() == first
    assert tisim(*command, "--plot", str(tmp_path / "x.pdf")).status == 2
    assert tisim(*command, "--report", str(tmp_path / "x.txt")).status == 2


def test_intervals_stand_below_their_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside them, the column of the target was out of the window."""
    parameters = {"iterations": 4, "noise": 0.1, "compute": 1e7}
    traces = [str(generated(tmp_path, "ring", ranks, **parameters)) for ranks in SIZES]
    page = tmp_path / "scaling.html"
    made = ("--to", "32", "-o", str(tmp_path / "made.tit"), "--report", str(page))
    assert CommandLine(tmp_path, capsys)("extrapolate", *traces, *made).status == 0
    assert re.search(r"<td>\S+<br><small[^>]*>\S+ to \S+</small></td>", page.read_text())


def silent(rank: int, ranks: int) -> list[str]:
    return ["barrier"]


def test_without_computations_there_is_nothing_to_show(tmp_path: Path) -> None:
    recordings = Recordings.read([written(silent, ranks, tmp_path) for ranks in SIZES])
    with pytest.raises(InputError, match="--platform"):
        scaling_curves(recordings, 32)
